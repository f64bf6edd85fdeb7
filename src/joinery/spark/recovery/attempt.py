"""Remembers how often a batch could not be worked off, so that a third attempt looks first.

Only failures of the work itself count: not those of sinks, and not a run that was stopped.

Invariant: a batch that went through leaves no trace.

Tells why a query failed, what was kept and what to do.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from joinery.errors import JoineryError, RunError, SpecError
from joinery.files import write_whole
from joinery.lookups.protocol import LookupUnavailableError
from joinery.place.place import Place
from joinery.sinks.protocol import FencedError
from joinery.solutions.stored.state import StoreError
from joinery.spark.source.kafka_client import lost_midway

_LONGEST = 2000
_AWAY = {
    "dev.joinery.kernel.format.RegistryError",
    "dev.joinery.kernel.ingress.VaultError",
}
_WORKER = "org.apache.spark.api.python.PythonException"
_SILENT = re.compile(r"(java|scala)[\w.$]+")
_FRAMES = "Traceback (most recent call last):"
_OTHER_PYTHON = (
    f"Have Spark's workers run a Python that has it: PYSPARK_PYTHON={sys.executable}, for one."
)
_KEPT = (
    "All batches before this one are kept; this one was not committed"
    " and runs again at the next start."
)


class QueryFailedError(RunError):
    """A query ended before its time."""

    code = "RUN_QUERY"


def spark_died(failure: Exception) -> bool:
    """Return whether a failure means that Spark's own process is gone."""
    from py4j.protocol import Py4JNetworkError

    return isinstance(failure, ConnectionError | Py4JNetworkError)


def died(why: str) -> QueryFailedError:
    """Return the error of a run whose Spark died; `why` is what its last batch failed of."""
    because = f": {why}" if why else ""
    return QueryFailedError(
        f"Spark's process ended{because}",
        detail=f"{_KEPT} If one record is the cause, the third start finds it.",
        hint="Start it again; if memory is short, raise spark.driver.memory under run.spark.",
    )


def failed_query(name: str, failure: Exception) -> JoineryError:
    """Return a failure as one that tells why, what was kept and what to do."""
    if isinstance(failure, FencedError):
        return failure
    failure = lost_midway(reasons_of(failure)) or failure
    if isinstance(failure, JoineryError):
        why, hint, code = failure.message, failure.hint, failure.code
        detail = f"{failure.detail} {_KEPT}".strip()
    else:
        why, code, detail = cause_of(failure), QueryFailedError.code, _KEPT
        hint = _OTHER_PYTHON if why.startswith("ModuleNotFoundError") else ""
    message = f'query "{name}" failed: {why}'
    return QueryFailedError(message, detail=detail, hint=hint or "Start it again.", code=code)


def stopped_query(name: str) -> JoineryError:
    """Return what tells that a query ended which nobody asked the run to end."""
    return QueryFailedError(
        f'query "{name}" was stopped from outside the run',
        detail="Someone called stop() on Spark's own query. The next run reads again what was not"
        " committed.",
        hint="Start it again; to stop it, stop the run itself.",
    )


def cause_of(failure: Exception) -> str:
    """Return the innermost reason of a failure inside Spark, as one line.

    One of Java's that says nothing, such as the end of a stream from a Python process that is
    gone, is passed over for what it was told as.
    """
    reasons = [*reasons_of(failure)]
    told = (each for each in reasons if not _SILENT.fullmatch(each))
    innermost = next(told, reasons[0]) or type(failure).__name__
    kind, _, message = innermost.partition(": ")
    return (message if kind.startswith("dev.joinery.") and message else innermost)[:400]


def reasons_of(failure: Exception) -> Iterator[str]:
    """Yield why something failed, as one line each, the innermost reason first."""
    if isinstance(failure, JoineryError):
        yield f"{failure.message}: {failure.detail}"
        return
    told = [" ".join(_raised(*each).split())[:_LONGEST] for each in links_of(failure)]
    yield from reversed(told)


def _raised(kind: str, text: str) -> str:
    """Return what a failure says: of one in a Python worker what it raised, below its frames.

    Of several lines the first names the error; those after it may quote a record.
    """
    _, traced, below = text.rpartition(_FRAMES)
    if kind != _WORKER or not traced:
        return text
    lines = [each for each in below.splitlines() if each and not each[0].isspace()]
    return lines[0] if lines else text


def links_of(failure: Any) -> Iterator[tuple[str, str]]:
    """Yield the kind of a failure and what it says, then those of its cause, to the innermost.

    The kind is the name of a class: what a failure says may quote anybody's words.
    """
    while failure is not None:
        java = getattr(failure, "_origin", None) or getattr(failure, "java_exception", None)
        while java is not None:
            yield _told(str(java.toString()))
            java = java.getCause()
            failure = None
        if (text := getattr(failure, "_desc", None)) is not None:  # PySpark's, of one of Java's
            yield _told(str(text))
        elif failure is not None:
            yield type(failure).__name__, str(failure)
        failure = getattr(failure, "_cause", None)


def _told(text: str) -> tuple[str, str]:
    """Return the class that the text of an exception of Java begins with, and the text."""
    return text.partition(":")[0], text


def is_away(failure: Exception) -> bool:
    """Return whether a batch failed of something that it asks and is away: no record's fault."""
    return isinstance(failure, LookupUnavailableError) or any(
        kind in _AWAY for kind, _ in links_of(failure)
    )


ENOUGH = 2
_LAST_WORDS_S = 3.0
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of one batch.

    Attributes:
        batch_id: The batch.
        count: How often it failed in a row.
        why: The last reason.
        searched: Whether its records were searched for poison already.
    """

    batch_id: int
    count: int
    why: str
    searched: bool = False


class Attempts:
    """The attempts of one query at its next batch.

    Args:
        root: The folder of the query's checkpoint folder.
        query: The query's name.
    """

    def __init__(self, root: Place, query: str) -> None:
        self._file = root / "_attempts" / f"{query}.json"
        self._counting = threading.Lock()
        self._at_work: int | None = None

    @contextmanager
    def at_work(self, batch_id: int, counts: Callable[[], bool]) -> Iterator[None]:
        """Do a batch's own work in a block: forget its failures, or count one.

        A store, a schema registry or a vault that is away, also the store of a lookup, and a
        project that is wrong are not failures of the work.

        Args:
            batch_id: The batch.
            counts: Asked after a failure; False for a run that is to end.
        """
        self._at_work = batch_id
        try:
            yield
        except (StoreError, SpecError):
            self._at_work = None
            raise
        except Exception as error:
            self._ended(cause_of(error) if counts() and not is_away(error) else None)
            raise
        self._at_work = None
        self.passed()

    def died(self) -> None:
        """Count the batch at work as failed: Spark's process is gone under it.

        The thread that does the work knows why, and is waited for; it may hang with Spark.
        """
        until = time.monotonic() + _LAST_WORDS_S
        while self._at_work is not None and time.monotonic() < until:
            time.sleep(_POLL_S)
        self._ended("")

    def _ended(self, why: str | None) -> None:
        """End the work by a failure, which is counted once whoever tells it first."""
        with self._counting:
            batch_id, self._at_work = self._at_work, None
            if batch_id is not None and why is not None:
                self.failed(batch_id, why)

    def read(self) -> Failures | None:
        """Return what is remembered."""
        try:
            return Failures(**json.loads(self._file.read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError):
            return None

    def failed(self, batch_id: int, why: str) -> None:
        """Count a failure."""
        stood = self.read()
        same = stood is not None and stood.batch_id == batch_id
        count = stood.count + 1 if stood and same else 1
        searched = bool(stood and same and stood.searched)
        self._write(Failures(batch_id, count, why, searched))

    def searched(self, failures: Failures) -> None:
        """Note that the batch's records were searched."""
        self._write(Failures(failures.batch_id, failures.count, failures.why, searched=True))

    def passed(self) -> None:
        """Forget the failures: the batch went through."""
        self._file.unlink(missing_ok=True)

    def _write(self, failures: Failures) -> None:
        write_whole(self._file, json.dumps(asdict(failures)), synced=False)
