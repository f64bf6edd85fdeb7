"""A file or folder on a disk, in an object store or in HDFS.

What is only ever on a disk says so by asking for `local`, and refuses the rest by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from joinery.errors import RunError
from joinery.place.remote_path import RemotePath

Place = Path | RemotePath
"""Both read alike; what writes, `joinery.files`, tells them apart."""

RENEWAL_ANSWER_S = 4.0


class LocalOnlyError(RunError):
    """Something needs a checkpoint on a disk, and it is in an object store or HDFS."""

    code = "RUN_LOCAL_ONLY"


def local(place: Place, what: str) -> Path:
    """Return a place that is on a disk.

    Args:
        place: Below the checkpoint.
        what: What needs that, as the beginning of a sentence.

    Raises:
        LocalOnlyError: It is not.
    """
    if isinstance(place, Path):
        return place
    raise local_only(what, place)


def local_only(what: str, place: RemotePath) -> LocalOnlyError:
    """Return the error for what needs a checkpoint on a disk, where it is not."""
    return LocalOnlyError(
        f"{what} needs a checkpoint on a disk, and run.checkpoint is at {place.options.scheme}://",
        hint="Set run.checkpoint to a folder that the driver and all executors see.",
    )


def with_short_patience(place: Place, *, tries: int, answer_s: float = RENEWAL_ANSWER_S) -> Place:
    """Return a place of which an answer is worth little once it is as old as a lease's lapse.

    Of two tries one may be lost, and a lease that is renewed every 2 s does not lapse in 10 s.
    """
    return place if isinstance(place, Path) else place.within(answer_s, tries)


def is_cheap_to_read(place: Place) -> bool:
    """Return whether a look costs nothing; a store counts requests."""
    return isinstance(place, Path)


def look_every_s(place: Place) -> float:
    """Return how often a run looks for what somebody asks there; a store counts requests."""
    return 0.5 if isinstance(place, Path) else 5.0


def numbers_in(folder: Place) -> set[int]:
    """Return the numbers that name what is in a folder; none where it is not there."""
    found: Iterable[Place] = folder.iterdir() if folder.is_dir() else ()
    return {int(each.name) for each in found if each.name.isdigit()}


def matching(folder: Place, pattern: str) -> list[Place]:
    """Return the files below a folder whose names match a pattern, in order."""
    found: Iterable[Place] = folder.glob(pattern)
    return sorted(found, key=str)
