"""The event times of a query: a partition that is silent is not waited for, a restart forgives."""

from __future__ import annotations

from pathlib import Path

from joinery.plan.build import build_plan
from joinery.spark.batch.watermarks import QueryTimes
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  views:
    append: true
    time: at
    watermark: {delay: 0s, idle: 30s}
    fields: {at: timestamp}
products:
  hours: {aggregate: views, window: {tumbling: 1h}, values: {n: count(*)}}
"""


class Clock:
    """Tells a time that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def times(folder: Path, clock: Clock) -> QueryTimes:
    relations = build_plan(load_text(PROJECT)).products[0].relations
    return QueryTimes(
        relations,
        checkpoint=folder,
        clock=clock,
    )


def read(made: QueryTimes, batch: int, **newest_us: int) -> tuple[int | None, list[str]]:
    """End a batch that read some partitions; return the watermark and which are idle."""
    read = {name.removeprefix("p"): each for name, each in newest_us.items()}
    found = made.end(batch, {"newest": {"views": read}})["views"]
    return found.watermark_us, sorted(found.idle)


def test_a_partition_that_is_silent_for_long_is_not_waited_for(tmp_path: Path) -> None:
    clock = Clock()
    made = times(tmp_path, clock)

    assert (5, []) == read(made, 0, p0=9, p1=5)
    clock.now += 29
    assert (5, []) == read(made, 1, p0=20)
    clock.now += 1
    assert (30, ["1"]) == read(made, 2, p0=30)
    assert (30, []) == read(made, 3, p1=6)


def test_who_is_idle_is_decided_as_a_batch_begins_and_stays_so_when_it_runs_again(
    tmp_path: Path,
) -> None:
    clock = Clock()
    made = times(tmp_path, clock)
    read(made, 0, p0=9, p1=5)
    clock.now += 30
    read(made, 1, p0=20)

    clock.now += 1
    assert (20, []) == read(times(tmp_path, clock), 2, p0=30)
    clock.now += 3600
    assert (20, ["1"]) == read(times(tmp_path, clock), 1, p0=20)
    assert (20, []) == read(times(tmp_path, clock), 2, p0=30)


def test_nobody_was_silent_before_the_run(tmp_path: Path) -> None:
    clock = Clock()
    read(times(tmp_path, clock), 0, p0=9, p1=5)
    clock.now += 3600
    again = times(tmp_path, clock)

    assert (5, []) == read(again, 1, p0=20)
    clock.now += 30
    assert (40, ["1"]) == read(again, 2, p0=40)


def test_the_watermark_of_a_run_before_never_falls(tmp_path: Path) -> None:
    clock = Clock()
    made = times(tmp_path, clock)
    read(made, 0, p0=9, p1=5)
    clock.now += 30
    read(made, 1, p0=20)

    assert (20, []) == read(times(tmp_path, clock), 2, p1=6)
