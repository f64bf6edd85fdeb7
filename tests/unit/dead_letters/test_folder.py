"""A folder of dead letters is read, and what is none in it is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from joinery.dead_letters.dead_letter import BrokenLetterError, Resolution, sorted_out
from joinery.dead_letters.folder import DeadLetterFolderReader
from joinery.observe.kept_letters import kept_letters

LETTER = '{"reason": "undecodable", "time": "2026-01-02T03:04:05Z"}'
MARK = '{"id": "7", "state": "dropped", "until": "", "at": "2026-01-02T03:04:05Z", "ticket": 7}'


@pytest.mark.parametrize("foreign", ['{"reason": "wr', "[1,2]", "\ufeff{}"])
def test_a_line_that_is_no_letter_is_named(tmp_path: Path, foreign: str) -> None:
    file = tmp_path / "q-000001-0000000000.jsonl"
    file.write_text(f"{LETTER}\n{foreign}\n")

    with pytest.raises(BrokenLetterError, match=f"{re.escape(str(file))}:2 is not a dead letter"):
        list(DeadLetterFolderReader(tmp_path).lines())
    assert kept_letters(tmp_path) is None


def test_a_line_that_only_looks_like_a_letter_is_named(tmp_path: Path) -> None:
    (tmp_path / "q-000001-0000000000.jsonl").write_text('{"reason": "wr{"reason": "late"}\n')

    with pytest.raises(BrokenLetterError) as told:
        list(sorted_out(DeadLetterFolderReader(tmp_path).lines(), ()))

    assert (
        'the line that begins {"reason": "wr{"reason": "late"} is not a dead letter'
        == told.value.message
    )


def test_lines_whose_places_cannot_be_compared_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text('{"line": "a"}\n{"line": 1}\n')

    assert kept_letters(tmp_path) is None


def test_what_a_later_version_notes_beside_a_mark_is_left_out(tmp_path: Path) -> None:
    (tmp_path / ".marks.jsonl").write_text(f"{MARK}\n")

    (mark,) = DeadLetterFolderReader(tmp_path).marks()

    assert Resolution("7", "dropped", "", "2026-01-02T03:04:05Z") == mark


def test_what_is_no_mark_is_named(tmp_path: Path) -> None:
    (tmp_path / ".marks.jsonl").write_text('{"ticket": 7}\n')

    with pytest.raises(BrokenLetterError, match=r"\.marks\.jsonl:1 is not a mark"):
        list(DeadLetterFolderReader(tmp_path).marks())
