"""Has captures in the process of the tests take Java's classes from an archive (JEP 350).

The first capture of each kind leaves it as it ends, in the folder of this Python environment: a
third of what a capture costs is the loading of its classes. Each belongs to one Java and one set
of jars.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import psutil
import pytest

from joinery.capture import program
from joinery.capture.program import Plugin

_FOLDER = Path(sys.prefix) / "share" / "joinery"
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")
_real = program.command
_numbers = count()


def install(patch: pytest.MonkeyPatch) -> None:
    """Have captures that are started in this process leave and take archives from here on."""
    patch.setattr("joinery.capture.capture.command", _command)


def _command(ours: Path, plugin: Plugin) -> list[str]:
    java, *rest = _real(ours, plugin)
    return [java, *_options(java, rest), *rest]


def _options(java: str, rest: Sequence[str]) -> Sequence[str]:
    """Return with which options a command takes its archive, or leaves it."""
    known = [java, *rest, *(_changed_at(each) for each in rest[rest.index("-cp") + 1].split(":"))]
    name = hashlib.sha256(" ".join(map(str, known)).encode()).hexdigest()[:16]
    file = _FOLDER / f"capture-{name}.jsa"
    for part in _FOLDER.glob(f"{file.stem}.{os.getpid()}-*"):
        if _whole(part):
            part.replace(file)
    if file.exists():
        return (f"-XX:SharedArchiveFile={file}", *_QUIET)
    part = file.with_suffix(f".{os.getpid()}-{next(_numbers)}")
    return (f"-XX:ArchiveClassesAtExit={part}", *_QUIET) if _chosen(file) else ()


def _changed_at(jar: str) -> int:
    return Path(jar).stat().st_mtime_ns


def _whole(archive: Path) -> bool:
    """Return whether Java has written an archive to its end: the head comes last."""
    try:
        with archive.open("rb") as file:
            return any(file.read(4))
    except FileNotFoundError:
        return False


def _chosen(archive: Path) -> bool:
    """Return whether this is the process of all that leaves an archive."""
    claim = archive.with_suffix(".claim")
    claim.parent.mkdir(parents=True, exist_ok=True)
    try:
        with claim.open("x") as file:
            file.write(str(os.getpid()))
        return True
    except FileExistsError:
        return _owner(claim) == os.getpid()


def _owner(claim: Path) -> int:
    """Return which process has a claim; one that has ended has it no longer."""
    try:
        owner = int(claim.read_text() or 0)
    except FileNotFoundError:  # another process has just removed it
        return 0
    if owner and not psutil.pid_exists(owner):
        claim.unlink(missing_ok=True)
    return owner
