"""A disk that is soon full; a test that needs one is skipped where it cannot be mounted."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, *, inodes: int = 0) -> Iterator[Path]:
    """Mount a disk of 4 MiB at a new folder, with so many inodes where a number is given."""
    if shutil.which("mount") is None:
        pytest.skip("there is no mount here")
    folder.mkdir()
    options = f"size=4m,nr_inodes={inodes}" if inodes else "size=4m"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a disk cannot be mounted by this user")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
