"""A run that fails while a disk is full says so, and where."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from joinery.errors import RunError, SpecError
from joinery.spark.recovery.disk import DiskFullError, of_full_disk


def test_a_failure_beside_a_full_disk_names_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        shutil,
        "disk_usage",
        lambda folder: usage._replace(free=0 if folder.name == "b" else 1 << 40),
    )
    folders = (tmp_path / "a", tmp_path / "b")

    told = [of_full_disk(each, folders) for each in (RunError("no batch"), ValueError("no room"))]
    kept = SpecError("a typo")

    assert [f"the disk of {tmp_path / 'b'} is full"] * 2 == [
        each.message for each in told if isinstance(each, DiskFullError)
    ]
    assert kept is of_full_disk(kept, folders)
    assert told[0] is of_full_disk(told[0], folders[:1])
