"""Files that stand whole under their name, or not at all.

Invariant: what is under way has a hidden name of its own, `.NAME.part`, which no source reads
and the next attempt overwrites.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path


def write_whole(file: Path, content: str | bytes, *, synced: bool) -> None:
    """Put `content` in place of `file` by a rename; its folder is created where it is missing.

    Args:
        file: One writer at a time.
        content: Text is written as UTF-8.
        synced: Whether the content is on the disk before it has the name, so that `file` is
            whole also after a crash of the machine, not only of the process.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.part")
    with part.open("wb") as out:
        out.write(content.encode() if isinstance(content, str) else content)
        if synced:
            out.flush()
            os.fsync(out.fileno())
    part.replace(file)


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
