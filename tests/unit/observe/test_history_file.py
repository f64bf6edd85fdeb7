"""What is kept of a query's minutes, and for how long."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from joinery.model.status import ProductTotals, QueryStatus
from joinery.observe.history_file import HistoryFile, Minute, minutes_of

NOON = 1_700_000_000.0  # 2023-11-14, in the evening
STATUS = QueryStatus(
    query="core",
    state="running",
    began_at=NOON,
    written_at=NOON,
    caught_up=True,
    caught_up_at=NOON,
    products={"card": ProductTotals(relations=("user",), documents=5, age_ms=700)},
)


def later(seconds: float, documents: int, *, caught_up: bool = True) -> QueryStatus:
    totals = ProductTotals(relations=("user",), documents=documents, tombstones=1, age_ms=700)
    return replace(
        STATUS,
        written_at=NOON + seconds,
        caught_up=caught_up,
        rows_left={"user": 0 if caught_up else 9},
        products={"card": totals},
    )


def read(folder: Path, seconds: float = 0.0, days: int = 2) -> list[Minute]:
    return list(minutes_of(folder, "card", now=NOON + seconds, days=days))


def test_a_minute_tells_what_was_sent_since_the_one_before(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path / "core")

    for status in (STATUS, later(30, 9), later(61, 10), later(90, 11), later(130, 12)):
        history.note(status)

    assert [5, 6, 2] == [each.sent for each in read(tmp_path / "core")]
    assert [0.7] * 3 == [each.fresh_s for each in read(tmp_path / "core")]


def test_a_minute_without_news_has_no_line(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path)

    for minute in range(10):
        history.note(later(minute * 60, 5))

    assert 1 == len(read(tmp_path))


def test_what_is_behind_is_told_though_nothing_is_sent(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path)
    history.note(STATUS)
    history.note(later(600, 4, caught_up=False))

    assert [(0.7, 0), (600.0, 9)] == [(each.fresh_s, each.rows_left) for each in read(tmp_path)]


def test_the_end_of_a_run_tells_the_rest(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path)
    history.note(STATUS)
    history.note(later(1, 8), last=True)

    assert [5, 4] == [each.sent for each in read(tmp_path)]


def test_a_week_is_kept_and_nothing_else_is_removed(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path)
    (tmp_path / "notes.jsonl").write_text("mine")
    for day in range(9):
        history.note(later(day * 86_400, 5 + day))

    days = sorted(each.name for each in tmp_path.iterdir())

    assert ["2023-11-16.jsonl", "2023-11-22.jsonl", "notes.jsonl"] == [days[0], *days[-2:]]
    assert 7 == len(days) - 1


def test_lines_that_were_cut_off_or_are_something_else_are_left_out(tmp_path: Path) -> None:
    HistoryFile(tmp_path).note(STATUS)
    [file] = tmp_path.iterdir()
    whole = file.read_bytes().strip()
    other = json.dumps({"at": "?", "rows_left": 0, "paused": False, "products": {"card": [1, 2]}})
    file.write_bytes(b"\n".join([b"[]", whole[:40], other.encode(), whole, b"\xff", whole[:-1]]))

    assert [5] == [each.sent for each in read(tmp_path)]
