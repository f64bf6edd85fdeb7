"""How far event times have come, and how far rows are behind them."""

from __future__ import annotations

import itertools

from joinery.model.watermark import EventTimes, bucket_ceiling_us


def test_the_partition_that_is_furthest_behind_holds_the_watermark_back() -> None:
    times = EventTimes(delay_ms=2).plus({"0": 50_000, "1": 40_000}, {}).plus({"0": 60_000}, {})

    assert ("1", 38_000) == (times.held_back_by, times.watermark_us)


def test_what_is_idle_holds_nobody_up_and_the_watermark_never_falls() -> None:
    times = EventTimes(delay_ms=2).plus({"0": 50_000, "1": 40_000}, {}).waiting_for_all_but(["1"])
    back = times.plus({"1": 41_000}, {}).waiting_for_all_but([])

    assert ("0", 48_000) == (times.held_back_by, times.watermark_us)
    assert ("1", 48_000) == (back.held_back_by, back.watermark_us)
    assert 48_000 == times.waiting_for_all_but(["0", "1"]).watermark_us


def test_there_is_no_watermark_before_the_first_row() -> None:
    told = EventTimes().to_json()

    assert (None, None, 0) == (told["watermark"], told["held_back_by"], told["partitions"])


def test_of_ends_at_one_watermark_the_last_tells_all_that_was_closed() -> None:
    times = EventTimes().plus({"0": 50_000, "1": 40_000}, {}).at_the_end()
    same = times.plus({"0": 70_000}, {}).at_the_end()

    assert ((40_000, 50_000),) == times.ended
    assert ((40_000, 70_000),) == same.ended
    assert ((40_000, 70_000), (60_000, 70_000)) == same.plus({"1": 60_000}, {}).at_the_end().ended


def test_a_bucket_is_at_most_a_quarter_wider_than_the_one_before() -> None:
    ceilings = [bucket_ceiling_us(each) for each in range(4, 240)]

    assert all(one < more <= one * 1.25 + 2 for one, more in itertools.pairwise(ceilings))


def test_a_time_beyond_the_calendar_is_told_in_microseconds() -> None:
    assert str(10**18) == EventTimes({"0": 10**18}).to_json()["newest"]
