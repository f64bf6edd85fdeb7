"""What is kept of a query's minutes, and for how long."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from joinery.model.batch import BatchProgress
from joinery.model.progress import Waiting
from joinery.model.status import ProductTotals, QueryStatus
from joinery.observe.history_file import Batches, HistoryFile, Minute, minutes_of

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


def batch(number: int, seconds: float, *, sinks_ms: int = 0, live: bool = False) -> BatchProgress:
    return BatchProgress(
        query="core",
        batch_id=number,
        relations={"user": {"read": 10}},
        documents={},
        counters={},
        dead=0,
        seconds=seconds,
        ended_at=NOON,
        durations_ms={"sinks": sinks_ms},
        live=live,
    )


def test_a_minute_tells_its_batches_and_no_others(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path)
    history.note(STATUS)
    history.count(batch(7, 2.0, sinks_ms=1500))
    history.count(batch(8, 1.0, sinks_ms=900))
    history.note(later(60, 5))
    history.count(batch(9, 0.5))
    history.note(later(120, 5))

    assert [
        Batches(),
        Batches(count=2, last=8, rows=20, longest_s=2.0, writing_s=1.5),
        Batches(count=1, last=9, rows=10, longest_s=0.5),
    ] == [each.batches for each in read(tmp_path)]


def test_what_is_told_of_real_time_is_no_batch(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path)
    history.count(batch(7, 2.0, live=True))
    history.note(STATUS)

    assert [Batches(rows=10)] == [each.batches for each in read(tmp_path)]


def test_what_was_waited_for_and_how_the_run_ended_are_told(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path)
    history.note(STATUS)
    away = Waiting(product="card", target="kafka t", reason="away", attempts=3, since=NOON)
    history.note(replace(later(60, 4), waiting=(away,)))
    history.note(replace(later(70, 4), state="failed", code="SINK_GONE"), last=True)
    history.note(replace(later(200, 4), state="ended"), last=True)

    assert [((), ""), (("kafka t",), ""), ((), "failed: SINK_GONE"), ((), "ended")] == [
        (each.waits, each.ended) for each in read(tmp_path)
    ]


def test_a_line_of_before_batches_were_told_is_read(tmp_path: Path) -> None:
    HistoryFile(tmp_path).note(STATUS)
    [file] = tmp_path.iterdir()
    told = json.loads(file.read_text())
    for name in ("batches", "waits", "ended", "bytes_left"):
        del told[name]
    file.write_text(json.dumps(told))

    assert [(5, Batches())] == [(each.sent, each.batches) for each in read(tmp_path)]
