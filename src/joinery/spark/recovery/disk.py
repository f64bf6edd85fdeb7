"""Tells a run that failed while a disk was full why, and where to make room."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import TypeVar

from joinery.errors import JoineryError, RunError, SpecError
from joinery.place.full_disk import full_disk
from joinery.place.place import Place
from joinery.sinks.protocol import FencedError
from joinery.spark.recovery.attempt import QueryFailedError, cause_of

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_WORDS = ("No space left on device", "disk is full", "quota exceeded")


class DiskFullError(RunError):
    """A run failed, and one of its disks is full."""

    code = "RUN_DISK"


Failure = TypeVar("Failure", bound=Exception)


def of_full_disk(failure: Failure, folders: Iterable[Place]) -> Failure | DiskFullError:
    """Return a failure as that of a full disk, where one of these folders has no room.

    One that has a code of its own and does not speak of room keeps it: its detail tells the disk.
    """
    full = next(filter(None, map(full_disk, folders)), "")
    if not full or isinstance(failure, SpecError | FencedError):
        return failure
    if isinstance(failure, JoineryError) and not _may_lack_room(failure):
        failure.detail = f"{failure.detail} Besides, {full}.".lstrip()
        return failure
    why = failure.message if isinstance(failure, JoineryError) else cause_of(failure)
    return DiskFullError(
        full,
        detail=f"The run ended: {why.rstrip('.')}. All that was committed is kept.",
        hint="Make room there and start it again: it continues where it stopped.",
    )


def _may_lack_room(failure: JoineryError) -> bool:
    """Return whether a failure names no other cause, or speaks of a disk without room."""
    if failure.code in (RunError.code, QueryFailedError.code):
        return True
    cause: BaseException | None = failure
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _NO_ROOM:
            return True
        cause = cause.__cause__
    return any(each in f"{failure.message} {failure.detail}" for each in _WORDS)
