"""Which documents of dead letters come too late: what was sent since may be newer, or a delete.

A sink that keeps the newest document of each key refuses what is older than a document that it
holds or a delete that it remembers, and remembers deletes for a time. A log takes whatever comes,
and a reader or a compaction that goes by the last record would have the old document back, so the
log is read first.

Limits: what a run sends while the log is read is not seen, and a log that cannot be read, such as
that of a function, is not compared. A sink remembers deletes as long as the project says now.

Invariant: a document is sent only where no delete that came after it can have been forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence

from joinery.project.quantity import duration_text
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import LogVersions, Sink, StagedBatch, log_of


def overtaken(
    sink: Sink,
    batch: StagedBatch,
    rows: Sequence[StagedRow],
    *,
    deletes_ms: int | None,
    now_us: int,
) -> dict[str, str]:
    """Return the keys whose documents come too late, with the reason.

    Args:
        sink: Opened.
        batch: Names the product and its key's columns.
        rows: The documents, each key once.
        deletes_ms: How long the sink remembers a delete, in milliseconds; None where the product
            deletes nothing.
        now_us: Microseconds since 1970.
    """
    log = log_of(sink)
    if log is None:
        found = LogVersions(highest={}, deletes_ms=deletes_ms)
    else:
        found = log.log_versions(batch, [each.key for each in rows])
    kept_ms = None if deletes_ms is None else found.deletes_ms
    forgotten = 0 if kept_ms is None else now_us - kept_ms * 1000
    reasons: dict[str, str] = {}
    for row in rows:
        standing = found.highest.get(row.key)
        if standing is not None and standing > row.version:
            reasons[row.key] = _newer(sink.target, row.version, standing)
        elif standing is None and row.version < forgotten:
            reasons[row.key] = _perhaps_deleted(sink.target, kept_ms or 0)
    return reasons


def _newer(target: str, version: int, standing: int) -> str:
    return (
        f"{target} has version {standing} of it, which is newer than {version}."
        " Drop the dead letter."
    )


def _perhaps_deleted(target: str, kept_ms: int) -> str:
    return (
        f"its root may have been deleted since: it is older than {duration_text(kept_ms)}, for"
        f" which {target} remembers deletes. Have all documents sent again by joinery run"
        " --rebuild, or what differs by joinery diff --repair, which supports some sinks."
    )
