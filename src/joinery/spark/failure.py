"""Tells why a query failed, what was kept and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from joinery.connect.protocol import FencedError
from joinery.errors import JoineryError, RunError
from joinery.spark.kafka_loss import lost_midway

_LONGEST = 2000
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
    because = f" of {why}" if why else ""
    return QueryFailedError(
        f"Spark's process ended{because}",
        detail=f"{_KEPT} Where one record is the cause, the third start finds it.",
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
        why, hint, code, detail = cause_of(failure), "", QueryFailedError.code, _KEPT
    message = f'query "{name}" failed: {why}'
    return QueryFailedError(message, detail=detail, hint=hint or "Start it again.", code=code)


def cause_of(failure: Exception) -> str:
    """Return the innermost reason of a failure inside Spark, as one line."""
    innermost = next(reasons_of(failure)) or type(failure).__name__
    kind, _, message = innermost.partition(": ")
    return (message if kind.startswith("dev.joinery.") and message else innermost)[:400]


def reasons_of(failure: Exception) -> Iterator[str]:
    """Yield why something failed, as one line each, the innermost reason first."""
    if isinstance(failure, JoineryError):
        yield f"{failure.message}: {failure.detail}"
        return
    told = [" ".join(each.split())[:_LONGEST] for each in _chain(failure)]
    yield from reversed(told)


def _chain(failure: Any) -> Iterator[str]:
    """Yield why something failed, and why that, as texts: PySpark's errors, then the JVM's."""
    while failure is not None:
        java = getattr(failure, "_origin", None) or getattr(failure, "java_exception", None)
        while java is not None:
            yield str(java.toString())
            java = java.getCause()
            failure = None
        if failure is not None:
            yield str(getattr(failure, "_desc", None) or failure)
            failure = getattr(failure, "_cause", None)
