"""A filter tells keys absent that are, and lets all others be asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

import pytest

from joinery.lookups.key_filter import Bloom, KeyFilter
from joinery.lookups.protocol import Key, LookupUnavailableError

KEYS: list[Key] = [(each,) for each in range(0, 20_000, 2)]


@pytest.mark.parametrize(
    "shape", [lambda n: (n,), lambda n: (f"user-{n}",), lambda n: ("acme", n % 100, f"{n}")]
)
def test_a_bloom_filter_lacks_no_key_that_was_put_in_and_nearly_all_others(
    shape: Callable[[int], Key],
) -> None:
    bloom = Bloom(10_000)
    for number in range(10_000):
        bloom.add(shape(number))

    assert all(shape(number) in bloom for number in range(10_000))
    assert sum(shape(number) in bloom for number in range(10_000, 110_000)) < 2_000


def test_a_key_that_was_not_listed_is_absent_since_then() -> None:
    read_at = time.monotonic()
    keys = KeyFilter(lambda: (KEYS, read_at), 60.0)
    assert keys.absent_since((1,), read_at) is None

    keys.refresh()

    assert read_at == keys.absent_since((-1,), read_at)
    assert keys.absent_since((2,), read_at) is None
    assert keys.absent_since((-1,), read_at + 61) is None


def test_a_key_that_changed_is_asked_for_be_it_before_or_while_keys_are_listed() -> None:
    def listed() -> tuple[Collection[Key], float]:
        keys.note([(-2,)])
        return KEYS, time.monotonic()

    keys = KeyFilter(listed, 60.0)
    keys.refresh()
    keys.note([(-1,)])

    now = time.monotonic()
    assert [None, None] == [keys.absent_since(each, now) for each in [(-1,), (-2,)]]
    assert keys.absent_since((-3,), now) is not None


def test_keys_are_listed_again_once_they_are_old_and_never_where_they_cannot_be() -> None:
    times = iter([time.monotonic() - 61, time.monotonic(), time.monotonic()])
    asked: list[float] = []

    def listed() -> tuple[Collection[Key], float]:
        asked.append(next(times))
        return KEYS, asked[-1]

    def refused() -> None:
        asked.append(0.0)

    keys, none = KeyFilter(listed, 60.0), KeyFilter(refused, 60.0)
    for _ in range(3):
        keys.refresh()
        none.refresh()

    assert 3 == len(asked)
    assert none.absent_since((1,), time.monotonic()) is None


def test_a_listing_that_failed_tells_no_key_absent_and_is_made_again() -> None:
    answers = iter([None, KEYS])

    def listed() -> tuple[Collection[Key], float]:
        found = next(answers)
        if found is None:
            raise LookupUnavailableError("the store is away")
        return found, time.monotonic()

    keys = KeyFilter(listed, 60.0)
    with pytest.raises(LookupUnavailableError):
        keys.refresh()
    assert keys.absent_since((-1,), time.monotonic()) is None

    keys.refresh()

    assert keys.absent_since((-1,), time.monotonic()) is not None
