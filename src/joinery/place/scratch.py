"""Where a run whose checkpoint is in an object store or HDFS keeps what is of its machine alone.

Invariant: runs on two checkpoints never share a folder, whose leases keep neither out.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from joinery.place.remote_path import RemotePath

_FOLDER = ".joinery/local"
_DIGITS = 16


def scratch_of(checkpoint: RemotePath, project: Path) -> Path:
    """Return the folder of a checkpoint: below its project, or where that is mounted to be read.

    Args:
        checkpoint: The checkpoint.
        project: The folder of the project.
    """
    address = f"{checkpoint.options.server} {checkpoint}"
    name = hashlib.sha256(address.encode()).hexdigest()[:_DIGITS]
    beside = project / _FOLDER / name
    if not _writable(beside):
        with suppress(FileNotFoundError):  # no folder for temporary files either
            return Path(tempfile.gettempdir()) / f"joinery-{name}"
    return beside


def _writable(folder: Path) -> bool:
    """Return whether a folder can be written, or made."""
    there = next(each for each in (folder, *folder.parents) if os.access(each, os.F_OK))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
