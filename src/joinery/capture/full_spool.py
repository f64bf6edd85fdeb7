"""Tells a capture that ended for want of room in its spool why, and where to make room."""

from __future__ import annotations

import re

from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.place.full_disk import full_disk

# As the system says it, with or without a path; a database says the same of its own disk.
_NO_ROOM = re.compile(
    r"(?:\[Errno \d+\] )?(?:(?P<before>/.*): )?"
    r"(?:No space left on device|Disk quota exceeded)(?:: '(?P<after>.*)')?"
)


def full_spool(spool: SpoolFolder, said: str) -> CaptureError | None:
    """Return that a spool has no room; None where it has.

    A disk has none either where its inodes, or what its user may have of it, are used up.

    Args:
        spool: Captured into.
        said: Why the capture ended.
    """
    full = full_disk(spool.path)
    if not full and _lacks_room(spool, said):
        full = f"the disk of {spool.path} has no room left"
    if not full:
        return None
    return CaptureError(
        full,
        detail=f"The capture ended: {said}. All that was captured is kept.",
        hint="Make room there (bytes, inodes, the user's quota) and start it again: it continues"
        " where it stopped.",
        code="RUN_DISK",
    )


def _lacks_room(spool: SpoolFolder, said: str) -> bool:
    found = _NO_ROOM.fullmatch(said)
    path = found and (found["before"] or found["after"])
    return found is not None and (not path or path.startswith(str(spool.path)))
