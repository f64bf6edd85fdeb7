"""A disk that is full is told with its folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from joinery.place.full_disk import full_disk


@pytest.mark.parametrize(("free", "told"), [(0, True), (4096, True), (1 << 30, False)])
def test_a_disk_without_room_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, told: bool
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)

    assert (f"the disk of {tmp_path} is full" if told else "") == full_disk(tmp_path)


def test_a_folder_that_is_not_there_has_no_full_disk(tmp_path: Path) -> None:
    assert "" == full_disk(tmp_path / "gone")
