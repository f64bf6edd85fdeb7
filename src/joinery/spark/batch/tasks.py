"""The tasks of a Spark session that write to sinks: Python on the executors, with Joinery in it.

Invariant: whether executors can do it is known before the first batch.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from joinery._version import __version__
from joinery.delivery.task_sink import PartOutcome, PartWork, write_part
from joinery.errors import RunError
from joinery.model.warning import RunWarning
from joinery.place.s3 import require_client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACK = (
    "Pack it (pip install venv-pack && venv-pack -o env.tar.gz), write"
    ' run: {spark: {spark.archives: "env.tar.gz#env"}}, and run with'
    " PYSPARK_PYTHON=./env/bin/python"
)
_HERE = f"Set PYSPARK_PYTHON={sys.executable} before the session is made"


class TasksMissingError(RunError):
    """Executors are to write, and lack what they need for it."""

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
            message="the driver writes all documents: executors have no Python with Joinery",
            detail=f"{self._missing}.",
            hint=f"{self._remedy}; or set parallel: driver at the sinks.",
        )

    def attach(self, session: SparkSession, *, needed: bool, in_store: bool) -> None:
        """Take a session, and see whether its executors can write.

        Args:
            session: Runs the tasks.
            needed: A sink says `parallel: tasks`.
            in_store: The checkpoint is in an object store, where they look at the lease.

        Raises:
            TasksMissingError: They cannot, and it is needed.
        """
        self._session = session
        self._missing = _missing(session, in_store=in_store)
        self._remedy = _HERE if _local(session) else _PACK
        if self._missing and needed:
            raise TasksMissingError(
                "executors cannot write to sinks: they have no Python with Joinery",
                detail=f"{self._missing}.",
                hint=f"{self._remedy}; or leave parallel: tasks out, then the driver writes.",
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


def _missing(session: SparkSession, *, in_store: bool) -> str:
    """Return why the executors' Python cannot write; empty where it can."""
    context = session.sparkContext
    if _local(session) and context.pythonExec == sys.executable:
        return ""
    tasks = context.defaultParallelism
    try:
        asked = partial(_version, in_store=in_store)
        found = set(context.parallelize(range(tasks), tasks).map(asked).collect())
    except Exception as error:  # whatever it is, executors cannot do it
        return f"A trial ended with {_last_line(error)}"
    if found == {__version__}:
        return ""
    return f"They have version {', '.join(sorted(found))}, the driver has {__version__}"


def _version(number: int, *, in_store: bool) -> str:
    """Return the version of Joinery here; on an executor, this module is loaded from its own.

    Raises:
        RunError: A store is to be asked, and its client is not installed here.
    """
    if in_store:
        require_client()
    return __version__


def _last_line(error: Exception) -> str:
    """Return what a failed task said, in one line."""
    told = str(getattr(error, "java_exception", error))
    python = f"Python {platform.python_version()}"
    lines = [each.strip() for each in told.splitlines() if "Error:" in each]
    return lines[-1] if lines else f"{type(error).__name__} (the driver has {python})"
