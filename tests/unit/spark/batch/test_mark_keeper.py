"""What a run does with marks beside its queries, and what it says of them."""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.unit.spark.recovery.committed import commit

from joinery.model.marks import KeptMarks
from joinery.model.warning import RunWarning
from joinery.project.marks import MarksSpec
from joinery.spark.batch.mark_keeper import MarkKeeper
from joinery.spark.recovery.mark import mark_last, marks_of


class Board:
    """Takes what a keeper tells."""

    def __init__(self) -> None:
        self.marks: Mapping[str, KeptMarks] = {}
        self.warnings: list[RunWarning] = []
        self.looks = 0

    def mark(self, marks: Mapping[str, KeptMarks]) -> None:
        self.marks = marks
        self.looks += 1

    def keeper(self, checkpoint: Path, marks: MarksSpec | None) -> MarkKeeper:
        return MarkKeeper({"core": checkpoint}, marks, self.mark, self.warnings.append)


def test_a_run_that_ends_by_itself_leaves_a_mark(tmp_path: Path) -> None:
    board = Board()
    keeper = board.keeper(tmp_path, MarksSpec())
    keeper.open()
    commit(tmp_path, 0)
    keeper.close()

    assert [0] == [each.batch for each in marks_of(tmp_path)]
    assert (1, 0) == (board.marks["core"].count, board.marks["core"].batch)


def test_without_marks_of_its_own_a_run_tells_those_of_others(tmp_path: Path) -> None:
    board = Board()
    commit(tmp_path, 0)
    mark_last(tmp_path, keep=24)
    commit(tmp_path, 1)
    keeper = board.keeper(tmp_path, None)
    keeper.open()
    keeper.close()

    assert [0] == [each.batch for each in marks_of(tmp_path)]
    assert 0 == board.marks["core"].batch


def test_a_disk_without_room_is_warned_of_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = Board()
    commit(tmp_path, 0)

    def full(*names: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copy2", full)
    keeper = board.keeper(tmp_path, MarksSpec(every_ms=1))
    keeper.open()
    deadline = time.monotonic() + 60
    while board.looks < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    monkeypatch.undo()
    keeper.close()

    assert "No space left on device" in str(board.warnings[0])
    assert "WARN_MARK" == board.warnings[0].code
    assert [0] == [each.batch for each in marks_of(tmp_path)]
