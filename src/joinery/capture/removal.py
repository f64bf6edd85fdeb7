"""Removes a spool at once, however that is broken off.

One that lacks some of its files would be taken for one that has all. So it is moved aside whole;
one that cannot be, such as a disk of its own, is emptied, of what says that it has all first.
"""

from __future__ import annotations

import shutil
from pathlib import Path

_DROPPED = ".dropped"
_FIRST = ("source.json", "position.json", "files")
_OF_DISK = "lost+found"


def remove_spool(folder: Path) -> bool:
    """Remove a spool; return whether it was there.

    The folder stays where it is a mount point, where a link leads to it, and where it lies in one
    of another user.

    Raises:
        OSError: A part of it cannot be removed.
    """
    place = folder.resolve()
    aside = place.with_name(f".{place.name}{_DROPPED}")
    shutil.rmtree(aside, ignore_errors=True)  # what is left of one that was broken off
    found = place.is_dir() and bool(_content(place))
    if found:
        try:
            place.rename(aside)
        except OSError:
            _empty(place)
            return True
    if folder.is_symlink():
        place.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(aside, ignore_errors=not found)
    return found


def _empty(place: Path) -> None:
    aside = place / _DROPPED
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    for each in _content(place):
        if each != aside:
            each.rename(aside / each.name)
    shutil.rmtree(aside)


def _content(place: Path) -> list[Path]:
    """Return what is in a spool, in the order in which it can be taken away."""
    found = {each.name: each for each in place.iterdir() if each.name != _OF_DISK}
    first = [found.pop(name) for name in _FIRST if name in found]
    return [*first, *found.values()]
