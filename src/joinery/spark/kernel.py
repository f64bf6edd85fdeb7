"""The door from Python to the JVM kernel: programs in, DataFrames out."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from pyspark.sql import DataFrame, SparkSession

from joinery.place.place import Place
from joinery.place.remote_path import RemotePath
from joinery.plan.relation import Relation
from joinery.solutions.spark_state.addition import Telling
from joinery.solutions.spark_state.busy_keys import BusyKeys
from joinery.solutions.spark_state.costs import ProductCosts
from joinery.solutions.spark_state.fingerprint import state_marks
from joinery.solutions.spark_state.program import KernelProgram
from joinery.spark.jvm import class_of, load_jar
from joinery.spark.reading import reading_of, sealing_json
from joinery.spark.source.source import ERASURES, BatchLabel, Topic

if TYPE_CHECKING:
    from joinery.delivery.lease import Lease
    from joinery.spark.real_time.rules import RealTimeTarget
    from joinery.spark.real_time.uncommitted import PendingRoots
    from joinery.vault.door import VaultAddress

_KERNEL = "dev.joinery.kernel.door.Kernel"
_LOGS_READ = "dev.joinery.kernel.spark.LogsRead"
_TELLING = "joinery.telling"
_PROGRESS_LOG = "dev.joinery.kernel.door.ProgressLog"


class BatchKernel(Protocol):
    """What takes the batches of one query: it decodes records, and stages what comes of them."""

    def chain(
        self,
        raw: DataFrame,
        topics: Sequence[Collection[Topic]],
        pending: PendingRoots | None = None,
    ) -> DataFrame:
        """Return the rows that a raw stream gives; to be given to `stage`."""

    def stage(
        self, batch: DataFrame, folder: Path, label: BatchLabel | None = None
    ) -> Mapping[str, Any]:
        """Run a batch once, write its lines below `folder`, and return its summary."""


@dataclass(frozen=True, slots=True)
class PartsApart:
    """Where tasks leave the parts of batches that do not see the driver's disk.

    Attributes:
        folder: Has a folder for each batch.
        read_by_tasks: The products whose parts tasks read there, to write them to sinks.
        left_to_tasks: Those of them whose parts the driver leaves there, since it reads none.
    """

    folder: RemotePath
    read_by_tasks: frozenset[str] = frozenset()
    left_to_tasks: frozenset[str] = frozenset()


def _placed(
    store: RemotePath, product: str, attempts: Mapping[str, int]
) -> tuple[tuple[int, RemotePath], ...]:
    """Return where the parts of a product are, each with its number, in order."""
    places = ((int(part), store / str(attempt) / product) for part, attempt in attempts.items())
    return tuple(sorted(places))


@dataclass(frozen=True, slots=True)
class Kernel:
    """A compiled program in a session's JVM.

    Attributes:
        program: What was compiled.
        relations: Those of the program that are read from sources, in its order.
        vault: Where its tasks ask for keys; without it, personal columns are never decoded.
        spools: The sources whose lines a capture may have sealed.
        apart: Where tasks leave the parts of batches, where they do not see the driver's disk; None
            where they do.
        settling: The products that settle, whose staged lines say what they replace at a sink.
        telling: The rows that a batch tells to nodes which came after them; None for none.
    """

    session: SparkSession
    program: KernelProgram
    relations: Sequence[Relation]
    _jvm_kernel: Any
    _costs: ProductCosts
    _busy_keys: BusyKeys
    vault: VaultAddress | None = None
    spools: frozenset[str] = frozenset()
    apart: PartsApart | None = None
    settling: frozenset[str] = frozenset()
    telling: Telling | None = None

    def to_tell(self, telling: Telling, checkpoint: Place) -> Self:
        """Return the kernel for a query of which a batch tells rows that stand.

        Args:
            telling: Which.
            checkpoint: The query's.
        """
        if not telling.retracts:
            return replace(self, telling=telling)
        before = telling.batch - 1
        told = str(checkpoint), before, list(telling.retracts), telling.first
        return replace(self, telling=telling, _jvm_kernel=self._jvm_kernel.telling(*told))

    def to_read_again(self, records: DataFrame, topics: Sequence[Collection[Topic]]) -> Self:
        """Return the kernel for a query of which the batch that tells also reads records again.

        Args:
            records: As a raw stream has them.
            topics: What each number in them stands for.
        """
        assert self.telling is not None, "it is to tell"
        session, part = self.session, self.telling.part
        sealing = _sealing(self, topics)
        told = (self.program, self.relations, records, topics, sealing)
        reading = reading_of(session, *told, part=part)
        return replace(self, _jvm_kernel=self._jvm_kernel.readingAgain(reading))

    def sealing(self, vault: VaultAddress, spools: frozenset[str]) -> Self:
        """Return the kernel with what it seals by; see its attributes."""
        return replace(self, vault=vault, spools=spools)

    def chain(
        self,
        raw: DataFrame,
        topics: Sequence[Collection[Topic]],
        pending: PendingRoots | None = None,
    ) -> DataFrame:
        """Decode raw records and send them through all levels.

        Args:
            raw: Columns topic (its place in `topics`), major, minor, file, key, value, error
                and name, as every source gives them.
            topics: What each number in `raw` stands for: the topics that relations name.
            pending: Roots whose documents are sent again by one batch.

        Returns:
            The kernel's output, tagged rows; to be given to `stage`.
        """
        reading = self.reading(raw, topics)
        roots = (pending.batch, str(pending.roots)) if pending else ()
        return DataFrame(self._jvm_kernel.chain(reading, *roots), self.session)

    def chain_to_end(self, raw: DataFrame, topics: Sequence[Collection[Topic]]) -> DataFrame:
        """Return the same, and send what waits for the time of a log in a batch that ends them."""
        return DataFrame(self._jvm_kernel.chainToEnd(self.reading(raw, topics)), self.session)

    def reads_to_end(self, query_id: str) -> bool:
        """Return whether the batch that a query is at reads all that its logs had at its start."""
        logs = class_of(self.session, _LOGS_READ)
        return bool(logs.toTheirEnds(self.session._jsparkSession, query_id))

    def real_time(self) -> RealTimeKernel:
        """Return the kernel as real-time mode runs it."""
        return RealTimeKernel(self, self._jvm_kernel.realTime(self.session._jsparkSession))

    def reading(self, raw: DataFrame, topics: Sequence[Collection[Topic]]) -> Any:
        """Return what `chain` is given, as the kernel takes it."""
        session, sealing = self.session, _sealing(self, topics)
        return reading_of(session, self.program, self.relations, raw, topics, sealing)

    def stage(
        self, batch: DataFrame, folder: Path, label: BatchLabel | None = None
    ) -> dict[str, Any]:
        """Run a batch once and write its documents and dead letters below `folder`.

        Returns:
            Counts by kind ("documents", "relations", "counters", "costs", "dead_letters"), owner
            and counter; "keys", the `NodeKeys` of those with the most messages; and "parts", where
            tasks find those of a product by their numbers, if not below `folder`.
        """
        if self.telling is not None:
            now = label is not None and label.number == self.telling.batch
            self.session.sparkContext.setLocalProperty(_TELLING, "true" if now else "false")
        counts = self._staged(batch, folder)
        nodes, keys, left_out = (counts.pop(each, {}) for each in ("nodes", "keys", "left_out"))
        told = {"costs": self._costs.of(nodes), "keys": self._busy_keys.of(nodes, keys, left_out)}
        return counts | {name: each for name, each in told.items() if each}

    def staging_apart(self, apart: PartsApart) -> Kernel:
        """Return the same for tasks that do not see the driver's disk."""
        return replace(self, apart=apart)

    def _staged(self, batch: DataFrame, folder: Path) -> dict[str, Any]:
        counts: dict[str, Any]
        settling = sorted(self.settling)
        if self.apart is None:
            counts = json.loads(self._jvm_kernel.stage(batch._jdf, str(folder), settling))
            return counts
        store = self.apart.folder / folder.name
        readers = sorted(self.apart.read_by_tasks), sorted(self.apart.left_to_tasks)
        staged = self._jvm_kernel.stageApart(
            batch._jdf, str(folder), str(store), *readers, settling
        )
        told = json.loads(staged)
        counts, attempts = told["counts"], told["attempts"]
        parts = {name: _placed(store, name, each) for name, each in attempts.items()}
        return counts | {"parts": parts}

    def streams(self) -> Any:
        """Return the kernel's door for streams that leave it between two of their steps."""
        return self._jvm_kernel.streams()

    def frames(self) -> Any:
        """Return the kernel's door for the frames of one product."""
        return self._jvm_kernel.frames(self.session._jsparkSession)


@dataclass(frozen=True, slots=True)
class RealTimeKernel:
    """A kernel whose output goes out row by row; to be closed."""

    _kernel: Kernel
    _jvm_door: Any

    def records(
        self,
        raw: DataFrame,
        topics: Sequence[Collection[Topic]],
        target: RealTimeTarget,
        *,
        max_bytes: Mapping[str, int],
        lease: Lease,
    ) -> DataFrame:
        """Return what Spark's Kafka sink takes: topic, key, value and headers.

        Args:
            raw: As `Kernel.chain` takes it.
            topics: As `Kernel.chain` takes them.
            target: Where records go.
            max_bytes: Of a record, by topic; a larger document is a dead letter, of a larger
                letter the beginning is kept.
            lease: Held; once another run holds it, nothing more is sent.
        """
        session, products = self._kernel.session, self._kernel.program.products
        reading = self._kernel.reading(raw, topics)
        told = target.to_json([each.name for each in products], max_bytes)
        records = self._jvm_door.records(reading, told, str(lease.file), lease.owner)
        return DataFrame(records, session)

    def handed(
        self, raw: DataFrame, topics: Sequence[Collection[Topic]], *, lease: Lease
    ) -> DataFrame:
        """Return what tasks hand to the driver, for the writer of `handover`; see `records`."""
        reading = self._kernel.reading(raw, topics)
        rows = self._jvm_door.handed(reading, str(lease.file), lease.owner)
        return DataFrame(rows, self._kernel.session)

    def handover(self, checkpoint: Path) -> JvmHandover:
        """Return what brings documents to the driver; notes beside the checkpoint what was sent."""
        return JvmHandover(self._jvm_door.handover(str(checkpoint)))

    def counts(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return what was counted since this was made, in the form of `Kernel.stage`."""
        counts: dict[str, dict[str, dict[str, int]]] = json.loads(self._jvm_door.counts())
        return counts

    def close(self) -> None:
        """End the counting."""
        self._jvm_door.close()


@dataclass(frozen=True, slots=True)
class JvmHandover:
    """Where tasks of a local session hand documents to the driver; to be closed."""

    _jvm: Any

    @property
    def writer(self) -> Any:
        """What a query's writer gives its rows to."""
        return self._jvm.writer()

    def take(self, folder: Path, wait_ms: int) -> str:
        """Write what there is below a folder, and return what that is; empty for nothing."""
        return str(self._jvm.take(str(folder), wait_ms))

    def done(self) -> None:
        """Tell that what was taken is written."""
        self._jvm.done()

    def close(self) -> None:
        """Take nothing more; tasks that wait fail."""
        self._jvm.close()


def open_kernel(
    session: SparkSession,
    program: KernelProgram,
    relations: Sequence[Relation],
    earlier: Sequence[str] = (),
) -> Kernel:
    """Compile `program` in the JVM of `session`.

    Args:
        session: A classic session, the user's or our own.
        program: The lowered products of one query.
        relations: All relations of the project, in any order.
        earlier: The marks of programs that wrote some of its state before.

    Raises:
        SessionError: The session is of Spark Connect.
    """
    load_jar(session)
    jvm_kernel = class_of(session, _KERNEL).open(
        session._jsparkSession, program.to_json(), state_marks(program, earlier)
    )
    by_name = {each.name: each for each in relations}
    ordered = [by_name[each.name] for each in program.decoded]
    costs, busy_keys = ProductCosts(program), BusyKeys(program)  # once, not with each batch
    return Kernel(session, program, ordered, jvm_kernel, costs, busy_keys)


def _sealing(kernel: Kernel, topics: Sequence[Collection[Topic]]) -> str:
    """Return where tasks ask for keys, and which topics are erasures, as the kernel takes it."""
    vault = kernel.vault
    if vault is None:
        return ""
    records = [each for each in topics if all(one.source != ERASURES for one in each)]
    return sealing_json(
        vault,
        kernel.program.decoded,
        kernel.relations,
        erasures=len(records),
        spools=[any(one.source in kernel.spools for one in each) for each in topics],
    )


def progress_log(session: SparkSession) -> Any:
    """Return a new listener in the JVM that remembers what Spark tells of its batches."""
    load_jar(session)
    return class_of(session, _PROGRESS_LOG)()
