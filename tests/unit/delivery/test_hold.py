"""What goes wrong with the file of documents that wait is one line with what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from joinery.delivery.hold import Hold
from joinery.model.type import LONG, Field, Struct
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import SinkError, StagedBatch

ROW = StagedRow('{"id":1}', '{"id":1}', 1)
SHAPE = Struct((Field("id", LONG),))


def batch_of(part: Path, row: StagedRow) -> StagedBatch:
    part.write_text(row.line())
    return StagedBatch(
        product="p", query="p", query_id="q", batch_id=0, files=(part,), key=SHAPE, value=SHAPE
    )


@pytest.fixture
def staged(tmp_path: Path) -> StagedBatch:
    return batch_of(tmp_path / "part-00000.jsonl", ROW)


@pytest.fixture
def hold(tmp_path: Path) -> Hold:
    made = Hold(tmp_path / "held.sqlite")
    made.open()
    return made


def test_a_file_that_another_process_has_locked_is_one_line(
    tmp_path: Path, staged: StagedBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0.01))
    hold = Hold(tmp_path / "held.sqlite")
    hold.open()
    other = sqlite3.connect(tmp_path / "held.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(SinkError, match="could not keep documents that wait") as failed:
        hold.put(staged, 0.0)

    assert failed.value.detail == "database is locked."
    other.execute("ROLLBACK")
    hold.put(staged, 0.0)
    assert [ROW] == list(hold.rows())


def test_a_disk_that_is_full_at_the_commit_is_one_line(hold: Hold, tmp_path: Path) -> None:
    row = StagedRow('{"id":1}', f'"{"x" * 100_000}"', 1)
    large = batch_of(tmp_path / "large.jsonl", row)
    hold._opened.execute("PRAGMA max_page_count = 10")

    with pytest.raises(SinkError, match="could not keep documents that wait"):
        hold.put(large, 0.0)

    assert [] == list(hold.rows())


@pytest.mark.parametrize(
    "use",
    [
        lambda hold: list(hold.rows()),
        lambda hold: list(hold.missing(['{"id":1}'])),
        lambda hold: hold.forget_held(),
        lambda hold: hold.leave(1.0, quiet=1.0, old=1.0),
        lambda hold: hold.forget_leaving(),
        lambda hold: hold.next_due(settle=1.0, longest=1.0),
        lambda hold: hold.waiting,
        lambda hold: hold.write_leaving(Path("/dev/null")),
        lambda hold: hold.number("end"),
        lambda hold: hold.remember("end", 1),
    ],
)
def test_whatever_is_asked_of_a_damaged_file_gives_one_line(
    hold: Hold, tmp_path: Path, use: Callable[[Hold], object]
) -> None:
    other = sqlite3.connect(tmp_path / "held.sqlite")
    for table in ("held", "leaving", "fact"):
        other.execute(f"DROP TABLE {table}")
    other.close()

    with pytest.raises(SinkError, match="could not keep documents that wait"):
        use(hold)
