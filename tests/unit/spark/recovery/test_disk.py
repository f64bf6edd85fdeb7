"""A run that fails while a disk is full says so, and where."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from joinery.errors import FencedError, RunError, SinkError, SpecError
from joinery.spark.recovery.attempt import QueryFailedError
from joinery.spark.recovery.disk import DiskFullError, of_full_disk


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two folders, of which the disk of `b` is full."""
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        shutil,
        "disk_usage",
        lambda folder: usage._replace(free=0 if folder.name == "b" else 1 << 40),
    )
    return tmp_path / "a", tmp_path / "b"


def caused(error: SinkError, number: int) -> SinkError:
    error.__cause__ = OSError(number, "no")
    return error


@pytest.mark.parametrize(
    "failure",
    [
        RunError("no batch"),
        ValueError("no room"),
        QueryFailedError("Spark's process ended"),
        SinkError("could not write out", detail="[Errno 28] No space left on device."),
        caused(SinkError("could not write out"), errno.EDQUOT),
    ],
)
def test_a_failure_beside_a_full_disk_names_its_folder(
    failure: Exception, folders: tuple[Path, Path]
) -> None:
    told = of_full_disk(failure, folders)

    assert isinstance(told, DiskFullError)
    assert f"the disk of {folders[1]} is full" == told.message
    assert failure is of_full_disk(failure, folders[:1])


@pytest.mark.parametrize("detail", ["", "Its user may not write."])
def test_a_failure_of_another_cause_keeps_its_code_and_tells_the_disk(
    detail: str, folders: tuple[Path, Path]
) -> None:
    failure = caused(SinkError("no access to the table", detail=detail), errno.EACCES)

    told = of_full_disk(failure, folders)

    assert told is failure
    assert f"{detail} Besides, the disk of {folders[1]} is full.".strip() == failure.detail


@pytest.mark.parametrize("failure", [SpecError("a typo"), FencedError("another run")])
def test_what_no_disk_is_to_blame_for_stays_as_it_is(
    failure: RunError, folders: tuple[Path, Path]
) -> None:
    assert failure is of_full_disk(failure, folders)
    assert "" == failure.detail
