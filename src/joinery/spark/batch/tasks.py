"""The tasks of a Spark session that write to sinks: Python on the executors, with Joinery in it.

Invariant: whether executors can do it is known before the first batch.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from joinery._version import __version__
from joinery.delivery.lease import LeaseWatch
from joinery.delivery.task_sink import PartOutcome, PartWork, write_part
from joinery.errors import RunError
from joinery.model.warning import RunWarning

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_T = TypeVar("_T")
_PACK = (
    "Pack it (pip install venv-pack && venv-pack -o env.tar.gz), write"
    ' run: {spark: {spark.archives: "env.tar.gz#env"}}, and run with'
    " PYSPARK_PYTHON=./env/bin/python"
)
_HERE = f"Set PYSPARK_PYTHON={sys.executable} before the session is made"


class TasksMissingError(RunError):
    """Executors are to write, and cannot: no Python with Joinery, or the lease is out of reach."""

    code = "RUN_TASKS"


class SparkTasks:
    """Writes parts by the tasks of the session that a run is started in."""

    def __init__(self) -> None:
        self._session: SparkSession | None = None
        self._missing = "There is no session"
        self._remedy = _PACK

    @property
    def missing(self) -> str:
        """Why tasks cannot write; empty where they can."""
        return self._missing

    @property
    def warning(self) -> RunWarning:
        """What to look at where tasks would write, and cannot."""
        return RunWarning(
            code="WARN_DRIVER_WRITES",
            about="executors",
            message="the driver writes all documents: executors cannot",
            detail=f"{self._missing}.",
            hint=f"{self._remedy}; or set parallel: driver at the sinks.",
        )

    def attach(self, session: SparkSession, *, needed: bool, lease: LeaseWatch) -> None:
        """Take a session, and see whether its executors can write.

        Args:
            session: Runs the tasks.
            needed: A sink says `parallel: tasks`.
            lease: Of a query of the run, which they look at before they write.

        Raises:
            TasksMissingError: They cannot, and it is needed.
        """
        self._session = session
        self._missing = _missing(session)
        self._remedy = _HERE if _local(session) else _PACK
        if not self._missing and (unseen := _unseen(session, lease)) is not None:
            self._missing = f"On an executor, {unseen.message}"
            self._remedy = unseen.hint.rstrip(".")
        if self._missing and needed:
            raise TasksMissingError(
                "executors cannot write to sinks",
                detail=f"{self._missing}.",
                hint=f"{self._remedy}; or remove parallel: tasks, then the driver writes.",
            )

    def write(self, work: Sequence[PartWork]) -> Sequence[PartOutcome]:
        """Have each part written by some task."""
        assert self._session is not None  # attached before the first batch
        if not work:
            return ()
        context = self._session.sparkContext
        tasks = min(len(work), context.defaultParallelism)
        try:
            outcomes = context.parallelize(work, tasks).map(write_part).collect()
        except Exception as error:  # a worker that died, or a session that ends
            raise RunError(
                "tasks that write to sinks have failed", detail=f"{_last_line(error)}."
            ) from error
        return outcomes


def _local(session: SparkSession) -> bool:
    return (session.sparkContext.master or "").startswith("local")


def _missing(session: SparkSession) -> str:
    """Return why the executors' Python cannot write; empty where it can."""
    if _is_here(session):
        return ""
    try:
        found = set(_tried(session, _version))
    except Exception as error:  # whatever it is, executors cannot do it
        return f"They have no Python with Joinery: a trial ended with {_last_line(error)}"
    if found == {__version__}:
        return ""
    return f"They have version {', '.join(sorted(found))}, the driver has {__version__}"


def _unseen(session: SparkSession, lease: LeaseWatch) -> RunError | None:
    """Return why the lease cannot be seen from some executor; None where it can from all."""
    if _is_here(session):
        return None
    try:
        found = _tried(session, partial(_look, lease=lease))
    except Exception as error:
        return RunError(f"a look at the lease ended with {_last_line(error)}", hint=_PACK)
    return next((each for each in found if each is not None), None)


def _is_here(session: SparkSession) -> bool:
    """Return whether tasks have the Python and the environment of this process."""
    return _local(session) and session.sparkContext.pythonExec == sys.executable


def _tried(session: SparkSession, work: Callable[[int], _T]) -> list[_T]:
    """Return what tasks make of their numbers, as many as there are cores."""
    context = session.sparkContext
    tasks = context.defaultParallelism
    return context.parallelize(range(tasks), tasks).map(work).collect()


def _version(number: int) -> str:
    """Return the version of Joinery here; on an executor, this module is loaded from its own."""
    return __version__


def _look(number: int, lease: LeaseWatch) -> RunError | None:
    """Return why the lease cannot be seen here; None where it can."""
    try:
        lease.check()
    except RunError as error:
        return error
    return None


def _last_line(error: Exception) -> str:
    """Return what a failed task said, in one line."""
    told = str(getattr(error, "java_exception", error))
    python = f"Python {platform.python_version()}"
    lines = [each.strip() for each in told.splitlines() if "Error:" in each]
    return lines[-1] if lines else f"{type(error).__name__} (the driver has {python})"
