"""What a run warns of: at its start by what is declared, later by what its batches counted."""

from __future__ import annotations

from collections.abc import Iterator

from joinery.errors import JoineryError
from joinery.model.progress import BatchProgress, Progress
from joinery.model.warning import RunWarning
from joinery.plan.nodes import Plan
from joinery.project.product import ProjectSpec
from joinery.sources.warning import spec_warnings


def start_warnings(spec: ProjectSpec, plan: Plan) -> Iterator[RunWarning]:
    """Yield what can be seen before anything is read."""
    yield from (_declared(each) for each in plan.warnings)
    yield from spec_warnings(spec)


def batch_warnings(batch: BatchProgress) -> Iterator[RunWarning]:
    """Yield what a batch counted that someone should look at."""
    for relation, counts in batch.relations.items():
        if wrong := counts.get("wrong_format"):
            yield _wrong_format(relation, wrong, counts.get("read", wrong))
        for counter, (code, message, hint) in _COUNTED.items():
            if counts.get(counter):
                about = f'relation "{relation}"'
                yield RunWarning(code=code, about=about, message=f"{about}: {message}", hint=hint)


def stale_warnings(progress: Progress) -> Iterator[RunWarning]:
    """Yield the relations nearly all of whose latest changes were stale."""
    for relation, each in progress.staleness.items():
        if each.nearly_all:
            about = f'relation "{relation}"'
            yield RunWarning(
                code="WARN_MOSTLY_STALE",
                about=about,
                message=f"{about}: nearly all of its changes are stale",
                detail="By position they are older than what is stored, so they are ignored.",
                hint=_STALE_HINT,
            )


_STALE_HINT = (
    "If its database was restored or replaced, or its topic was given more partitions, positions"
    " began anew: build the documents again (joinery run --rebuild). If an old part of the log is"
    " read again, there is nothing to do."
)


def _wrong_format(relation: str, wrong: int, read: int) -> RunWarning:
    about = f'relation "{relation}"'
    return RunWarning(
        code="WARN_FORMAT",
        about=about,
        message=f"{about}: {wrong:,} of {read:,} records look like debezium-json, not json",
        detail="They are dead letters of the reason wrong_format.",
        hint=f"Write format: debezium-json under {about}, or under defaults; then joinery run"
        " --rebuild reads all anew.",
    )


_COUNTED = {
    "truncates": (
        "WARN_TRUNCATED",
        "its table was truncated at the source, which a change stream cannot replay; its rows"
        " stay in the documents",
        "Delete them there one by one, or start on a fresh checkpoint.",
    ),
    "unavailable_values": (
        "WARN_VALUES_UNAVAILABLE",
        "a change of key left out large values, which are null now",
        "Run ALTER TABLE … REPLICA IDENTITY FULL at the source, then update these rows.",
    ),
}


def _declared(error: JoineryError) -> RunWarning:
    return RunWarning(
        code=error.code,
        about=str(error.location or error.message),
        message=error.message,
        detail=error.detail,
        hint=error.hint,
        location=error.location,
    )
