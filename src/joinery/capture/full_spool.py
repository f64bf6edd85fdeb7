"""Tells a capture that ended while the disk of its spool was full why, and where to make room."""

from __future__ import annotations

from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.place.full_disk import full_disk


def full_spool(spool: SpoolFolder, said: str) -> CaptureError | None:
    """Return that the disk of a spool is full; None where it is not.

    Args:
        spool: Captured into.
        said: Why the capture ended.
    """
    full = full_disk(spool.path)
    if not full:
        return None
    return CaptureError(
        full,
        detail=f"The capture ended: {said}. All that was captured is kept.",
        hint="Make room there and start it again: it continues where it stopped.",
        code="RUN_DISK",
    )
