"""The asker asks each key once, within its limits, and gives nothing older than declared."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import pytest

from joinery.lookups.asker import Asker
from joinery.lookups.protocol import (
    Answer,
    Key,
    LookupStoreError,
    LookupUnavailableError,
    Unfit,
)
from joinery.model.progress import Waiting
from joinery.project.step import Cache, Limits
from joinery.retry import Patience

QUICK = Patience(first_s=0.01, longest_s=0.02, failures=3, rest_s=0.05)
WITHIN_S = 60.0


class Shelf:
    """A store in memory, whose requests can be held up, counted and made to fail."""

    target = "shelf"

    def __init__(self, rows: Mapping[Key, Answer], most_keys: int | None = None) -> None:
        self.rows = dict(rows)
        self.most_keys = most_keys
        self.requests: list[list[Key]] = []
        self.asked_at: list[float] = []
        self.failing = 0
        self.closed_for = 0
        self.most_at_once = 0
        self.gate = threading.Event()
        self.gate.set()
        self._lock = threading.Lock()
        self._now = 0

    def open(self) -> None:
        if self.closed_for > 0:
            self.closed_for -= 1
            raise LookupUnavailableError("could not reach shelf", detail="Refused.")

    def fetch(self, keys: Sequence[Key]) -> Mapping[Key, Answer]:
        with self._lock:
            self.requests.append(list(keys))
            self.asked_at.append(time.monotonic())
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            found = {key: self.rows[key] for key in keys if key in self.rows}
        try:
            assert self.gate.wait(WITHIN_S)
            if self.failing > 0:
                self.failing -= 1
                raise LookupUnavailableError("could not read from shelf", detail="Refused.")
            return found
        finally:
            with self._lock:
                self._now -= 1

    def close(self) -> None:
        pass


@pytest.fixture
def opened() -> Iterator[Callable[..., Asker]]:
    made: list[Asker] = []

    def build(shelf: Shelf, cache: Cache | None = None, **parts: Any) -> Asker:
        limits = parts.pop("limits", Limits())
        asker = Asker(shelf, cache or Cache(), limits, patience=QUICK, **parts)
        asker.open()
        made.append(asker)
        return asker

    yield build
    for each in made:
        each.close()


def ask_aside(asker: Asker, keys: list[Key]) -> tuple[threading.Thread, dict[Key, Answer]]:
    given: dict[Key, Answer] = {}
    thread = threading.Thread(target=lambda: given.update(asker.ask(keys)))
    thread.start()
    return thread, given


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + WITHIN_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_set_of_keys_is_one_request(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({(1,): ("ada",), (2,): ("bob",)})
    asker = opened(shelf)

    answers = asker.ask([(1,), (2,), (3,), (1,)])

    assert {(1,): ("ada",), (2,): ("bob",), (3,): None} == answers
    assert [[(1,), (2,), (3,)]] == shelf.requests


def test_a_key_that_holds_a_null_has_no_row_and_is_not_asked(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({})

    assert {(None,): None, ("a", None): None} == opened(shelf).ask([(None,), ("a", None)])
    assert [] == shelf.requests


def test_more_keys_than_a_request_takes_are_several(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({(each,): (each,) for each in range(25)})
    asker = opened(shelf, limits=Limits(batch=10))

    answers = asker.ask([(each,) for each in range(25)])

    assert {(each,): (each,) for each in range(25)} == answers
    assert [5, 10, 10] == sorted(len(each) for each in shelf.requests)


def test_a_store_may_take_fewer_keys_than_the_limit(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({}, most_keys=4)

    opened(shelf).ask([(each,) for each in range(8)])

    assert [4, 4] == [len(each) for each in shelf.requests]


def test_answers_are_used_again_and_absent_rows_remembered(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({(1,): ("ada",)})
    asker = opened(shelf)
    asker.ask([(1,), (2,)])

    answers = asker.ask([(1,), (2,)])

    done = asker.progress()
    assert {(1,): ("ada",), (2,): None} == answers
    assert 1 == len(shelf.requests)
    assert (4, 1, 1, 2, 1) == (done.keys, done.hits, done.negative_hits, done.misses, done.rows)


def test_an_answer_is_not_used_longer_than_its_time_to_live(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({(1,): ("ada",)})
    asker = opened(shelf, Cache(ttl_ms=1, negative_ms=60_000))
    asker.ask([(1,), (2,)])
    read_at = time.monotonic()
    until(lambda: time.monotonic() - read_at > 0.002)

    asker.ask([(1,), (2,)])

    assert [[(1,), (2,)], [(1,)]] == shelf.requests


def test_the_answer_used_longest_ago_makes_room(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({(each,): (each,) for each in range(3)})
    asker = opened(shelf, Cache(size=2))
    for key in (0, 1, 0, 2, 0, 1):
        asker.ask([(key,)])

    assert [[(0,)], [(1,)], [(2,)], [(1,)]] == shelf.requests


def test_a_key_is_in_one_request_at_a_time(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({(1,): ("ada",), (2,): ("bob",)})
    shelf.gate.clear()
    asker = opened(shelf, Cache(size=0))
    first, gave_first = ask_aside(asker, [(1,)])
    until(lambda: len(shelf.requests) == 1)
    others = [ask_aside(asker, [(1,)]) for _ in range(20)]
    until(lambda: asker.progress().shared == 20)

    shelf.gate.set()
    for thread in (first, *(each for each, _ in others)):
        thread.join(WITHIN_S)

    assert [[(1,)]] == shelf.requests
    assert [{(1,): ("ada",)}] * 21 == [gave_first, *(given for _, given in others)]


def test_an_invalidated_key_is_asked_anew(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({(1,): ("ada",)})
    asker = opened(shelf)
    asker.ask([(1,)])
    shelf.rows[(1,)] = ("ada lovelace",)

    asker.invalidate([(1,), (7,)])

    assert {(1,): ("ada lovelace",)} == asker.ask([(1,)])
    assert 1 == asker.progress().invalidated


def test_an_answer_read_before_its_key_was_invalidated_is_not_kept(
    opened: Callable[..., Asker],
) -> None:
    shelf = Shelf({(1,): ("old",)})
    shelf.gate.clear()
    asker = opened(shelf)
    thread, given = ask_aside(asker, [(1,)])
    until(lambda: len(shelf.requests) == 1)
    shelf.rows[(1,)] = ("new",)
    asker.invalidate([(1,)])
    shelf.gate.set()
    thread.join(WITHIN_S)

    assert {(1,): ("old",)} == given
    assert {(1,): ("new",)} == asker.ask([(1,)])


def test_who_asks_after_an_invalidation_does_not_join_the_older_request(
    opened: Callable[..., Asker],
) -> None:
    shelf = Shelf({(1,): ("old",), (9,): ("x",)})
    asker = opened(shelf, limits=Limits(concurrency=2))
    asker.ask([(9,)])
    shelf.gate.clear()
    first, gave_first = ask_aside(asker, [(1,)])
    until(lambda: len(shelf.requests) == 2)
    shelf.rows[(1,)] = ("new",)
    asker.invalidate([(1,)])

    second, gave_second = ask_aside(asker, [(1,)])
    until(lambda: len(shelf.requests) == 3)
    shelf.gate.set()
    first.join(WITHIN_S)
    second.join(WITHIN_S)

    assert ({(1,): ("old",)}, {(1,): ("new",)}) == (gave_first, gave_second)


def test_no_more_requests_are_under_way_than_allowed(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({})
    asker = opened(shelf, limits=Limits(concurrency=3, batch=1))

    asker.ask([(each,) for each in range(60)])

    assert shelf.most_at_once <= 3


def test_a_fresh_asker_with_a_cold_cache_keeps_the_rate(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({})
    limits = Limits(concurrency=8, batch=1, per_second=200)
    for _ in range(2):
        asker = opened(shelf, limits=limits)
        asker.ask([(each,) for each in range(20)])
        asker.close()

    assert 40 == len(shelf.requests)
    assert shelf.asked_at[-1] - shelf.asked_at[0] >= 30 / 200


def test_a_request_that_failed_is_made_again(opened: Callable[..., Asker]) -> None:
    told: list[Waiting | None] = []
    shelf = Shelf({(1,): ("ada",)})
    shelf.failing = 4
    asker = opened(shelf, user="orders", tell=told.append)

    answers = asker.ask([(1,)])

    assert {(1,): ("ada",)} == answers
    assert (5, 4) == (asker.progress().requests, asker.progress().failures)
    assert [1, 2, 3, 4, None] == [each and each.attempts for each in told]
    assert told[0] is not None
    assert ("orders", "shelf") == (told[0].product, told[0].target)


def test_an_open_breaker_lets_one_request_try(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({})
    shelf.failing = 30
    asker = opened(shelf, limits=Limits(concurrency=8, batch=1))
    started = time.monotonic()

    asker.ask([(each,) for each in range(8)])

    tried = len(shelf.requests)
    spent_s = time.monotonic() - started
    assert tried <= 8 + 30
    assert spent_s >= (30 - QUICK.failures - 8) * QUICK.rest_s


def test_a_wait_ends_with_the_run(opened: Callable[..., Asker]) -> None:
    ending = threading.Event()
    shelf = Shelf({})
    shelf.failing = 10**9
    asker = opened(shelf, ended=ending.is_set, tell=lambda waiting: ending.set())

    with pytest.raises(LookupUnavailableError):
        asker.ask([(1,)])


def test_a_failure_that_waiting_does_not_mend_ends_the_question() -> None:
    class Broken(Shelf):
        def fetch(self, keys: Sequence[Key]) -> Mapping[Key, Answer]:
            raise LookupStoreError("shelf refused a request")

    asker = Asker(Broken({}))
    asker.open()

    with pytest.raises(LookupStoreError, match="refused a request"):
        asker.ask([(1,)])
    with pytest.raises(LookupStoreError, match="refused a request"):
        asker.ask([(1,)])
    asker.close()


def test_a_store_that_is_not_there_at_the_start_is_waited_for(
    opened: Callable[..., Asker],
) -> None:
    told: list[Waiting | None] = []
    shelf = Shelf({(1,): ("ada",)})
    shelf.closed_for = 2
    asker = opened(shelf, tell=told.append)

    assert {(1,): ("ada",)} == asker.ask([(1,)])
    assert [1, 2, None] == [each and each.attempts for each in told]


def test_the_wait_at_the_start_is_bounded() -> None:
    shelf = Shelf({})
    shelf.closed_for = 10**9

    asker = Asker(shelf, start_wait_s=0.01)
    asker.open()

    with pytest.raises(LookupUnavailableError) as gave_up:
        asker.ask([(1,)])

    assert "shelf is not available: waited 0.01 s" == gave_up.value.message
    assert "could not reach shelf. Refused." == gave_up.value.detail


def test_the_age_of_answers_is_counted(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({(1,): ("ada",)})
    asker = opened(shelf)
    asker.ask([(1,)])
    read_at = time.monotonic()
    until(lambda: time.monotonic() - read_at > 0.02)

    asker.ask([(1,)])

    done = asker.progress()
    assert 2 == sum(done.ages)
    assert 0.02 <= done.oldest_s < WITHIN_S
    assert 0.01 <= done.age_quantile_s(0.99) <= done.oldest_s


def test_a_row_that_is_none_of_the_table_is_told_and_counted(opened: Callable[..., Asker]) -> None:
    shelf = Shelf({(1,): Unfit('column "name" holds a number, which is no string')})
    asker = opened(shelf)

    assert {(1,): shelf.rows[(1,)]} == asker.ask([(1,)])
    assert (1, 0) == (asker.progress().unfit, asker.progress().rows)


class OpenShelf(Shelf):
    """A shelf that can be read whole."""

    def fetch_whole(self, most: int) -> Mapping[Key, Answer] | None:
        rows = self.fetch(list(self.rows))
        return rows if len(rows) <= most else None


def test_a_small_table_is_read_whole_once_for_as_long_as_it_may_answer(
    opened: Callable[..., Asker],
) -> None:
    asker = opened(OpenShelf({(1,): ("ada",), (2,): Unfit("a list")}), whole_s=60.0)

    first, second = asker.whole(), asker.whole()

    assert first is not None
    assert {(1,): ("ada",), (2,): Unfit("a list")} == first.rows
    assert first is second
    done = asker.progress()
    assert (1, 1, 1, 1) == (done.wholes, done.requests, done.rows, done.unfit)
    assert 2 == sum(done.ages)


def test_a_whole_table_is_read_again_when_it_is_old_or_a_row_of_it_has_changed(
    opened: Callable[..., Asker],
) -> None:
    shelf = OpenShelf({(1,): ("ada",)})
    asker = opened(shelf, whole_s=0.05)
    asker.whole()
    shelf.rows[(1,)] = ("eve",)
    until(lambda: asker.whole() is not None and len(shelf.requests) > 1)
    old = asker.whole()
    shelf.rows[(1,)] = ("cyd",)
    asker.invalidate([(1,)])

    changed = asker.whole()

    assert old is not None
    assert {(1,): ("eve",)} == old.rows
    assert changed is not None
    assert {(1,): ("cyd",)} == changed.rows


def test_a_whole_table_that_was_read_before_a_change_serves_who_asked_before_alone(
    opened: Callable[..., Asker],
) -> None:
    shelf = OpenShelf({(1,): ("ada",)})
    asker = opened(shelf, whole_s=60.0)
    shelf.gate.clear()
    reading = threading.Thread(target=asker.whole)
    reading.start()
    until(lambda: len(shelf.requests) == 1)
    shelf.rows[(1,)] = ("eve",)
    asker.invalidate([(1,)])
    shelf.gate.set()
    reading.join()

    found = asker.whole()

    assert found is not None
    assert {(1,): ("eve",)} == found.rows


def test_a_table_of_more_rows_than_a_request_has_keys_is_asked_by_keys(
    opened: Callable[..., Asker],
) -> None:
    shelf = OpenShelf({(1,): ("ada",), (2,): ("bob",)})
    asker = opened(shelf, whole_s=60.0, limits=Limits(batch=1))

    assert (None, None) == (asker.whole(), asker.whole())
    assert 1 == len(shelf.requests)


def test_a_store_that_cannot_give_its_table_and_one_that_keeps_nothing_are_asked_by_keys(
    opened: Callable[..., Asker],
) -> None:
    assert opened(Shelf({(1,): ("ada",)}), whole_s=60.0).whole() is None
    assert opened(OpenShelf({(1,): ("ada",)})).whole() is None


class ListedShelf(Shelf):
    """A shelf that can list its keys."""

    listed = 0

    def fetch_keys(self, most: int) -> Collection[Key] | None:
        self.listed += 1
        return list(self.rows)


def test_once_most_keys_have_no_row_only_those_that_may_have_one_are_asked_for(
    opened: Callable[..., Asker],
) -> None:
    shelf = ListedShelf({(each,): ("here",) for each in range(100)})
    asker = opened(shelf, filter_s=60.0)
    asker.ask([(each,) for each in range(10_000)])
    assert 0 == shelf.listed
    before = len(shelf.requests)

    answers = asker.ask([(each,) for each in range(-5_000, 0)])

    assert 5_000 == len(answers)
    assert {None} == set(answers.values())
    done = asker.progress()
    assert 1 == shelf.listed
    assert done.filtered > 4_900
    assert sum(map(len, shelf.requests[before:])) == 5_000 - done.filtered

    shelf.rows[(-1,)] = ("new",)
    asker.invalidate([(-1,)])

    assert {(-1,): ("new",)} == asker.ask([(-1,)])
    assert 1 == shelf.listed


def test_while_most_keys_have_a_row_none_are_listed(opened: Callable[..., Asker]) -> None:
    shelf = ListedShelf({(each,): ("here",) for each in range(11_000)})
    asker = opened(shelf, filter_s=60.0)

    for start in range(0, 12_000, 4_000):
        asker.ask([(each,) for each in range(start, start + 4_000)])

    assert 0 == shelf.listed


def test_a_whole_table_is_waited_for_as_a_row_is(opened: Callable[..., Asker]) -> None:
    shelf = OpenShelf({(1,): ("ada",)})
    shelf.failing = 2

    found = opened(shelf, whole_s=60.0).whole()

    assert found is not None
    assert 3 == len(shelf.requests)
