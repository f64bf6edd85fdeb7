"""Files that stand whole under their name, or not at all.

Invariant: what is under way has a hidden name of its own, `.NAME.part`, which no source reads
and the next attempt overwrites.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import assert_never

from joinery.place.place import Place
from joinery.place.remote_path import RemotePath


def write_whole(file: Place, content: str | bytes, *, synced: bool) -> None:
    """Put `content` in place of `file`; its folder is created where it is missing.

    Args:
        file: One writer at a time.
        content: Text is written as UTF-8.
        synced: Whether the content is on the disk before it has the name, so that `file` is
            whole also after a crash of the machine, not only of the process.
    """
    data = content.encode() if isinstance(content, str) else content
    match file:
        case Path():
            _rename_into_place(file, data, synced=synced)
        case RemotePath():
            file.write(data)
        case _:
            assert_never(file)


def replace_text(file: Path, text: str) -> None:
    """Replace a file that its user keeps: where it is, behind links, and for whom it is to read.

    Args:
        file: Is there; one writer at a time.
        text: Written as UTF-8.
    """
    place = file.resolve()
    part = _part_of(place)
    part.unlink(missing_ok=True)  # of a writer that was killed, maybe for all to read
    part.touch(mode=0o600)
    _rename_into_place(place, text.encode(), synced=True, rights_of=place)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Change what is in a folder while nobody else does who asks for it so; they are waited for.

    Raises:
        OSError: It cannot be read.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_first(file: Place, content: str) -> None:
    """Put a file that nobody has put, durably; its folder is there.

    Args:
        file: On a disk, one writer at a time.
        content: Written as UTF-8.

    Raises:
        FileExistsError: Somebody has.
    """
    match file:
        case Path():
            if file.exists():
                raise FileExistsError(str(file))
            write_whole(file, content, synced=True)
        case RemotePath():
            file.create(content.encode())
        case _:
            assert_never(file)


def _rename_into_place(
    file: Path, content: bytes, *, synced: bool, rights_of: Path | None = None
) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = _part_of(file)
    with part.open("wb") as out:
        out.write(content)
        if synced:
            out.flush()
            os.fsync(out.fileno())
    if rights_of is not None:
        known = rights_of.stat()
        with suppress(PermissionError):  # only the superuser gives files away
            os.chown(part, known.st_uid, known.st_gid)
        part.chmod(stat.S_IMODE(known.st_mode))
    part.replace(file)


def _part_of(file: Path) -> Path:
    return file.with_name(f".{file.name}.part")


def append_decided(
    file: Place, decide: Callable[[bytes], str | None], *, most_bytes: int | None = None
) -> None:
    """Add a line to a file of lines, durably, or not; nobody else adds one meanwhile.

    Args:
        file: Its folder is created where it is missing.
        decide: Given what stands there, returns the line without its end, None for none. May be
            called again, and may then see that line.
        most_bytes: Where the file would grow longer, its older half is left out.
    """
    match file:
        case Path():
            file.parent.mkdir(parents=True, exist_ok=True)
            while not _append_alone(file, decide, most_bytes):
                pass
        case RemotePath():

            def change(before: bytes | None) -> bytes | None:
                line = decide(before or b"")
                return None if line is None else _added(before or b"", _line(line), most_bytes)

            file.update(change)
        case _:
            assert_never(file)


def _append_alone(
    file: Path, decide: Callable[[bytes], str | None], most_bytes: int | None
) -> bool:
    """Add a line as `append_decided` does; return False where another file was put in its place."""
    with file.open("a+b") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        if not os.path.samestat(os.fstat(log.fileno()), file.stat()):
            return False
        before = file.read_bytes()
        if (line := decide(before)) is None:
            return True
        whole = _added(before, _line(line), most_bytes)
        if not whole.startswith(before):
            _rename_into_place(file, whole, synced=True, rights_of=file)
            return True
        log.write(_line(line))
        log.flush()
        os.fsync(log.fileno())
    return True


def _added(before: bytes, line: bytes, most_bytes: int | None) -> bytes:
    """Return lines with one more, without the older half where they would be too long."""
    if most_bytes is None or len(before) + len(line) <= most_bytes:
        return before + line
    newest = before[len(before) // 2 :]
    return newest[newest.find(b"\n") + 1 :] + line


def _line(text: str) -> bytes:
    """Return what adds a line, which is one of its own even after one that a crash cut off."""
    return f"\n{text}\n".encode()


def append_line(file: Place, line: str) -> None:
    """Add a line to a file of lines in one go, as one of its own even after one that was cut off.

    Args:
        file: One writer at a time; its folder is there.
        line: Without its end.
    """
    added = _line(line)
    match file:
        case Path():
            with file.open("ab") as out:
                out.write(added)
        case RemotePath():
            file.update(lambda before: before if _ends(before, added) else (before or b"") + added)
        case _:
            assert_never(file)


def _ends(content: bytes | None, added: bytes) -> bool:
    """Return whether a line stands there already: an update may be told of its own write."""
    return content is not None and content.endswith(added)


def copy_folder(folder: Place, target: Path, left_out: Sequence[str]) -> None:
    """Copy a folder to one of this machine.

    Args:
        folder: What is copied.
        target: Is not there yet.
        left_out: Patterns of the names of files and folders that are not.
    """
    match folder:
        case Path():
            shutil.copytree(folder, target, ignore=shutil.ignore_patterns(*left_out))
        case RemotePath():
            folder.copy_to(target, left_out)
        case _:
            assert_never(folder)


def remove_folder(folder: Place) -> None:
    """Remove a folder and all that is in it, if it is there."""
    match folder:
        case Path():
            if folder.exists():
                shutil.rmtree(folder)
        case RemotePath():
            folder.remove()
        case _:
            assert_never(folder)


def join_synced(parts: Iterable[Path], target: Path) -> Path:
    """Write the bytes of `parts`, one after the other, to `target`, onto the disk; return it."""
    with target.open("wb") as whole:
        for part in parts:
            with part.open("rb") as lines:
                shutil.copyfileobj(lines, whole, 1 << 20)
        whole.flush()
        os.fsync(whole.fileno())
    return target


def sync_folder(folder: Path) -> None:
    """Make the renames in `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
