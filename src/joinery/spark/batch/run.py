"""Runs a project: one streaming query a product or group, watched until it ends.

Invariant: however a run ends, what it had committed stays, and the next run goes on there.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from joinery.dead_letters.open import dead_letter_reader
from joinery.errors import RunError
from joinery.model.audit import AuditProgress
from joinery.model.batch import BatchProgress
from joinery.model.phase import Phase, Phases
from joinery.model.progress import Progress, Silence, Waiting
from joinery.model.warning import RunWarning, Warnings
from joinery.observe.status_file import StatusFiles
from joinery.place.place import Place
from joinery.plan.product import Plan
from joinery.plan.stream import outputs_of
from joinery.plan.support import refuse_unsupported
from joinery.project.product import ProjectSpec
from joinery.spark.batch.begin import Beginning
from joinery.spark.batch.captures import Captures
from joinery.spark.batch.going import note_start
from joinery.spark.batch.held import Held, UnclosedError
from joinery.spark.batch.mark_keeper import MarkKeeper
from joinery.spark.batch.mode import KeepCurrent, Rebuild, RunMode
from joinery.spark.batch.progress import (
    BatchTimes,
    ProgressBoard,
    RunObserver,
    batch_warnings,
    stale_warnings,
    start_warnings,
)
from joinery.spark.batch.setup import (
    check_rebuildable,
    check_selected,
    make_queries,
    select_queries,
)
from joinery.spark.batch.tasks import SparkTasks
from joinery.spark.batch.watch import WaitedTooLongError, WaitLimit, Watch
from joinery.spark.jvm import require_classic
from joinery.spark.launch import RUN_SETTINGS, checkpoint_settings
from joinery.spark.real_time.rules import RealTimeRefusedError
from joinery.spark.real_time.run import RealTimeRun
from joinery.spark.recovery.disk import of_full_disk
from joinery.spark.session import clone_session
from joinery.spark.source.source import sources_of
from joinery.spark.source.warning import ColumnWatch, declared_columns
from joinery.vault.door import check_one_machine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POLL_S = 0.05


class UntilClosedError(RunError):
    """A run that does not end at the ends of its logs was asked to close what is open there."""

    code = "RUN_UNTIL_CLOSED"


class Runnable(Protocol):
    """A project, as `joinery.load` gives it."""

    @property
    def spec(self) -> ProjectSpec:
        """What was declared."""

    @property
    def plan(self) -> Plan:
        """What must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a run does.

    Attributes:
        once: Read what there is at the start, then end.
        until_closed: With `once`: treat every log as ended then, and send what is open.
        products: The products to run; empty means all.
        rebuild: Read everything anew beside what is there, then take its place and end.
        restored: The checkpoints were put back from a backup: go on from them nevertheless.
        bulk: Read the tables of databases in bulk, where they were not read yet.
        captures: Those that an earlier run has left going; None starts them.
        captures_stay: Leave them going for the run that follows.
        wait_ms: The longest wait for any one thing that is away; None waits forever.
        patient: Wait for a store of join state that is not there; else that ends the run.
        on_batch: Called for each batch once it is through.
        on_wait: Called when a sink has to be waited for, and with None once it is back.
        on_phase: Called when the run has caught up with its sources, is idle, or is behind.
        warnings: Takes what someone should look at.
    """

    once: bool = False
    until_closed: bool = False
    products: tuple[str, ...] = ()
    rebuild: bool = False
    restored: bool = False
    bulk: bool = False
    captures: Captures | None = None
    captures_stay: bool = False
    wait_ms: int | None = None
    patient: bool = True
    on_batch: Callable[[BatchProgress], None] = lambda batch: None
    on_wait: Callable[[str, Waiting | Silence | None], None] = lambda target, waiting: None
    on_phase: Callable[[Phase], None] = lambda phase: None
    warnings: Warnings = field(default_factory=Warnings)


class Run:
    """A run of some queries: prepared without Spark, started in a session.

    `await_termination` waits for its end, `stop` ends it after the batch that is under way; so does
    the end of a `with` block, which waits for a run that ends by itself, unless the block failed
    or the wait is interrupted.
    """

    def __init__(self, spec: ProjectSpec, plan: Plan, options: RunOptions) -> None:
        if spec.run.real_time and options.once:
            raise RealTimeRefusedError("real-time mode never ends, so it cannot run once")
        if options.until_closed and (not options.once or options.rebuild):
            raise UntilClosedError("until_closed needs once, and cannot be combined with a rebuild")
        self._spec, self._plan, self._names = spec, plan, options.products
        self._once = options.once
        kept = spec.checkpoint, spec.scratch
        self._mode: RunMode = Rebuild(*kept) if options.rebuild else KeepCurrent(*kept)
        self._board = ProgressBoard(self._note_batch, self._note_wait, options.warnings)
        self._on_batch, self._on_wait = options.on_batch, options.on_wait
        self._on_phase = options.on_phase
        self._columns = ColumnWatch(declared_columns(spec))
        self._ended = threading.Event()
        self._asked = threading.Event()
        self._begun = False
        self._given_up: WaitedTooLongError | None = None
        self._watch: Watch | None = None
        live = spec.run.real_time and not options.rebuild
        self._real_time = RealTimeRun(spec, self._board) if live else None
        self._rebuild = options.rebuild
        self._limit = (
            WaitLimit(options.wait_ms, lambda: self.progress, self._give_up)
            if options.wait_ms is not None
            else None
        )
        refuse_unsupported(spec, plan)
        check_selected(spec, options.products)
        chosen = select_queries(outputs_of(plan), options.products)
        if options.rebuild:
            check_rebuildable(chosen)
        tasks = SparkTasks()
        self._queries = make_queries(spec, plan, chosen, self._mode, self._board, tasks)
        read = [each.product for query in self._queries for each in query.members]
        self._captures = options.captures or Captures(
            spec, read, bulk=options.bulk, stay=options.captures_stay
        )
        self._captures.serve(self._board.wait, self._board.warn)
        self._held = Held(
            spec=spec,
            queries=self._queries,
            mode=self._mode,
            board=self._board,
            captures=self._captures,
            asked=self._asked,
            rebuild=options.rebuild,
            restored=options.restored,
            patient=options.patient,
        )
        self._beginning = Beginning(
            spec=spec,
            mode=self._mode,
            queries=self._queries,
            held=self._held,
            board=self._board,
            tasks=tasks,
            real_time=self._real_time,
            once=options.once,
            until_closed=options.until_closed,
            rebuild=options.rebuild,
        )
        if self._real_time:
            for name, members in chosen.items():
                self._real_time.add(name, members, sources_of(spec, members))
        self._observer = RunObserver(spec, chosen, lambda: self.progress)
        files = {name: self._mode.paths(name).status_file for name in chosen}
        self._status = StatusFiles(
            files, chosen, self.targets, lambda: self.progress, self._held.is_taken_over
        )
        self._marks = MarkKeeper(
            {} if options.rebuild else self._checkpoints_on_disk,
            spec.run.marks,
            self._board.mark,
            self._board.warn,
        )

    @property
    def progress(self) -> Progress:
        """The run as it stands."""
        return self._board.progress

    def audits(self, told: AuditProgress) -> None:
        """Take up in its progress what comparing its documents has found by now."""
        self._board.audit(told)

    @property
    def captures(self) -> Captures:
        """The captures of the databases that are read."""
        return self._captures

    @property
    def replaced(self) -> tuple[str, ...]:
        """The queries that a rebuild has taken over."""
        return tuple(each.name for each in self._queries if each.replaced.is_set())

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of all relations that are read."""
        products = (product for query in self._queries for product in query.products)
        return tuple(dict.fromkeys(each.name for one in products for each in one.relations))

    @property
    def targets(self) -> dict[str, tuple[str, ...]]:
        """Where documents go, by product."""
        return {name: each for query in self._queries for name, each in query.targets.items()}

    @property
    def dead_letters(self) -> str:
        """Where the dead letters are kept."""
        return dead_letter_reader(self._spec).target

    def prepare(self) -> None:
        """Take the leases and checkpoints of all queries, open their sinks; needs no Spark.

        Raises:
            LeaseHeldError: Another run has one of the queries.
            CaptureError: A spool has changes of another slot, or of other tables, or no longer
                all that a query needs that begins.
            StateMismatchError: A checkpoint holds state that another plan wrote.
            HeldBackError: Documents wait for what their product does not declare any more.
            SinkError: A sink cannot be opened.
            HttpError: The address of `run.http` cannot be used.
            WaitedTooLongError: What is away was waited for as long as it was to be.
        """
        for warning in start_warnings(self._spec, self._plan, self._names):
            self._board.warn(warning)
        with self._giving_back(self._give_back):
            self._held.claim()
        with self._giving_back(self.abandon):
            self._begun = True
            self._status.begin()
            if self._limit is not None:
                self._limit.open()
            self._observer.open()
            self._held.open()

    def start(self, spark: SparkSession) -> None:
        """Start all queries in `spark`, once the run is prepared."""
        with self._giving_back(self._break_off):
            if self._held.door is not None:
                check_one_machine(spark.sparkContext.master or "")
            if self._once or self._rebuild:  # whose ends are those of the spools
                self._captures.reach_end(self._asked.is_set)
            elif self._real_time:  # which reads row by row what is not there by now
                self._captures.await_tables(self._asked.is_set)
            watch, times = self._beginning.begin(spark)
            self._observer.started()
        self._watch = watch
        if self._given_up is not None:
            watch.broke_off(self._given_up)
        watcher = threading.Thread(
            target=self._follow, args=(watch, times), name="joinery-run", daemon=True
        )
        self._marks.open()
        watcher.start()
        note_start(self)

    @property
    def ended(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._ended.is_set()

    def __repr__(self) -> str:
        state = "ended" if self.ended else "running"
        return f"<run of project {self._spec.name}, {state}: {', '.join(self.targets)}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        if kind is not None or not (self._once or self._rebuild):
            self.stop()
            return
        try:
            self.await_termination()
        except BaseException:
            if not self.ended:  # where somebody interrupts the wait
                self.stop()
            raise

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the run has ended; return False if `timeout` seconds passed before.

        Raises:
            JoineryError: The run failed.
        """
        ended = self._ended.wait(timeout)
        if ended and self._watch is not None and self._watch.error is not None:
            raise self._watch.error
        return ended

    def request_stop(self) -> None:
        """Ask the run to end after the batch that is under way; returns at once."""
        self._asked.set()
        for query in self._queries:
            query.ending.set()

    def _give_up(self, error: WaitedTooLongError) -> None:
        self._given_up = error
        if self._watch is not None:
            self._watch.broke_off(error)
        self.request_stop()

    def stop(self) -> None:
        """End the run after the batch that is under way, and wait for that."""
        self.request_stop()
        self.await_termination()

    def abandon(self, failure: Exception | None = None) -> None:
        """Give back what a run that never started has taken; `failure` says why it did not."""
        asked = self._asked.is_set() and self._given_up is None
        self._observer.abandon()
        unclosed = self._give_back(None if asked else failure)
        if failure is None and unclosed is not None:
            raise unclosed

    @contextmanager
    def _giving_back(self, give_back: Callable[[Exception | None], object]) -> Iterator[None]:
        """Give back what was taken where a block fails; `give_back` is told why."""
        try:
            yield
        except BaseException as error:
            failure: Exception | None = None
            if isinstance(error, Exception):
                failure = self._given_up or of_full_disk(error, self._folders)
            give_back(failure)
            if failure is None or failure is error:
                raise
            raise failure from error

    def _break_off(self, failure: Exception | None) -> None:
        """Give back what a run has taken that could not be started."""
        self._observer.close(self._give_back(failure))

    def _give_back(self, failure: Exception | None) -> Exception | None:
        """Close what the run holds, tell how it ended, then let another run begin.

        Returns:
            Why it failed: what could not be closed is why, where nothing else is.
        """
        if self._limit is not None:
            self._limit.close()
        with ExitStack() as last:
            last.callback(self._held.release)
            try:
                self._held.close()
            except UnclosedError as error:
                failure = failure or of_full_disk(error, self._folders)
            if self._begun:  # else the file is another run's
                self._status.end(failure)
        return failure

    def _follow(self, watch: Watch, times: BatchTimes) -> None:
        """Wait for all queries, then give back what the run has."""
        try:
            phases = Phases(self._on_phase)
            while watch.running():
                times.take()
                caught_up = watch.caught_up
                if (broken := self._captures.error) is not None:
                    watch.broke_off(broken)
                    self.request_stop()
                self._captures.listen()
                if not self._once:  # which ends where it has caught up
                    phases.note(bool(caught_up) and all(caught_up.values()))
                self._status.look(caught_up, watch.paused)
                self._ended.wait(_POLL_S)
            if self._once and watch.error is None:
                self._drain()
            times.close()
            watch.close_live()
            self._board.flush()
        except Exception as error:
            watch.broke_off(error)
            self.request_stop()  # of whatever waits for a target
        except BaseException as error:  # of a sink; would end this thread alone
            watch.broke_off(RunError(f"{type(error).__name__} was raised as the run ended"))
            self.request_stop()
        finally:
            watch.close()
            self._marks.close()
            if watch.error is not None:
                watch.error = of_full_disk(watch.error, self._folders)
            try:
                if (failure := self._give_back(watch.error)) is not None:
                    watch.broke_off(failure)
                self._observer.close(watch.error)
            finally:
                self._ended.set()

    @property
    def _checkpoints_on_disk(self) -> dict[str, Path]:
        every = {each.name: self._mode.paths(each.name).checkpoint for each in self._queries}
        return {name: each for name, each in every.items() if isinstance(each, Path)}

    @property
    def _folders(self) -> tuple[Place, ...]:
        """Where a run keeps what it needs, whatever it reads and writes."""
        return self._spec.checkpoint, self._spec.scratch, Path(tempfile.gettempdir())

    def _drain(self) -> None:
        """At the end of `--once`, send what waits; one that is asked to end may not wait."""
        for query in self._queries:
            if not query.ending.is_set():
                query.drain()
            elif self._asked.is_set() and not query.replaced.is_set():
                query.drain_spools()

    def _note_wait(self, target: str, waiting: Waiting | Silence | None) -> None:
        self._on_wait(target, waiting)
        if self._begun and self._watch is None:  # which tells it from then on
            self._status.look({})

    def _note_batch(self, batch: BatchProgress) -> None:
        self._observer.batch(batch)
        self._status.note(batch)
        self._on_batch(batch)
        noticed = (*batch_warnings(batch), *stale_warnings(self.progress))
        for warning in (*noticed, *self._columns.warnings(batch)):
            self._board.warn(warning)


def run(
    spark: SparkSession,
    project: Runnable,
    *,
    once: bool = False,
    until_closed: bool = False,
    products: Sequence[str] = (),
    rebuild: bool = False,
    restored: bool = False,
    on_batch: Callable[[BatchProgress], None] = lambda batch: None,
    on_warning: Callable[[RunWarning], None] = lambda warning: None,
) -> Run:
    """Start a project in a session and return its run.

    Args:
        spark: The session, which stays as it is: the run has a clone of it, with the settings
            of the kernel and those of `run.spark` that a session can change.
        project: As `joinery.load` gives it.
        once: Read what there is, then end; else go on as files arrive.
        until_closed: With `once`: treat every log as ended then, and send what is open.
        products: The products to run; empty means all.
        rebuild: Read everything anew beside what is there, then take its place and end.
        restored: The checkpoints were put back from a backup: go on from them nevertheless.
        on_batch: Called for each batch once it is through.
        on_warning: Called with each warning, once; the log `joinery.warning` has it, too, and
            `progress.warnings` of the run.

    Raises:
        SessionError: The session is of Spark Connect, or was stopped.
        JoineryError: The project cannot run, or another run holds its checkpoint.
    """
    require_classic(spark)
    options = RunOptions(
        once=once,
        until_closed=until_closed,
        products=tuple(products),
        rebuild=rebuild,
        restored=restored,
        on_batch=on_batch,
        warnings=Warnings(on_warning),
    )
    started = Run(project.spec, project.plan, options)
    # Before anything is taken that a session which cannot be cloned would leave behind.
    own = {**RUN_SETTINGS, **checkpoint_settings(project.spec)}
    clone = clone_session(spark, {**own, **dict(project.spec.run.spark)})
    started.prepare()
    started.start(clone)
    return started
