"""The watch of a run in real time: what follows on a pass of batches, and who rests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from joinery.delivery.control import Action, ControlLog, PauseSwitch
from joinery.model.batch import BatchProgress
from joinery.model.progress import Progress, Silence, Waiting
from joinery.spark.batch.pause import Pauses
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.watch import WaitedTooLongError, WaitLimit, Watch
from joinery.spark.source.kafka_client import KafkaUnreachableError


@dataclass
class Active:
    """A query of Spark's: one that runs until it is stopped, or one that has ended well."""

    isActive: bool

    def exception(self) -> None:
        """It never fails."""

    def stop(self) -> None:
        """End."""
        self.isActive = False


@dataclass
class BrokenOff(Active):
    """A query that is stopped just after a batch has begun."""

    query: Query

    def stop(self) -> None:
        """Break the batch off."""
        self.isActive = False
        self.query.failure = RuntimeError("Job 3 cancelled part of cancelled job group")


@dataclass
class Query:
    """What the watch needs of a query."""

    name: str
    failure: Exception | None = None
    ending: threading.Event = field(default_factory=threading.Event)
    pausing: threading.Event = field(default_factory=threading.Event)
    lease: Any = field(default_factory=lambda: SimpleNamespace(lost=None))
    products: tuple[Any, ...] = ()
    built_in: int | None = None

    def repair(self) -> None:
        """Nothing is asked for."""


def watch(
    queries: Sequence[Query],
    after: Callable[[str], Active | None],
    *,
    start: Callable[[Any], Any] = lambda query: Active(True),
    switches: dict[str, PauseSwitch] | None = None,
    board: ProgressBoard | None = None,
) -> Watch:
    unwatched: Any = SimpleNamespace(
        found=lambda name: None, unreachable=lambda name: None, look=lambda: None
    )
    return Watch(
        cast("Any", queries),
        start,
        lambda started: {name: False for name, each in started.items() if each.isActive},
        cast("Any", SimpleNamespace(after=after, live=lambda name: True)),
        board or ProgressBoard(),
        unwatched,
        unwatched,
        unwatched,
        unwatched,
        {},
        {},
        Pauses(switches or {}, ends=False),
    )


def test_where_real_time_cannot_begin_the_run_fails_and_the_other_queries_end() -> None:
    def away(name: str) -> Active:
        raise KafkaUnreachableError("nobody is there")

    passed, live = Active(False), Active(True)
    watched = watch([Query("a"), Query("b")], away)
    watched.begin(cast("Any", {"a": passed, "b": live}))

    assert watched.running()
    assert not live.isActive
    assert not watched.running()
    assert watched.error is not None
    assert 'query "a" failed: nobody is there' == watched.error.message


def test_what_follows_on_a_pass_of_batches_is_watched() -> None:
    following = Active(True)
    watched = watch([Query("a")], lambda name: following)
    watched.begin(cast("Any", {"a": Active(False)}))

    assert watched.running()
    watched.request_stop()
    assert watched.running()
    assert not following.isActive


def test_a_query_that_someone_stops_in_spark_does_not_count_as_ended_well() -> None:
    stopped, other = Active(False), Active(True)
    watched = watch([Query("a"), Query("b")], lambda name: None)
    watched.begin(cast("Any", {"a": stopped, "b": other}))

    assert watched.running()
    assert not other.isActive
    assert not watched.running()
    assert watched.error is not None
    assert 'query "a" was stopped from outside the run' == watched.error.message


def test_a_query_that_was_paused_before_rests_in_real_time_until_it_goes_on(tmp_path: Path) -> None:
    control = ControlLog(tmp_path / "a.jsonl")
    control.ask(Action.now("pause"))
    now = iter(range(1000))
    query, live = Query("a"), Active(True)
    switch = PauseSwitch(control, clock=lambda: float(next(now)))
    watched = watch([query], lambda name: None, start=lambda query: live, switches={"a": switch})

    assert watched.begins_paused(cast("Any", query))
    assert watched.running()
    assert {"a"} == watched.paused
    control.ask(Action.now("resume"))
    assert watched.running()
    assert not watched.paused

    control.ask(Action.now("pause"))
    assert watched.running()
    assert live.isActive
    assert not query.pausing.is_set()


def test_what_a_query_breaks_off_as_it_starts_again_is_no_failure() -> None:
    def start(query: Query) -> Active:
        query.built_in = None
        return Active(True)

    query, board = Query("a", built_in=2), ProgressBoard()
    built = BatchProgress(
        query="a",
        batch_id=2,
        relations={},
        documents={},
        counters={},
        dead=0,
        seconds=0.1,
        ended_at=0.0,
    )
    board.add(built)
    watched = watch([query], lambda name: None, start=start, board=board)
    watched.begin(cast("Any", {"a": BrokenOff(True, query)}))

    assert watched.running()
    assert query.built_in is None
    assert query.failure is None

    watched.request_stop()
    assert watched.running()
    assert not watched.running()
    assert watched.error is None


def test_a_run_waits_for_a_target_no_longer_than_it_may_and_never_for_a_silent_source() -> None:
    away = Waiting(product="p", target="sink", reason="refused", attempts=1, since=0.0)
    silent = Silence(source="log", reason="", since=0.0)
    progress, ended = [Progress().waits(silent.target, silent)], threading.Event()
    gave_up: list[WaitedTooLongError] = []
    looks = threading.Semaphore(0)

    def look() -> Progress:
        looks.release()
        return progress[0]

    def give_up(error: WaitedTooLongError) -> None:
        gave_up.append(error)
        ended.set()

    limit = WaitLimit(1000, look, give_up)

    limit.open()
    assert looks.acquire(timeout=60)
    assert looks.acquire(timeout=60)
    before = [*gave_up]
    progress[0] = progress[0].waits("sink", away)

    assert ended.wait(60)
    assert [] == before
    assert "waited 1s for sink" == gave_up[0].message
