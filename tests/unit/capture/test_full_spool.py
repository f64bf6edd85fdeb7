"""A capture that ended for want of room in its spool is told as that."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tests.small_disk import small_disk

from joinery.capture.full_spool import full_spool
from joinery.capture.spool import SpoolFolder


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize(
    "said",
    ["{why}", "{spool}/files/shop.a/2.jsonl: {why}", "[Errno {number}] {why}: '{spool}/x'"],
)
def test_a_spool_without_inodes_or_quota_has_no_room(
    tmp_path: Path, number: int, said: str
) -> None:
    told = said.format(why=os.strerror(number), spool=tmp_path, number=number)

    error = full_spool(SpoolFolder(tmp_path), told)

    assert error is not None
    assert (error.code, error.message) == ("RUN_DISK", f"the disk of {tmp_path} has no room left")
    assert told in error.detail


@pytest.mark.parametrize(
    "said",
    [
        "its process was killed",
        'ERROR: could not write to file "pg_wal/1": No space left on device',
        "/elsewhere/log: No space left on device",
    ],
)
def test_room_that_is_lacking_elsewhere_is_not_the_spool_s(tmp_path: Path, said: str) -> None:
    assert full_spool(SpoolFolder(tmp_path), said) is None


def test_a_disk_whose_inodes_are_used_up_says_what_is_known_as_no_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "spool", inodes=3) as folder:
        for name in "ab":
            (folder / name).touch()
        with pytest.raises(OSError, match="No space left") as refused:
            (folder / "c").touch()

        assert full_spool(SpoolFolder(folder), "its process was killed") is None
        assert full_spool(SpoolFolder(folder), str(refused.value)) is not None
