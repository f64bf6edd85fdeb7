"""Runs one query: each batch through the kernel, then into sinks and dead letters.

A batch goes: lease, stage (one Spark action), sinks, dead letters, progress. Spark commits
it only after all of that; whatever fails on the way leaves it uncommitted.

Invariant: a batch is committed only after every sink has its documents, and nothing is
written once the lease is lost.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from joinery.dead_letters.folder import DeadLetterWriter, PatientDeadLetters
from joinery.delivery.lease import Lease
from joinery.delivery.outlet import OneAttempt, Outlet, SinkDeadLetters
from joinery.delivery.repair import Request
from joinery.delivery.restored import Begun, unknown_run
from joinery.delivery.sent_mark import SentMark
from joinery.delivery.side_by_side import write_all
from joinery.delivery.task_sink import Tasks
from joinery.errors import JoineryError, RunError
from joinery.model.batch import Counts
from joinery.place.remote_path import RemotePath
from joinery.plan.product import Product
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import FencedError, Sink, SinkUnavailableError, StagedBatch
from joinery.solutions.stored.state import StoreUnavailableError
from joinery.spark.batch.letters import QueryLetters
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.query_sinks import ProductSinks, QuerySinks
from joinery.spark.batch.repairs import Repairs
from joinery.spark.batch.sink_batches import SinkBatches
from joinery.spark.batch.staging import StagedFolder, Staging
from joinery.spark.batch.tally import BatchTally
from joinery.spark.batch.watermarks import QueryTimes
from joinery.spark.kernel import PartsApart
from joinery.spark.recovery.attempt import Attempts
from joinery.spark.source.source import BatchLabel

if TYPE_CHECKING:
    from joinery.spark.batch.mode import OutletMaker
    from joinery.spark.batch.query_kernel import LoweredQuery
    from joinery.spark.kernel import BatchKernel
    from joinery.spark.real_time.handover import Handed
    from joinery.spark.streams.lookups import StreamLookups

_DEAD_LETTERS = "dead_letters"


class BatchRefusedError(RunError):
    """A batch was not begun because the run is ending."""

    code = "RUN_ENDING"


class BatchUnfinishedError(RunError):
    """A run was asked to end while what it needs was away, so not all that it has read is sent."""

    code = "RUN_UNFINISHED"


class QueryRun:
    """The batches of one query.

    Args:
        name: The query's name.
        members: Its products.
        lowered: The same products, lowered.
        lease: Taken before the first batch.
        dead_letters: Where its dead letters go.
        staging: Where its batches are staged.
        board: Notified of each batch, and of what is waited for.
        tombstone_retention_ms: How long sinks remember a delete.
        wait_for_letters: Wait while the place of dead letters is not there; else end.
        times: Keeps how far the event times of its relations have come.
        begun: Tells how far its checkpoint has come; None where it is fresh.
        sent: Remembers where its products' documents were sent.
        attempts: Remembers batches whose own work failed.
        outlets: Makes the outlets of its products, which may wait before they send.
        repairs: Documents that somebody asks to be sent again; None where none can be.
        tasks: Write to the sinks that tasks may write to.
        lookups: Makes what asks the stores of its streams, where they have some.

    Attributes:
        lost: By relation, records that the log lost before the run; told with the next batch.
        note_read: Notes what a batch read, before Spark commits it.
        pausing: Set while no batch may begin, because somebody paused the query.
        built_in: The batch that builds products which joined the query: what it reads stays part of
            each batch that follows, until the query is started again. None for none, or where the
            query ends by itself.
    """

    def __init__(
        self,
        name: str,
        members: Sequence[ProductSinks],
        *,
        lowered: LoweredQuery,
        lease: Lease,
        dead_letters: DeadLetterWriter,
        staging: Staging,
        board: ProgressBoard,
        tombstone_retention_ms: int,
        wait_for_letters: bool,
        times: QueryTimes,
        begun: Callable[[], Begun | None],
        sent: SentMark,
        attempts: Attempts,
        outlets: OutletMaker,
        repairs: Repairs | None,
        tasks: Tasks,
        lookups: Callable[[QueryRun], StreamLookups | None],
    ) -> None:
        self.name = name
        self.lowered = lowered
        self.lease = lease
        self.times = times
        self.members = tuple(members)
        self.failure: Exception | None = None
        self.lost: Counts = {}
        self.note_read: Callable[[], None] = lambda: None
        self.built_in: int | None = None
        self.ending = threading.Event()
        self.pausing = threading.Event()
        self.replaced = threading.Event()
        lease.on_request(self._give_way)
        self.staging = staging
        self._board = board
        self._sent = sent
        self._begins = begun
        self._begun: Begun | None = None
        self._attempts = attempts
        self._repairs = repairs
        self._tasks = tasks
        self._sending = threading.Lock()
        self._failing = threading.Lock()
        self._one_attempt = OneAttempt()
        patient = PatientDeadLetters(
            dead_letters, ended=self.ended, tell=partial(board.wait, dead_letters.target)
        )
        self._letters = QueryLetters(patient if wait_for_letters else dead_letters, lease)
        self._batches = SinkBatches(
            name, self.products, lease=lease, retention_ms=tombstone_retention_ms
        )
        self._sinks = QuerySinks(
            make_outlet=outlets,
            tasks=tasks,
            board=board,
            lease=lease,
            batch_of=self._batches.of,
            letters=self._letters,
            ended=self.ended,
            one_attempt=self._one_attempt,
            end=self.ending.set,
            on_error=self.fail,
            examine=self._examine,
        )
        self._outlets = tuple((each, self._sinks.outlet(each)) for each in self.members)
        self.lookups = lookups(self)

    @property
    def needs_tasks(self) -> bool:
        """Whether a project says that tasks are to write."""
        makers = (maker for each in self.members for maker in each.makers if maker is not None)
        return any(each.options.get("parallel") == "tasks" for each in makers)

    @property
    def wants_tasks(self) -> bool:
        """Whether tasks write to a sink where they can."""
        return any(maker is not None for each in self.members for maker in each.makers)

    def parts_apart(self, folder: RemotePath) -> PartsApart:
        """Return of which products tasks read the parts in the folder where they leave them."""
        if self._tasks.missing:
            return PartsApart(folder)
        some = (each for each in self.members if any(each.makers))
        alone = (each for each in self.members if each.makers and all(each.makers))
        return PartsApart(folder, _names(some), _names(alone))

    def _give_way(self) -> None:
        """End after the batch that is under way: a rebuild takes this query over."""
        self.replaced.set()
        self.ending.set()

    def ended(self) -> bool:
        """Return whether the query is to end, or may not go on."""
        return self.ending.is_set() or self.lease.lost is not None

    @property
    def died_of(self) -> str:
        """Why the batch at hand could not be worked off; empty where it could, so far."""
        failures = self._attempts.read()
        return failures.why if failures is not None else ""

    @property
    def products(self) -> tuple[Product, ...]:
        """The products of this query."""
        return tuple(each.product for each in self.members)

    @property
    def is_personal(self) -> bool:
        """Whether it reads personal columns."""
        return any(each.personal is not None for each in self.lowered.relations)

    @property
    def targets(self) -> dict[str, tuple[str, ...]]:
        """Where documents go, by product."""
        return {
            each.product.name: tuple(sink.target for sink in each.sinks) for each in self.members
        }

    def note_sent(self, documents: Mapping[str, Counts]) -> None:
        """Note that the sinks have documents, counted by product."""
        self._sent.note(documents, self.targets)

    def open(self) -> None:
        """Open all sinks, and clear what a run that crashed had staged."""
        self.staging.clear(self.lease.check)
        self._begun = self._begins()
        for _, outlet in self._outlets:
            outlet.open()
        if self.lookups is not None:
            self.lookups.open()

    def _examine(self, member: ProductSinks, sink: Sink) -> None:
        """See that a sink was not sent more than this checkpoint knows, nor lost what it was."""
        if (begun := self._begun) is not None:
            batch = self._batches.of(member.product.name, query_id=begun.id, batch_id=begun.batch)
            if (warning := self._sent.lost(member.product, sink, batch)) is not None:
                self._board.warn(warning)
            begun.check(sink, batch)

    def drain(self) -> None:
        """Send what outlets still hold and may send; called at the end of `--once`."""
        for member, outlet in self._outlets:
            self._letters.keep_refused(member.product.name, outlet.drain())
        self.drain_spools()

    def drain_spools(self) -> None:
        """Wait until all spools are empty.

        Raises:
            SinkUnavailableError: The query is to end, and one is not.
        """
        self._sinks.drain_spools()

    def close(self) -> None:
        """Close all sinks, each also where another cannot be closed; the lease stays."""
        with ExitStack() as closing:
            if self.lease.owner:
                closing.callback(self.staging.remove_of, self.lease.owner)
            if self.lookups is not None:
                closing.callback(self.lookups.close)
            closing.callback(self._letters.close)
            for _, outlet in reversed(self._outlets):
                closing.callback(outlet.close)

    def repair(self) -> None:
        """Send again what somebody asked for, unless a batch is under way, which does it itself."""
        if self._repairs is not None and self._sending.acquire(blocking=False):
            try:
                self._serve_repairs()
            finally:
                self._sending.release()

    def _serve_repairs(self) -> None:
        """Serve all requests; a sink that is away is tried once, since the watch must go on."""
        if self._repairs is None:
            return
        remembered_us = self._batches.retention_us
        with self._one_attempt.here():
            self._repairs.serve_all(self.products, self._send_again, remembered_us=remembered_us)

    def _send_again(self, request: Request, rows: Sequence[StagedRow]) -> int:
        """Send documents as a batch of their own; return how many were refused."""
        assert self._repairs is not None  # it has told of the request
        name = request.product
        outlet = next(each for member, each in self._outlets if member.product.name == name)
        with tempfile.TemporaryDirectory(prefix="joinery-repair-") as folder:
            part = Path(folder, "part-00000.jsonl")
            part.write_text("".join(each.line() for each in rows), encoding="utf-8")
            query_id, batch_id = self._repairs.stood_at()
            batch = self._batches.of(name, query_id=query_id, batch_id=batch_id, files=(part,))
            outcomes = outlet.write(replace(batch, after=round(time.time() * 1000)))
            self._letters.keep_refused(name, outcomes)
        return sum(len(each.written.refused) for each in outcomes)

    def run_batch(self, kernel: BatchKernel, frame: DataFrame, batch_id: int) -> None:
        """Take one batch through to the sinks; Spark calls this."""
        with self._noting_failure(), self._sending:
            started = time.monotonic()
            self.lease.check()
            self._serve_repairs()
            staging = self.staging.batch(batch_id, self.lease.epoch, self.lease.owner)
            staging.open()
            query_id = _query_id(frame)
            label = BatchLabel(query_id, batch_id, self.lease.epoch)
            summary = self._stage(kernel, frame, staging.path, label)
            staged = time.monotonic()
            letters = SinkDeadLetters(staging.path / _DEAD_LETTERS / "part-sinks.jsonl")
            tally, ways = BatchTally(summary), [*self._ways(staging, summary, label)]
            for (_, batch), outcomes in zip(ways, write_all(ways), strict=True):
                for target, written in outcomes:
                    letters.add(batch.product, target, written.refused)
                    tally.add(batch.product, written)
            dead = staging.parts(_DEAD_LETTERS)
            self._letters.keep(dead, query_id=query_id, batch_id=batch_id)
            reached = self.times.end(batch_id, summary)
            self.note_read()
            times = (started, staged, time.monotonic())
            self.note_sent(tally.documents)
            lost, self.lost = self.lost, {}
            self._board.add(
                tally.progress(
                    self.name,
                    batch_id,
                    sinks={each.product.name: len(each.sinks) for each in self.members},
                    lost=lost,
                    dead=dead,
                    times=times,
                    sinks_ms=self._sinks.times.take(),
                    event_times=reached,
                )
            )
            staging.remove()

    def _ways(
        self, staging: StagedFolder, summary: Mapping[str, Any], label: BatchLabel
    ) -> Iterator[tuple[Outlet, StagedBatch]]:
        """Yield the outlet of each product, and what was staged of it."""
        with_parts = staging.staged()
        for member, outlet in self._outlets:
            name = member.product.name
            files = staging.parts(name) if name in with_parts else ()
            batch = self._batches.of(
                name, query_id=label.query_id, batch_id=label.number, files=files
            )
            yield outlet, replace(batch, apart=summary.get("parts", {}).get(name, ()))

    def send_live(self, handed: Handed, query_id: str) -> Mapping[str, Counts]:
        """Send what real time has handed over, beside the last commit; see `Sender`."""
        with self._sending:
            self.lease.check()
            at, counted = round(time.time() * 1000), dict[str, Counts]()
            for member, outlet in self._outlets:
                product = member.product.name
                if (file := handed.documents.get(product)) is None:
                    continue
                batch = self._batches.of(
                    product, query_id=query_id, batch_id=handed.last_batch, files=(file,)
                )
                outcomes = outlet.write(replace(batch, after=at, by_driver=True))
                self._letters.keep_refused(product, outcomes)
                counted[product] = {
                    "refused": sum(len(each.written.refused) for each in outcomes),
                    "older": sum(each.written.older for each in outcomes),
                }
            if handed.letters is not None:
                self._letters.keep_live(handed.letters, self.name)
        return counted

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        """Refuse a batch of a run that is ending; note why one fails, as the run's watch needs."""
        try:
            if self.ending.is_set():
                raise BatchRefusedError(f'query "{self.name}" is ending')
            if self.pausing.is_set():
                raise BatchRefusedError(f'query "{self.name}" is paused')
            yield
        except (SinkUnavailableError, StoreUnavailableError) as error:
            if not self.ending.is_set():
                self._note(error)
                raise
            ended = self._ended_waiting(error)
            self._note(ended)
            raise ended from error
        except FencedError as error:
            known = self._known(error)
            self._note(known)
            raise known from error
        except SystemExit as error:  # would end the thread alone, and Spark wait for it forever
            left = RunError(f"sys.exit({error.code}) was called in a batch of it")
            self._note(left)
            raise left from error
        except Exception as error:
            self._note(error)
            raise
        except BaseException as error:  # as asyncio's of a task that was cancelled; as above
            left = RunError(f"{type(error).__name__} was raised in a batch of it")
            self._note(left)
            raise left from error

    def _known(self, error: FencedError) -> RunError:
        """Return why a target refuses this run: for another, or, while it has its lease, a copy."""
        try:
            self.lease.check()
        except (FencedError, OSError):
            return error
        return unknown_run(self.name, error)

    def _ended_waiting(self, error: JoineryError) -> RunError:
        """Return why a batch ends that waited for something; a rebuild sends all of it anew."""
        if self.replaced.is_set():
            return BatchRefusedError(f'query "{self.name}" was stopped while it waited')
        return BatchUnfinishedError(
            f"stopped before its batch was finished: {error.message}",
            detail=error.detail,
            hint="Start the run again once it is available: the batch runs again.",
        )

    def _stage(
        self, kernel: BatchKernel, frame: DataFrame, folder: Path, label: BatchLabel
    ) -> Mapping[str, Any]:
        """Run a batch's own work, and remember whether it failed; a store's failure is not it."""
        self.times.begin(frame.sparkSession, label.number)
        with self._attempts.at_work(label.number, counts=lambda: not self.ended()):
            return kernel.stage(frame, folder, label)

    def died(self) -> None:
        """Count the batch at work as failed, since Spark's process is gone."""
        if not self.ended():
            self._attempts.died()

    def fail(self, error: Exception) -> None:
        """Note why the query cannot go on, and let it end."""
        if self.ending.is_set() and isinstance(error, SinkUnavailableError):
            error = BatchUnfinishedError(
                f"stopped before the last changes were sent: {error.message}",
                detail=error.detail,
                hint="Start the run again once it is available: it sends them then.",
            )
        self._note(error)
        self.ending.set()

    def _note(self, failure: Exception) -> None:
        """Keep the first failure: the threads of spools and sinks may fail at once."""
        with self._failing:
            self.failure = self.failure or failure


def _names(members: Iterable[ProductSinks]) -> frozenset[str]:
    return frozenset(each.product.name for each in members)


def _query_id(frame: DataFrame) -> str:
    return frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId") or ""
