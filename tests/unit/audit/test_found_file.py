"""What a comparison has found is read again by one of the same kind that goes on from it."""

from __future__ import annotations

from pathlib import Path

from joinery.audit.found import Found
from joinery.audit.found_file import FoundFile
from joinery.audit.verdict import Difference, Open

FOUND = Found(
    after='{"id":7}',
    compared=8,
    doubtful=['{"id":1}'],
    differences=[Difference('{"id":2}', "{}", None, None)],
    unreadable=[Open('{"id":3}', "it has no document")],
)


def test_a_comparison_that_was_broken_off_is_gone_on_from(tmp_path: Path) -> None:
    about = {"sample": 1.0, "key": ("id",)}

    FoundFile(tmp_path / "found.json", about).write(FOUND)

    assert FOUND == FoundFile(tmp_path / "found.json", about).read()


def test_one_of_another_kind_is_not(tmp_path: Path) -> None:
    FoundFile(tmp_path / "found.json", {"key": ("id",), "ordered_by": "logs"}).write(FOUND)

    other = FoundFile(tmp_path / "found.json", {"key": ("id",), "ordered_by": "database"})

    assert other.read() is None


def test_one_that_has_ended_is_not(tmp_path: Path) -> None:
    file = FoundFile(tmp_path / "found.json", {"key": ("id",)})

    file.write(FOUND, "ended")

    assert file.read() is None
