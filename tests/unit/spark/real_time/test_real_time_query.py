"""LiveCounts of a query that never ends reach the board as they grow."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from joinery.model.batch import BatchProgress
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.watermarks import QueryTimes
from joinery.spark.real_time.counts import LiveCounts, since
from joinery.spark.real_time.query import RealTimeQuery, Ticker
from joinery.spark.real_time.rules import KafkaTopic, RealTimeTarget
from joinery.spark.real_time.writers import TopicWriter, producer_properties


def test_what_was_counted_between_two_tellings_is_their_difference() -> None:
    before: LiveCounts = {"relations": {"user": {"read": 2, "dead": 1}}}
    now: LiveCounts = {
        "relations": {"user": {"read": 5, "dead": 1}, "star": {"read": 1}},
        "documents": {"profile": {"upserts": 3}},
    }

    assert {
        "relations": {"user": {"read": 3}, "star": {"read": 1}},
        "documents": {"profile": {"upserts": 3}},
    } == since(before, now)


def test_nothing_new_is_nothing() -> None:
    counts: LiveCounts = {"relations": {"user": {"read": 2}}}

    assert {} == since(counts, counts)


def test_a_ticker_tells_each_count_once_and_the_last_at_its_end(tmp_path: Path) -> None:
    told: list[BatchProgress] = []
    ticked = threading.Event()
    counts: dict[str, dict[str, dict[str, int]]] = {"relations": {"user": {"read": 2}}}

    def note(tick: BatchProgress) -> None:
        told.append(tick)
        if tick.read:
            ticked.set()

    times = QueryTimes((), checkpoint=tmp_path)
    ticker = Ticker(
        "profile",
        lambda: {name: dict(each) for name, each in counts.items()},
        times,
        ProgressBoard(note),
    )
    assert ticked.wait(60)
    counts["relations"] = {"user": {"read": 7}}
    counts["dead_letters"] = {"": {"count": 1}}
    ticker.close()

    assert [0, 2, 5] == [each.read for each in told]
    assert [0, 0, 1] == [each.dead for each in told]
    assert all(each.live for each in told)


def test_a_ticker_lets_the_last_commit_be_noted_also_while_nothing_comes(tmp_path: Path) -> None:
    heard = threading.Semaphore(0)
    times = QueryTimes((), checkpoint=tmp_path)
    board = ProgressBoard()

    ticker = Ticker("profile", dict, times, board, lambda counts: heard.release())
    assert heard.acquire(timeout=60)
    ticker.close()


def read_up_to(checkpoint: Path, batch: int, offset: int) -> None:
    """Have a batch be committed that has read a topic up to an offset."""
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(exist_ok=True)
    text = f'v1\n{{}}\n{{"user":{{"0":{offset}}}}}'
    (checkpoint / "offsets" / str(batch)).write_text(text)
    (checkpoint / "commits" / str(batch)).touch()


def test_a_pass_of_many_small_batches_is_no_short_one(tmp_path: Path) -> None:
    """Spark remembers what the last few of them have read."""
    passes: list[str] = []

    def catch_up() -> Any:
        passes.append("batches")
        read_up_to(tmp_path, len(passes), 20_000 * len(passes))

    def live(sizes: object) -> Any:
        passes.append("real time")
        raise InterruptedError

    query = RealTimeQuery(
        "profile",
        tmp_path,
        TopicWriter(RealTimeTarget({}, KafkaTopic("dead", "here:9092")), lambda: {"dead": 1}, live),
        60_000,
        catch_up=catch_up,
        counts=dict,
        close_counts=lambda: None,
        sent=lambda documents: None,
        times=QueryTimes((), checkpoint=tmp_path),
        board=ProgressBoard(),
    )

    query.start()
    query.after()

    assert ["batches", "batches"] == passes
    assert not query.live


def test_a_producer_takes_the_largest_record_that_a_topic_takes() -> None:
    small, large = producer_properties(1 << 20), producer_properties(64 << 20)

    assert ("1048576", "33554432") == (small["max.request.size"], small["buffer.memory"])
    assert ("67108864", "67108864") == (large["max.request.size"], large["buffer.memory"])
