"""Marks: the state of a batch, kept for longer than a checkpoint keeps it.

A mark is a folder in the checkpoint that looks like a checkpoint of one batch: what was logged of
the batch is copied, the files that its state needs are linked. Nobody changes such a file, so a
mark costs the bytes that the run would have removed since.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from joinery.errors import RunError
from joinery.model.marks import KeptMarks
from joinery.place.place import numbers_in
from joinery.spark.recovery.checkpoint import batch_time_ms

_MARKS = "joinery.marks"
_VERSION = re.compile(r"(\d+)(?:_[^.]+)?\.(zip|changelog)")
_NOTES = ("metadata", "joinery.json")
_TRIES = 3
_LEFT_S = 86_400  # Nobody takes so long to make a mark.


class MarkError(RunError):
    """The state of a batch could not be marked."""

    code = "RUN_MARK"


@dataclass(frozen=True, slots=True)
class Mark:
    """A batch whose state is kept.

    Attributes:
        batch: Its number.
        at_ms: When it was, in milliseconds since 1970.
        folder: What has its state, as a checkpoint of that batch alone.
    """

    batch: int
    at_ms: int
    folder: Path


def marks_of(checkpoint: Path) -> list[Mark]:
    """Return the marks of a checkpoint, by their batches."""
    found = []
    for batch in sorted(numbers_in(checkpoint / _MARKS)):
        folder = checkpoint / _MARKS / str(batch)
        with suppress(FileNotFoundError):  # it goes now
            found.append(Mark(batch, batch_time_ms(folder, batch), folder))
    return found


def marked(checkpoint: Path, batch: int) -> Path | None:
    """Return the folder that has the state of a batch; None where it is not marked."""
    folder = checkpoint / _MARKS / str(batch)
    return folder if folder.exists() else None


def has_state(checkpoint: Path) -> bool:
    """Return whether a query has committed a batch and keeps state in files; an outbox does not."""
    return bool(numbers_in(checkpoint / "commits") and numbers_in(checkpoint / "state"))


def mark_last(checkpoint: Path, keep: int) -> Mark:
    """Mark the last batch that was committed, beside its run or without one.

    Args:
        checkpoint: Of a query, on a disk.
        keep: How many marks stay, this one among them; the oldest go.

    Raises:
        MarkError: There is no such batch.
    """
    _sweep(checkpoint / _MARKS)
    for _ in range(_TRIES):
        if not has_state(checkpoint):
            raise MarkError(
                f'query "{checkpoint.name}" has no state in files',
                detail="It has run no batch, remembers nothing, or keeps its state in a store.",
            )
        batch = max(numbers_in(checkpoint / "commits"))
        try:
            folder = _made(checkpoint, batch)
        except FileNotFoundError:  # removed meanwhile by the run, which is far ahead
            continue
        for each in sorted(numbers_in(checkpoint / _MARKS))[:-keep]:
            _remove(checkpoint / _MARKS / str(each))
        return Mark(batch, batch_time_ms(folder, batch), folder)
    raise MarkError(
        f'state of query "{checkpoint.name}" was gone before it was marked', hint="Try again."
    )


def mark_if_due(checkpoint: Path, every_ms: int, keep: int) -> None:
    """Mark the last batch if it is so much later than the last one that was marked.

    Args:
        checkpoint: Of a query, on a disk.
        every_ms: How much later, in milliseconds.
        keep: As for `mark_last`.

    Raises:
        MarkError: Its state was gone before it was marked.
        OSError: The mark could not be made, as on a full disk.
    """
    if not has_state(checkpoint):
        return
    marks, last = marks_of(checkpoint), max(numbers_in(checkpoint / "commits"))
    if not marks or batch_time_ms(checkpoint, last) >= marks[-1].at_ms + every_ms:
        mark_last(checkpoint, keep)


def kept_marks(checkpoint: Path) -> KeptMarks | None:
    """Return what there is of marks, in short; None where there are none."""
    if not (marks := marks_of(checkpoint)):
        return None
    held = sum(bytes_by_mark(checkpoint).values())
    last = marks[-1]
    return KeptMarks(count=len(marks), batch=last.batch, at=last.at_ms / 1000, bytes=held)


def bytes_by_mark(checkpoint: Path) -> Mapping[int, int]:
    """Return by marked batch how many bytes are free once its mark goes, after all older ones.

    So the sum is what would be free without marks.
    """
    links: Counter[int] = Counter()
    found: dict[int, tuple[int, os.stat_result]] = {}
    batches = sorted(numbers_in(checkpoint / _MARKS))
    for batch in batches:
        for stat in _stats(checkpoint / _MARKS / str(batch)):
            links[stat.st_ino] += 1
            found[stat.st_ino] = batch, stat
    held = dict.fromkeys(batches, 0)
    for inode, (batch, stat) in found.items():
        if stat.st_nlink == links[inode]:
            held[batch] += stat.st_size
    return held


def _stats(folder: Path) -> Iterator[os.stat_result]:
    for path, _, files in os.walk(folder):
        for file in files:
            with suppress(FileNotFoundError):  # of a mark that goes now
                yield Path(path, file).stat()


def _made(checkpoint: Path, batch: int) -> Path:
    folder = checkpoint / _MARKS / str(batch)
    if folder.exists():
        return folder
    made = folder.with_name(f".{batch}.{os.getpid()}")
    try:
        _fill(made, checkpoint, batch)
        made.rename(folder)
    except OSError:
        if not folder.exists():  # else another has marked it meanwhile
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder


def _fill(made: Path, checkpoint: Path, batch: int) -> None:
    for kind in ("offsets", "commits"):
        (made / kind).mkdir(parents=True)
        shutil.copy2(checkpoint / kind / str(batch), made / kind / str(batch))
    for note in _NOTES:
        shutil.copy2(checkpoint / note, made / note)
    for file in _files(checkpoint / "state", batch + 1):
        linked = made / file.relative_to(checkpoint)
        linked.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, linked)
        except FileNotFoundError:
            raise
        except OSError:  # a file system without links, or one that does not let this user make any
            shutil.copyfile(file, linked)


def _remove(mark: Path) -> None:
    """Remove a mark; one that is removed in part is none."""
    going = mark.with_name(f".{mark.name}.{os.getpid()}")
    with suppress(FileNotFoundError):  # another removes it
        mark.rename(going)
        shutil.rmtree(going, ignore_errors=True)


def _sweep(marks: Path) -> None:
    """Remove what is left of commands that were killed."""
    for each in marks.glob(".*"):
        with suppress(FileNotFoundError):
            if time.time() - each.stat().st_ctime > _LEFT_S:
                shutil.rmtree(each, ignore_errors=True)


def _files(state: Path, version: int) -> Iterator[Path]:
    """Yield the files of all partitions that a version of the state needs."""
    for operator in numbers_in(state):
        for number in numbers_in(state / str(operator)):
            for file in _files_of(state / str(operator) / str(number), version):
                yield file
                check = file.with_name(f".{file.name}.crc")
                if check.exists():
                    yield check


def _files_of(partition: Path, version: int) -> Iterator[Path]:
    """Yield those of one: whole states and the changes since, one more of these than it takes.

    The last whole state may be one that a batch left which ran again; nothing follows on it.
    """
    versions = {file: found for file in partition.iterdir() if (found := _version(file))}
    whole = sorted({at for at, kind in versions.values() if kind == "zip" and at <= version})
    first = whole[-2] if len(whole) > 1 else 0
    tables: set[str] = set()
    for file, (at, kind) in versions.items():
        if first <= at <= version:
            yield file
            tables |= _tables(file) if kind == "zip" else set()
    yield from (partition / "SSTs" / each for each in tables)


def _version(file: Path) -> tuple[int, str] | None:
    found = _VERSION.fullmatch(file.name)
    return (int(found[1]), found[2]) if found else None


def _tables(whole: Path) -> set[str]:
    """Return the names of the tables that a whole state has outside of its archive."""
    with ZipFile(whole) as archive:
        told = json.loads(archive.read("metadata").decode().partition("\n")[2])
    return {each["dfsSstFileName"] for each in told["sstFiles"]}
