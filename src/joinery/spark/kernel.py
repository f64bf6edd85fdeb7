"""The door from Python to the JVM kernel: programs in, DataFrames out.

The kernel's jar is put into the live session it is used from; nothing of the session's own
settings changes. A session of Spark Connect has no JVM to reach and is refused.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from pyspark.sql import DataFrame, SparkSession

from joinery.errors import RunError
from joinery.model.type import opened
from joinery.place.object_path import ObjectPath
from joinery.plan.nodes import CLOCK, LOG_TIME, Relation
from joinery.project.schema_registry import RegistryOptions
from joinery.solutions.spark_state.busy_keys import busy_keys
from joinery.solutions.spark_state.costs import product_costs
from joinery.solutions.spark_state.fingerprint import (
    Fingerprint,
    fingerprint,
    readable_formats,
)
from joinery.solutions.spark_state.group_program import Closing, Group
from joinery.solutions.spark_state.pattern_program import Pattern
from joinery.solutions.spark_state.program import KernelProgram, RelationProgram, Retract, Versions
from joinery.solutions.spark_state.stream_program import PairEvents, Rolling, Seen
from joinery.solutions.spark_state.versioning import History
from joinery.spark.jar import kernel_jar
from joinery.spark.source.source import ERASURES, BatchLabel, Topic

if TYPE_CHECKING:
    from joinery.delivery.lease import Lease
    from joinery.spark.real_time.rules import RealTimeTarget
    from joinery.spark.real_time.uncommitted import PendingRoots
    from joinery.vault.door import VaultAddress

_KERNEL = "dev.joinery.kernel.door.Kernel"
_READING = "dev.joinery.kernel.door.Reading"
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
        read_by_tasks: The products whose parts the driver leaves there.
    """

    folder: ObjectPath
    read_by_tasks: frozenset[str] = frozenset()


def _placed(
    store: ObjectPath, product: str, attempts: Mapping[str, int]
) -> tuple[tuple[int, ObjectPath], ...]:
    """Return where the parts of a product are, each with its number, in order."""
    places = ((int(part), store / str(attempt) / product) for part, attempt in attempts.items())
    return tuple(sorted(places))


class SessionError(RunError):
    """A Spark session cannot run the kernel."""

    code = "RUN_SESSION"


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
    """

    session: SparkSession
    program: KernelProgram
    relations: Sequence[Relation]
    _jvm_kernel: Any
    vault: VaultAddress | None = None
    spools: frozenset[str] = frozenset()
    apart: PartsApart | None = None

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

    def chain_to(
        self, raw: DataFrame, topics: Sequence[Collection[Topic]], ended: int
    ) -> DataFrame:
        """Return the same, and send in batch `ended` what waits for the time of a log."""
        return DataFrame(self._jvm_kernel.chainTo(self.reading(raw, topics), ended), self.session)

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
        counts = self._staged(batch, folder)
        nodes, keys, left_out = (counts.pop(each, {}) for each in ("nodes", "keys", "left_out"))
        costs = product_costs(self.program, nodes)
        told = {"costs": costs, "keys": busy_keys(self.program, nodes, keys, left_out)}
        return counts | {name: each for name, each in told.items() if each}

    def staging_apart(self, apart: PartsApart) -> Kernel:
        """Return the same for tasks that do not see the driver's disk."""
        return replace(self, apart=apart)

    def _staged(self, batch: DataFrame, folder: Path) -> dict[str, Any]:
        counts: dict[str, Any]
        if self.apart is None:
            counts = json.loads(self._jvm_kernel.stage(batch._jdf, str(folder)))
            return counts
        store = self.apart.folder / folder.name
        read_by_tasks = sorted(self.apart.read_by_tasks)
        staged = self._jvm_kernel.stageApart(batch._jdf, str(folder), str(store), read_by_tasks)
        counts = json.loads(staged)
        parts: dict[str, dict[str, int]] = counts.pop("parts", {})
        return counts | {"parts": {name: _placed(store, name, parts[name]) for name in parts}}

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

    def counts(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return what was counted since this was made, in the form of `Kernel.stage`."""
        counts: dict[str, dict[str, dict[str, int]]] = json.loads(self._jvm_door.counts())
        return counts

    def close(self) -> None:
        """End the counting."""
        self._jvm_door.close()


def open_kernel(
    session: SparkSession, program: KernelProgram, relations: Sequence[Relation]
) -> Kernel:
    """Compile `program` in the JVM of `session`.

    Args:
        session: A classic session, the user's or our own.
        program: The lowered products of one query.
        relations: All relations of the project, in any order.

    Raises:
        SessionError: The session is of Spark Connect.
    """
    load_jar(session)
    written = fingerprint(program)
    jvm_kernel = class_of(session, _KERNEL).open(
        session._jsparkSession, program.to_json(), state_marks(program, written)
    )
    by_name = {each.name: each for each in relations}
    ordered = [by_name[each.name] for each in program.decoded]
    return Kernel(session, program, ordered, jvm_kernel)


def state_marks(program: KernelProgram, written: Fingerprint) -> list[str]:
    """Return what tells state of a program from that of others, in words for an error.

    The first is written; the others are of earlier formats that are read as well.
    """
    return [f"{each}, program {written.program[:16]}" for each in readable_formats(program)]


def progress_log(session: SparkSession) -> Any:
    """Return a new listener in the JVM that remembers what Spark tells of its batches."""
    load_jar(session)
    return class_of(session, _PROGRESS_LOG)()


def reading_of(
    session: SparkSession,
    program: KernelProgram,
    relations: Sequence[Relation],
    raw: DataFrame,
    topics: Sequence[Collection[Topic]],
    sealing: str = "",
) -> Any:
    """Return what the kernel is to read: raw records, and what they say of which relation."""
    return class_of(session, _READING)(
        raw._jdf,
        formats_json(program, relations),
        strings(session, [each.source for each in relations]),
        strings(session, [each.topic for each in relations]),
        json.dumps([_readers(relations, each) for each in topics]),
        json.dumps([*map(partial(_clock, program), program.decoded, relations)]),
        sealing,
    )


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


def sealing_json(
    vault: VaultAddress,
    decoded: Sequence[RelationProgram],
    relations: Sequence[Relation],
    *,
    erasures: int,
    spools: Sequence[bool],
) -> str:
    """Return how personal columns are sealed, as the kernel takes it.

    Args:
        vault: Where keys are asked for.
        decoded: How the relations are decoded.
        relations: The relations.
        erasures: The first number of a topic of erasures.
        spools: By topic, whether a capture may have sealed its lines.
    """
    pairs = zip(decoded, relations, strict=True)
    return json.dumps(
        {
            "port": vault.port,
            "token": vault.token,
            "erasures": erasures,
            "formats": [_erasure_format(*each) for each in pairs],
            "spools": spools,
        }
    )


def _erasure_format(program: RelationProgram, relation: Relation) -> dict[str, object]:
    """Return how the erasures of a relation are decoded: flat rows, keyed by their subject."""
    sealed = program.sealed is not None and program.sealed.columns
    personal = relation.personal if sealed else None
    subject = personal.key_of(personal.subject) if personal else None
    return {
        "name": relation.name,
        "format": "json",
        "key": list(relation.key) if subject is None else [subject],
        "columns": [{"name": each.name, "type": each.type.ddl} for each in program.columns],
    }


def _clock(
    program: KernelProgram, decoded: RelationProgram, relation: Relation
) -> dict[str, object] | None:
    """Return which column tells the times of a relation; None where nobody asks for them.

    A program decodes the columns that its products use: a time that none does is not told.
    """
    timed = any(program.relations[each] is decoded for each in _timed(program))
    if relation.time is None or not (timed or relation.watermark or relation.clocks):
        return None
    columns = [each.name for each in decoded.columns]
    ahead_us = _ahead_us(relation)
    if relation.time in columns:
        return {"column": columns.index(relation.time), "derived": False, "ahead": ahead_us}
    if not program.assemblers:
        return None
    visible = [each.name for each in program.assemblers[decoded.assembler].type.fields]
    if relation.time not in visible:
        return None
    told: dict[str, object] = {
        "column": visible.index(relation.time),
        "derived": True,
        "ahead": ahead_us,
    }
    if relation.clocks is not None:
        clocks = relation.clocks
        told["device"] = {
            "flag": visible.index(CLOCK),
            "event": visible.index(clocks.event),
            "sent": visible.index(clocks.sent),
            "received": visible.index(clocks.received),
            "refuses": clocks.suspect == "dead_letter",
        }
    return told


def _ahead_us(relation: Relation) -> int | None:
    """Return how far above the log's own a time moves the watermark; None sets no bound."""
    watermark = relation.watermark
    return None if watermark is None or watermark.ahead_ms is None else watermark.ahead_ms * 1000


def _timed(program: KernelProgram) -> Iterator[int]:
    """Yield the relations of whose watermark a node asks."""
    for node in program.nodes:
        if isinstance(node, Group | Pattern | Closing):
            yield node.relation
            if isinstance(node, Closing) and node.other is not None:
                yield node.other
        elif isinstance(node, Rolling | Seen | PairEvents):
            yield from node.logs
        elif isinstance(node, Retract) and node.judged is not None:
            yield node.relation


def _readers(relations: Sequence[Relation], topics: Collection[Topic]) -> list[int]:
    """Return the places of the relations that read any of some topics."""
    return [
        place
        for place, each in enumerate(relations)
        if Topic(each.source, each.topic) in topics or Topic(ERASURES, each.name) in topics
    ]


def require_classic(session: object) -> None:
    """Refuse a session of Spark Connect, one that was stopped, and what is none.

    Raises:
        SessionError: It is one of them.
    """
    if isinstance(session, SparkSession):
        if session.sparkContext._jsc is None or session.sparkContext._jsc.sc().isStopped():
            raise SessionError(
                "the Spark session was stopped",
                hint="Pass one that goes on, such as SparkSession.builder.getOrCreate().",
            )
        return
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise SessionError(
            "Joinery cannot run in a Spark Connect session",
            detail="Its kernel runs inside the driver's JVM, which a Connect client cannot reach.",
            hint="Use a classic session, such as SparkSession.builder.master(…).",
        )
    what = "None" if session is None else f"an object of type {type(session).__name__}"
    raise SessionError(
        f"{what} is no Spark session",
        hint="Pass one, such as SparkSession.builder.getOrCreate().",
    )


def load_jar(session: SparkSession) -> None:
    """Make the kernel's classes known to the driver and the executors of a live session."""
    require_classic(session)
    add_jars(session, (kernel_jar(),))


def add_jars(session: SparkSession, jars: Iterable[Path]) -> None:
    """Make the classes of jars known to the driver and the executors of a live session."""
    jvm: Any = session._jvm
    loader = class_of(session, "java.lang.Thread").currentThread().getContextClassLoader()
    urls = {str(url) for url in loader.getURLs()} if hasattr(loader, "getURLs") else set()
    known = _jars(session)
    for jar in jars:
        if not any(each.endswith(jar.name) for each in urls):
            loader.addURL(jvm.java.net.URI(jar.resolve().as_uri()).toURL())
        if not any(each.endswith(jar.name) for each in known):
            session.sparkContext._jsc.addJar(str(jar))


def _jars(session: SparkSession) -> list[str]:
    context: Any = session.sparkContext._jsc
    jars = context.sc().listJars()
    return [str(jars.apply(index)) for index in range(jars.size())]


def class_of(session: SparkSession, name: str) -> Any:
    """Return a class of the session's JVM."""
    # At once: each part of a name would be searched for as a class, in all jars.
    return getattr(session._jvm, name)


def formats_json(program: KernelProgram, relations: Sequence[Relation]) -> str:
    """Return what the kernel's decoders need to know about each relation."""
    return json.dumps(
        [
            {
                "name": relation.name,
                "format": relation.format,
                "key": list(relation.key_names),
                "columns": [
                    {"name": slot.name, "type": opened(slot.type).ddl} for slot in each.columns
                ],
                "position": relation.position,
                "timeUnit": relation.time_unit,
                "told": sorted(_told(program, each.name)),
                "logged": LOG_TIME if relation.logged else None,
                "images": relation.images,
                "registry": _registry_data(relation.registry),
            }
            for each, relation in zip(program.decoded, relations, strict=True)
        ]
    )


def _told(program: KernelProgram, relation: str) -> Iterator[str]:
    """Yield the columns that a delete of a flat row tells beside its key."""
    for node in program.nodes:
        if isinstance(node, History | Versions):
            read = program.relations[node.relation]
            if read.name == relation:
                yield from (read.columns[each].name for each in node.told)


def _registry_data(registry: RegistryOptions | None) -> dict[str, object] | None:
    if registry is None:
        return None
    return {
        "url": registry.url,
        "user": registry.user,
        "password": registry.password,
        "token": registry.token,
        "waitMillis": registry.wait_ms,
        "idBytes": registry.id_bytes,
    }


def strings(session: SparkSession, values: Sequence[str]) -> Any:
    """Return a Java array of `values`."""
    gateway: Any = session.sparkContext._gateway
    array = gateway.new_array(gateway.jvm.java.lang.String, len(values))
    for index, value in enumerate(values):
        array[index] = value
    return array
