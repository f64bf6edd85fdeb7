"""The end of what was committed is read from Spark's own log."""

from __future__ import annotations

import os
from pathlib import Path

from joinery.spark.real_time.uncommitted import last_commit


def test_a_checkpoint_without_commits_has_none(tmp_path: Path) -> None:
    assert (-1, 0.0) == last_commit(tmp_path)


def test_the_newest_commit_is_the_one_of_the_highest_number(tmp_path: Path) -> None:
    for name in ("9", "10", ".10.crc", "10.tmp"):
        (tmp_path / "commits").mkdir(exist_ok=True)
        (tmp_path / "commits" / name).touch()
    os.utime(tmp_path / "commits" / "10", (1000, 2000))

    assert (10, 2000.0) == last_commit(tmp_path)
