"""Tells why a query failed, what was kept and what to do."""

from __future__ import annotations

from typing import Any

from joinery.connect.protocol import FencedError
from joinery.errors import JoineryError, RunError


class QueryFailedError(RunError):
    """A query ended before its time."""

    code = "RUN_QUERY"


def failed_query(name: str, failure: Exception) -> JoineryError:
    """Return a failure as one that tells why, what was kept and what to do."""
    if isinstance(failure, FencedError):
        return failure
    kept = (
        "All batches before this one are kept; this one was not committed"
        " and runs again at the next start."
    )
    if isinstance(failure, JoineryError):
        why, hint, code = failure.message, failure.hint, failure.code
        detail = f"{failure.detail} {kept}".strip()
    else:
        why, hint, code, detail = cause_of(failure), "", QueryFailedError.code, kept
    message = f'query "{name}" failed: {why}'
    return QueryFailedError(message, detail=detail, hint=hint or "Start it again.", code=code)


def cause_of(failure: Exception) -> str:
    """Return the innermost reason of a failure inside Spark, as one line."""
    java: Any = getattr(failure, "_origin", None) or getattr(failure, "java_exception", None)
    if java is None:
        return " ".join(str(failure).split())[:400] or type(failure).__name__
    while java.getCause() is not None:
        java = java.getCause()
    ours = str(java.getClass().getName()).startswith("dev.joinery.")
    return " ".join(str(java.getMessage() if ours else java.toString()).split())[:400]
