"""Tells a disk that is full, and where."""

from __future__ import annotations

import shutil
from pathlib import Path

from joinery.place.place import Place

_LEAST_BYTES = 64 << 10


def full_disk(folder: Place) -> str:
    """Return that the disk of a folder is full, in words; empty where it is not, or no disk's."""
    if not isinstance(folder, Path):
        return ""
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return ""
    return f"the disk of {folder} is full" if free < _LEAST_BYTES else ""
