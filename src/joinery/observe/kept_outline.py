"""The outlines of projects, kept in the user's cache, so that files are read once, not each time.

To read a project of a hundred products takes several times as long as to look at its runs.

Invariant: an outline is used only for the very files, in the same folder and under the same
environment variables, that this version of Joinery made it of. What cannot be read, or kept, is
as if it had never been there.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from joinery._version import __version__
from joinery.files import write_whole
from joinery.observe.outline import Outline
from joinery.place.cache import cache_folder
from joinery.project.folder import yaml_files

_FORMAT = 2  # another one where an outline means something else in the same version
_KEPT = 20


def load_outline(file: Path) -> Outline:
    """Return the outline of a project, of which nothing is read that was read before.

    Args:
        file: A project file, or a folder of them.

    Raises:
        ProjectErrors: The files have problems.
    """
    place = _place(file)
    known = None if place is None else _read(place)
    if known is not None:
        return known
    from joinery.project.load import load_spec, variables_of

    spec = load_spec(file)
    outline = Outline.of(spec)
    if place is not None and outline.on_disk and place == _place(file):  # not edited meanwhile
        _keep(place, outline, sorted(variables_of(spec)))
    return outline


def _place(project: Path) -> Path | None:
    """Return where the outline of the files is kept that are there now; None where none can be."""
    try:
        files = yaml_files(project) if project.is_dir() else [project]
        texts = {str(each.absolute()): each.read_bytes() for each in files}
        made_of = (__version__, _FORMAT, str(project.absolute()), str(Path.home()), texts)
        name = sha256(repr(made_of).encode()).hexdigest()
        return cache_folder() / "outlines" / f"{name}.json"
    except (OSError, ValueError, RuntimeError):  # a path with a NUL, a user without a home
        return None


def _read(place: Path) -> Outline | None:
    try:
        checksum, _, text = place.read_text(encoding="utf-8").partition("\n")
        if checksum != _checksum(text):
            return None
        told = json.loads(text)
        if told["environment"] != _environment(told["variables"]):
            return None
        return Outline.of_json(told["outline"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _keep(place: Path, outline: Outline, variables: list[str]) -> None:
    """Keep an outline beside the newest others, readable for this user alone."""
    told = {
        "variables": variables,
        "environment": _environment(variables),
        "outline": outline.to_json(),
    }
    text = json.dumps(told)
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(place, f"{_checksum(text)}\n{text}", synced=False)
        newest_first = sorted(place.parent.glob("*.json"), key=lambda each: -each.stat().st_mtime)
        for old in newest_first[_KEPT:]:
            old.unlink()


def _environment(variables: list[str]) -> str:
    return _checksum(repr([(each, os.environ.get(each)) for each in variables]))


def _checksum(text: str) -> str:
    return sha256(text.encode()).hexdigest()
