"""Tells a run that failed while a disk was full why, and where to make room."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from joinery.errors import JoineryError, RunError, SpecError
from joinery.place.full_disk import full_disk
from joinery.place.place import Place
from joinery.sinks.protocol import FencedError
from joinery.spark.recovery.attempt import cause_of


class DiskFullError(RunError):
    """A run failed, and one of its disks is full."""

    code = "RUN_DISK"


Failure = TypeVar("Failure", bound=Exception)


def of_full_disk(failure: Failure, folders: Iterable[Place]) -> Failure | DiskFullError:
    """Return a failure as that of a full disk, where one of these folders has no room."""
    full = next(filter(None, map(full_disk, folders)), "")
    if not full or isinstance(failure, SpecError | FencedError):
        return failure
    why = failure.message if isinstance(failure, JoineryError) else cause_of(failure)
    return DiskFullError(
        full,
        detail=f"The run ended: {why.rstrip('.')}. All that was committed is kept.",
        hint="Make room there and start it again: it continues where it stopped.",
    )
