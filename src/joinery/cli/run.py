"""`joinery run`: a project from its sources into its sinks, until it is asked to end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from joinery.cli.ending import DONE, FAILED
from joinery.cli.live import Display, display_for_output, waiting_line
from joinery.cli.project import plan_project
from joinery.cli.run_arguments import (
    RunArguments,
    check_arguments,
    check_bulk_start,
    dead_letters_command,
)
from joinery.cli.run_log import log_to
from joinery.delivery.action_log import ActionLog
from joinery.errors import JoineryError, SpecError
from joinery.java import JavaMissingError
from joinery.model.progress import Totals, Waiting
from joinery.model.warning import Warnings
from joinery.project.load import load_spec
from joinery.project.quantity import duration_ms
from joinery.spark.launch import (
    Driver,
    checkpoint_settings,
    remove_log,
    session_settings,
    start_driver,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from joinery.plan.product import Plan
    from joinery.project.product import ProductSpec, ProjectSpec
    from joinery.project.stream import StreamSpec
    from joinery.spark.batch.captures import Captures
    from joinery.spark.batch.run import Run


class StopSignals:
    """What the signals of the user ask for: once to end after the batch, twice at once."""

    def __init__(self) -> None:
        self.asked = False
        self._stop: Callable[[], None] = lambda: None

    def listen(self) -> None:
        """Take SIGINT and SIGTERM; to be repeated after Spark has set its own handlers."""
        signal.signal(signal.SIGINT, self._signalled)
        signal.signal(signal.SIGTERM, self._signalled)

    def attach(self, stop: Callable[[], None]) -> None:
        """Call `stop` when the user asks to end, at once if that was before."""
        self._stop = stop
        if self.asked:
            stop()

    def ask(self) -> None:
        """Ask the run to end after its batch."""
        self.asked = True
        self._stop()

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT:
            sys.stderr.write("error: interrupted; the batch was not committed and runs again.\n")
            sys.stderr.flush()
            os._exit(FAILED)
        self.ask()


def run_project(
    arguments: RunArguments, display: Display | None = None, ending: StopSignals | None = None
) -> int:
    """Run a project to its end.

    Args:
        arguments: What to run.
        display: Shows the run; by default what fits standard output.
        ending: Ends the run when asked; signals ask it too.

    Raises:
        JoineryError: The project, an argument or the run failed.
    """
    ending = ending or StopSignals()
    ending.listen()
    check_arguments(arguments)
    settings = (*arguments.settings, *(("run.real_time=true",) if arguments.real_time else ()))
    spec = load_spec(arguments.file, settings=settings)
    check_bulk_start(arguments, spec)
    if arguments.export is not None:
        from joinery.spark.batch.exports import exports_of

        exports_of(spec, arguments.export)  # what it lacks is told before Spark starts
    fresh = [each for each in _spark_log(spec).parents if not each.exists()]
    driver = _early_driver(spec, arguments)
    try:
        spec, plan = _planned(spec, arguments, driver, fresh)
        shown = display or display_for_output()
        return Command(arguments, spec, plan, ending, shown, driver).run()
    finally:
        if driver is not None:
            driver.end()


def _planned(
    spec: ProjectSpec, arguments: RunArguments, driver: Driver | None, fresh: Sequence[Path]
) -> tuple[ProjectSpec, Plan | None]:
    """Plan a project; one that cannot run leaves neither a JVM nor its log, `fresh` as it was."""
    try:
        return plan_project(spec, solution=arguments.solution)
    except JoineryError:
        if driver is not None:
            driver.kill()
        if fresh:
            remove_log(_spark_log(spec))
            for folder in fresh:
                with suppress(OSError):  # somebody else has put something there
                    folder.rmdir()
        raise


def _early_driver(spec: ProjectSpec, arguments: RunArguments) -> Driver | None:
    """Start Spark's JVM before the project is planned; None where that has to wait."""
    if spec.run.real_time or "pyspark" in sys.modules:  # this process may have a JVM
        return None
    # What is in the way is told where the session is opened.
    with suppress(JavaMissingError, OSError):
        return start_driver(
            session_settings(
                spec.name,
                _spark_log(spec),
                master=arguments.master,
                settings={**checkpoint_settings(spec), **dict(spec.run.spark)},
                short=arguments.once and _is_short(spec, arguments.products),
            ),
            _spark_log(spec),
        )
    return None


_SHORT_BYTES = 64_000_000  # of up to which runs were measured: docs/design/performance.md


def _is_short(spec: ProjectSpec, names: Sequence[str]) -> bool:
    """Return whether all that some products read is some hundred thousand changes in files."""
    read, folders = _read_by(spec, names), set[Path]()
    for source in spec.sources:
        topics = [e.topic or e.name for e in spec.changelogs_of(source) if e.name in read]
        if topics and source.kind != "files":
            return False
        folders |= {spec.path_of(str(dict(source.options)["path"])) / each for each in topics}
    sizes = (
        each.stat().st_size for folder in folders for each in folder.rglob("*") if each.is_file()
    )
    return not any(total > _SHORT_BYTES for total in accumulate(sizes))


def _read_by(spec: ProjectSpec, names: Sequence[str]) -> set[str]:
    """Return what products and streams read, all where none is named, also through each other."""
    known: dict[str, ProductSpec | StreamSpec] = {each.name: each for each in spec.products}
    known |= {each.name: each for each in spec.streams}
    read, left = set[str](), [*(names or known)]
    while left:
        one = known.pop(left.pop(), None)
        if one is not None:
            read |= {*one.reads}
            left += one.reads
    return read


def _spark_log(spec: ProjectSpec) -> Path:
    return spec.scratch / "_logs" / "spark.log"


class Command:
    """One run from the command line."""

    def __init__(
        self,
        arguments: RunArguments,
        spec: ProjectSpec,
        plan: Plan | None,
        ending: StopSignals,
        display: Display,
        driver: Driver | None = None,
    ) -> None:
        self._arguments = arguments
        self._spec = spec
        self._plan = plan
        self._ending = ending
        self._display = display
        self._driver = driver
        self._log = _spark_log(spec)
        self._own_log = self._log.with_name("joinery.jsonl")
        self._warnings = Warnings(display.warn)
        self._session: SparkSession | None = None
        self._captures: Captures | None = None
        self._told_end = False

    def run(self) -> int:
        """Take the leases, open the sinks, start Spark, start the queries, wait for their end."""
        try:
            log_to(self._own_log)
            plan = self._plan or self._analysed()
            if self._arguments.bootstrap_from == "checkpoint":
                self._take_over(plan)
            if self._arguments.export is not None:
                self._take_export(self._arguments.export)
            if self._arguments.rebuild and not self._ending.asked:
                self._run_queries(plan, rebuild=True)
            if not self._ending.asked:
                self._run_queries(plan)
            return self._done()
        except JoineryError as error:
            if self._ending.asked and self._session is None:
                return self._done()  # a signal to the whole group ended Spark before it had begun
            self._name_log(error)
            raise
        finally:
            self._display.close()
            if self._captures is not None:
                self._captures.end()
            if self._session is not None:
                with suppress(ConnectionError):  # its process may have died
                    self._session.stop()

    def _done(self) -> int:
        """Say so of a run that was asked to end before it began; return the exit code."""
        if not self._told_end:
            self._display.end(Totals())
        return DONE

    def _take_over(self, plan: Plan) -> None:
        """Carry the state of each query's checkpoint over to the solution that is to go on."""
        from joinery.project.load import load_spec
        from joinery.spark.batch.setup import select_queries
        from joinery.spark.recovery.takeover import take_over

        origin = load_spec(self._arguments.file, settings=self._arguments.settings)
        for query, products in select_queries(plan.products, self._arguments.products).items():
            if take_over(self._spec, origin, query, products):
                name = products[0].solution
                sys.stderr.write(f'the join state of "{query}" is now kept by {name}\n')

    def _take_export(self, folder: Path) -> None:
        """Put the rows of an export into the spools that wait for them, unless that was done.

        The log is captured meanwhile, so that the server need not keep it.
        """
        from joinery.spark.batch.captures import capturing_beside
        from joinery.spark.batch.exports import exports_of
        from joinery.spark.batch.parquet import take_export

        exports = exports_of(self._spec, folder)
        with ExitStack() as stack:
            failed = [
                stack.enter_context(
                    capturing_beside(self._spec, each.source, _tell, self._warnings.add)
                )
                for each in exports
            ]
            ended = partial(self._is_over, failed)
            for each in exports:
                session = self._open()
                self._ending.attach(partial(_cancel_jobs, session))
                if not take_export(session, each, ended=ended, tell=_say, on_wait=_tell):
                    return

    def _is_over(self, failed: Sequence[Callable[[], bool]]) -> bool:
        return self._ending.asked or any(each() for each in failed)

    def _run_queries(self, plan: Plan, *, rebuild: bool = False) -> None:
        """Run the queries to their end, or build them again."""
        run = self._made(plan, rebuild=rebuild)
        self._captures = run.captures
        self._ending.attach(run.request_stop)  # a vault or a store may be waited for without end
        run.prepare()
        if rebuild:
            ActionLog(self._spec.checkpoint).note("run --rebuild", self._arguments.products)
        try:
            session = self._open()
        except BaseException as error:
            run.abandon(error if isinstance(error, Exception) else None)
            raise
        if self._ending.asked:
            run.abandon()
            return
        run.start(session)
        if not (self._arguments.once or rebuild):
            self._audit(plan, run)
        from joinery.dead_letters.open import own_dead_letter_topic

        if (topic := own_dead_letter_topic(self._spec)) is not None:
            sys.stderr.write(f"dead letters go to the Kafka topic {topic}\n")
        self._display.start(run.topics, run.targets, lambda: run.progress)
        try:
            run.await_termination()
        finally:
            self._told_end = True
            self._display.end(run.progress.totals)
            if run.progress.totals.dead:
                listing = dead_letters_command(self._arguments)
                sys.stderr.write(f"dead letters are in {run.dead_letters}; {listing} shows why\n")
        for query in run.replaced:
            sys.stderr.write(f'a rebuild has taken over "{query}"; this run has ended\n')

    def _audit(self, plan: Plan, run: Run) -> None:
        from joinery.app.auditor import start_auditor

        start_auditor(self._spec, plan, self._arguments.products, run)

    def _analysed(self) -> Plan:
        """Build the plan with the analyser of the run's own session."""
        from joinery.plan.build import build_plan
        from joinery.spark.analyse import SparkAnalyser

        return build_plan(self._spec, SparkAnalyser(self._open()))

    def _made(self, plan: Plan, *, rebuild: bool) -> Run:
        from joinery.spark.batch.run import Run, RunOptions

        options = RunOptions(
            once=self._arguments.once,
            until_closed=self._arguments.until_closed and not rebuild,
            wait_ms=duration_ms(self._arguments.wait) if self._arguments.wait else None,
            products=self._arguments.products,
            rebuild=rebuild,
            restored=self._arguments.restored,
            bulk=rebuild and self._arguments.bootstrap_from == "database",
            captures=self._captures,
            captures_stay=rebuild,
            on_batch=self._display.batch,
            on_wait=self._display.wait,
            on_phase=self._display.phase,
            warnings=self._warnings,
        )
        return Run(self._spec, plan, options)

    def _open(self) -> SparkSession:
        if self._session is None:
            from joinery.spark.jar import connector_jars
            from joinery.spark.jvm import add_jars
            from joinery.spark.session import open_session

            jars = connector_jars(self._spec)
            self._display.prepare(self._log)
            self._session = open_session(
                self._spec.name,
                log=self._log,
                master=self._arguments.master,
                settings={
                    **self._real_time_settings(),
                    **checkpoint_settings(self._spec),
                    **dict(self._spec.run.spark),
                },
                driver=self._driver,
            )
            add_jars(self._session, jars)
            self._ending.listen()
        return self._session

    def _real_time_settings(self) -> dict[str, str]:
        from joinery.spark.real_time.run import real_time_settings

        if not self._spec.run.real_time:
            return {}
        given = self._arguments.master or dict(self._spec.run.spark).get("spark.master")
        return real_time_settings(master_given=given is not None)

    def _name_log(self, error: JoineryError) -> None:
        if self._session is not None and not isinstance(error, SpecError):
            error.hint = f"{error.hint} Spark's log: {self._log}".strip()


def _cancel_jobs(session: SparkSession) -> None:
    """Break off what a session does, asked in a thread that waits for none of it."""
    threading.Thread(target=session.sparkContext.cancelAllJobs, daemon=True).start()


def _tell(target: str, waiting: Waiting | None) -> None:
    """Say that something is waited for, once, and that it is back."""
    if waiting is None:
        _say(f"{target} is back")
    elif waiting.attempts == 1:
        _say(waiting_line(waiting))


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
