"""When requests to a store go: evenly spaced, slower at first, never in a burst."""

from __future__ import annotations

import itertools

import pytest

from joinery.lookups.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def sent_at(pace: Pace, clock: Clock, count: int) -> list[float]:
    times: list[float] = []
    for _ in range(count):
        pace.wait(clock.sleep)
        times.append(round(clock.now - 100, 3))
    return times


def test_requests_are_spaced_evenly() -> None:
    clock = Clock()

    assert [0.0, 0.1, 0.2, 0.3] == sent_at(Pace(10, clock=clock), clock, 4)


def test_an_idle_time_saves_nothing_up() -> None:
    clock = Clock()
    pace = Pace(10, clock=clock)
    sent_at(pace, clock, 1)
    clock.now += 60

    assert [60.0, 60.1, 60.2] == sent_at(pace, clock, 3)


def test_a_late_request_delays_the_next() -> None:
    clock = Clock()
    pace = Pace(10, clock=clock)
    pace.wait(clock.sleep)

    pace.wait(lambda seconds: clock.sleep(seconds + 5))

    assert [5.2, 5.3] == sent_at(pace, clock, 2)


def test_a_warm_up_begins_with_a_tenth_of_the_rate() -> None:
    clock = Clock()

    times = sent_at(Pace(10, warm_up_s=4, clock=clock), clock, 30)

    gaps = [round(later - earlier, 3) for earlier, later in itertools.pairwise(times)]
    assert 1.0 == gaps[0]
    assert 0.1 == gaps[-1]
    assert sorted(gaps, reverse=True) == gaps


def test_no_rate_is_no_wait() -> None:
    clock = Clock()

    assert [0.0] * 5 == sent_at(Pace(None, clock=clock), clock, 5)


def test_a_turn_that_was_not_taken_is_still_there() -> None:
    clock = Clock()
    pace = Pace(10, clock=clock)
    pace.wait(clock.sleep)

    def ended(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pace.wait(ended)

    assert [0.1] == sent_at(pace, clock, 1)
