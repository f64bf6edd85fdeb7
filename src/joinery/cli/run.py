"""`joinery run`: a project from its sources into its sinks, until it is asked to end.

The log of a run: JSON lines in a file that rotates, one an event, with its facts.

Invariant: nothing is logged but what the code names; no options, no record contents.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from joinery.cli.live import Display, display_for_output
from joinery.cli.project import DONE, FAILED, plan_project
from joinery.errors import JoineryError, RunError, SpecError
from joinery.java import JavaMissingError
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

    from joinery.plan.nodes import Plan
    from joinery.project.product import ProjectSpec
    from joinery.spark.batch.run import Run

_KEPT_BYTES = 20 * 1024 * 1024
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class JsonFormatter(logging.Formatter):
    """One JSON object a record: time, level, logger, event, then the facts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        at = datetime.fromtimestamp(record.created, UTC)
        facts = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        told = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **facts,
        }
        return json.dumps(told, ensure_ascii=False, default=str)


def log_to(file: Path) -> None:
    """Let everything under the logger `joinery` go to `file`; warnings to nowhere else.

    Raises:
        RunError: The file cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(file, maxBytes=_KEPT_BYTES, backupCount=2, encoding="utf-8")
    except OSError as error:
        raise RunError(
            f"could not write into {file.parent}: {error.strerror}",
            hint="Set run.checkpoint to a folder that can be written; with a checkpoint in an"
            " object store set TMPDIR to one.",
        ) from error
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("joinery")
    for old in list(logger.handlers):
        logger.removeHandler(old)
        old.close()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    # A library that logs where nobody listens would write to the terminal.
    logging.getLogger().addHandler(logging.NullHandler())
    logging.getLogger("py4j").propagate = False


_DEFAULT = Path("joinery.yaml")


_LEFT_OUT = "Leave --bootstrap-from out: the capture reads them before it follows the log."


class RunArgumentError(SpecError):
    """The arguments of `run` cannot go together."""

    code = "RUN_ARGUMENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments:
    """What `joinery run` was asked.

    Attributes:
        file: The project file or folder.
        once: Read what there is, then end.
        until_closed: With `once`: then treat every log as ended.
        wait: With `once`: a duration, the longest wait for anything that is away.
        products: The products to run; empty means all.
        solution: Overrides the products' own.
        real_time: Use Spark's real-time mode instead of micro-batches.
        rebuild: Read everything anew, then take the place of what is there.
        bootstrap_from: Where state comes from: the sources, the tables of a database in bulk, an
            export of them in Parquet, or the checkpoint of another solution.
        export: The folder of the export.
        settings: `dotted.key=value`, put into the project file.
        master: Spark's master.
    """

    file: Path
    once: bool = False
    until_closed: bool = False
    wait: str | None = None
    products: tuple[str, ...] = ()
    solution: str | None = None
    real_time: bool = False
    rebuild: bool = False
    bootstrap_from: str | None = None
    export: Path | None = None
    settings: tuple[str, ...] = ()
    master: str | None = None


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
    _check(arguments)
    settings = (*arguments.settings, *(("run.real_time=true",) if arguments.real_time else ()))
    spec = load_spec(arguments.file, settings=settings)
    _check_database(arguments, spec)
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


def _check_database(arguments: RunArguments, spec: ProjectSpec) -> None:
    """Refuse to take the tables of a database at once where no source is one."""
    kinds = {each.kind for each in spec.sources}
    match arguments.bootstrap_from:
        case "database" if "mysql" in kinds:
            raise RunArgumentError("tables of MySQL are not read in bulk yet", hint=_LEFT_OUT)
        case "database" if "postgres" not in kinds:
            raise RunArgumentError(
                "no source of the project is a database",
                hint="Use --bootstrap-from source; it reads the sources from their beginning.",
            )
        case "parquet" if "mysql" in kinds and "postgres" not in kinds:
            raise RunArgumentError(
                "tables of MySQL are not taken from an export yet", hint=_LEFT_OUT
            )
        case "parquet" if "postgres" not in kinds:
            raise RunArgumentError(
                "no source of the project is a PostgreSQL database",
                detail="In Kafka and in files nothing tells to which place in the log an export"
                " belongs.",
                hint="Put its rows into the log, before the changes: see docs/rebuild.md.",
            )


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
                short=arguments.once and _is_short(spec),
            ),
            _spark_log(spec),
        )
    return None


_SHORT_BYTES = 4_000_000


def _is_short(spec: ProjectSpec) -> bool:
    """Return whether all that the sources hold is a few thousand changes in files."""
    if any(each.kind != "files" for each in spec.sources):
        return False
    folders = [spec.path_of(str(dict(each.options)["path"])) for each in spec.sources]
    sizes = (
        each.stat().st_size for folder in folders for each in folder.rglob("*") if each.is_file()
    )
    return not any(total > _SHORT_BYTES for total in accumulate(sizes))


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
            return DONE
        except JoineryError as error:
            if self._ending.asked and self._session is None:
                return DONE  # a signal to the whole group ended Spark before it had begun
            self._name_log(error)
            raise
        finally:
            self._display.close()
            if self._session is not None:
                with suppress(ConnectionError):  # its process may have died
                    self._session.stop()

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
        """Put the rows of an export into the spools that wait for them, unless that was done."""
        from joinery.spark.batch.exports import exports_of
        from joinery.spark.batch.parquet import take_export

        for export in exports_of(self._spec, folder):
            session = self._open()
            self._ending.attach(partial(_cancel_jobs, session))
            if not take_export(session, export, ended=lambda: self._ending.asked, tell=_say):
                return

    def _run_queries(self, plan: Plan, *, rebuild: bool = False) -> None:
        """Run the queries to their end, or build them anew."""
        run = self._made(plan, rebuild=rebuild)
        run.prepare()
        try:
            session = self._open()
        except BaseException:
            run.abandon()
            raise
        if self._ending.asked:
            run.abandon()
            return
        run.start(session)
        self._ending.attach(run.request_stop)
        if not (self._arguments.once or rebuild):
            self._audit(plan, run)
        from joinery.dead_letters.open import own_dead_letter_topic

        if (topic := own_dead_letter_topic(self._spec)) is not None:
            sys.stderr.write(f"dead letters go to the Kafka topic {topic}\n")
        self._display.start(run.topics, run.targets, lambda: run.progress)
        try:
            run.await_termination()
        finally:
            self._display.end(run.progress.totals)
            if run.progress.totals.dead:
                listing = dead_letters_command(self._arguments)
                sys.stderr.write(f"dead letters are in {run.dead_letters}; {listing} shows why\n")
        for query in run.replaced:
            sys.stderr.write(f'a rebuild has taken over "{query}"; this run has ended\n')

    def _audit(self, plan: Plan, run: Run) -> None:
        from joinery.app.auditor import start_auditor

        try:
            start_auditor(self._spec, plan, self._arguments.products, run)
        except JoineryError:
            run.stop()
            raise

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
            bulk=rebuild and self._arguments.bootstrap_from == "database",
            on_batch=self._display.batch,
            on_wait=self._display.wait,
            on_phase=self._display.phase,
            warnings=self._warnings,
        )
        return Run(self._spec, plan, options)

    def _open(self) -> SparkSession:
        if self._session is None:
            from joinery.spark.jar import connector_jars
            from joinery.spark.kernel import add_jars
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


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def dead_letters_command(arguments: RunArguments) -> str:
    """Return the command that lists the dead letters of a run."""
    file = "" if arguments.file == _DEFAULT else f" --file {shlex.quote(str(arguments.file))}"
    return f"joinery dlq list{file}{' --real-time' if arguments.real_time else ''}"


def _check(arguments: RunArguments) -> None:
    if arguments.real_time and arguments.once:
        raise RunArgumentError("--real-time has no end, so it cannot go with --once")
    if arguments.until_closed and not arguments.once:
        raise RunArgumentError("--until-closed says how --once ends, so it needs --once")
    if arguments.until_closed and arguments.rebuild:
        raise RunArgumentError(
            "--until-closed cannot be combined with --rebuild",
            hint="Rebuild first, then run --once --until-closed.",
        )
    if arguments.wait is not None and not arguments.once:
        raise RunArgumentError("--wait bounds the waiting of --once, so it needs --once")
    if arguments.wait is not None and duration_ms(arguments.wait) is None:
        raise RunArgumentError(
            f'--wait needs a duration, not "{arguments.wait}"', hint="Write one such as 5m or 90s."
        )
    if arguments.bootstrap_from not in (None, "source", "database", "parquet", "checkpoint"):
        raise RunArgumentError(
            f'join state cannot come from "{arguments.bootstrap_from}"',
            hint="Use --bootstrap-from source, database, parquet FOLDER or checkpoint.",
        )
    if arguments.bootstrap_from == "parquet" and arguments.export is None:
        raise RunArgumentError(
            "--bootstrap-from parquet needs the folder of an export",
            hint="Write --bootstrap-from parquet FOLDER.",
        )
    if arguments.real_time and arguments.rebuild:
        raise RunArgumentError("--rebuild works in micro-batches, so it cannot go with --real-time")
