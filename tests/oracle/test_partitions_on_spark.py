"""Random groups over logs of several partitions, whose records have times, against the reference.

A partition begins when others are far ahead; devices run fast by days; late rows correct, are left
out or become dead letters. The query is stopped and started again after each batch, and the last
batch runs twice.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import BATCHES, Trial, difference, prefix, trials
from tests.oracle.partitions import of_records, partitioned, plan_of_records

from joinery.spark.testing import SparkRunner
from joinery.testing.changes import RowChange, delete, insert, update
from joinery.testing.conformance.joined import joined, prefixed
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.runner import ReferenceRunner

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from joinery.model.change import Change

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TRIALS = trials(40, few=4, together=40)
START = datetime(2026, 3, 1, tzinfo=UTC)
CHANGES = 60
WINDOWS = (
    "{tumbling: 1h}",
    "{hopping: 2h, every: 1h}",
    "{cumulative: 6h, every: 2h}",
    "{session: 30m}",
    "{sliding: 3h}",
)


def _project(pick: random.Random, append: bool) -> str:
    window = pick.choice(WINDOWS)
    clocks = pick.random() < 0.4
    time = "{event: at, sent: sent, received: $log, tolerance: 5m, max: 2d}" if clocks else "at"
    ahead = pick.choice(["", ", ahead: 1h", ", ahead: 0s"])
    late = pick.choice(["correct", "drop", "drop", *([] if append else ["dead_letter"])])
    when = "changed" if "sliding" in window else pick.choice(["changed", "closed"])
    retention = pick.choice(["", ", retention: 2h"])
    values = "n: count(*), low: min(x)" + (", taken: max(log_time)" if clocks else "")
    return f"""
relations:
  r:
    {"append: true" if append else "key: [id]"}
    fields: {{id: long, a: string, x: long, at: timestamp, sent: timestamp}}
    time: {time}
    watermark: {{delay: {pick.choice(["0s", "30m"])}{ahead}}}
products:
  p: {{aggregate: r, by: [a], window: {window}, values: {{{values}}},
    emit: {{when: {when}, late: {late}, allowed: {pick.choice(["0s", "20m"])}{retention}}}}}
"""


def _text(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _changes(pick: random.Random, append: bool) -> list[RowChange]:
    standing = set[int]()
    changes = []
    begins, moves = pick.randrange(BATCHES), pick.random() < 0.3
    for number in range(CHANGES):
        batch = number * BATCHES // CHANGES
        begun = batch >= begins
        logged = START + timedelta(minutes=number * 15 + pick.randrange(10))
        key = number if append else pick.randrange(9 if begun else 6)
        # All changes of a key that a batch has are in one partition.
        turn = batch if moves and begun else 0
        partition = pick.choice([0, 1, 2] if begun else [0, 1]) if append else (key // 3 + turn) % 3
        if key in standing and pick.random() < 0.2:
            standing.remove(key)
            changes.append(delete("r", id=key).at(number).within(partition))
            continue
        told = _row(pick, logged)
        if key in standing:
            names = pick.sample(sorted(told), pick.randrange(1, 3))
            made = update("r", id=key, **{name: told[name] for name in names})
        else:
            made = insert("r", id=key, **told)
        standing.add(key)
        made = made.within(partition).logged(_text(logged))
        changes.append(made if append else made.at(number))
    return changes


def _row(pick: random.Random, logged: datetime) -> dict[str, object]:
    """Return a row of a device whose clock is right, behind, or days ahead."""
    behind = timedelta(minutes=pick.choice([0, 1, 2, 20, 90, 300, -30, -100, -5000]))
    at = logged - behind
    sent = at + timedelta(minutes=pick.choice([0, 1, 30, -1]))
    return {
        "a": pick.choice(["p", "q"]),
        "x": pick.randrange(9),
        "at": None if pick.random() < 0.05 else _text(at),
        "sent": _text(sent),
    }


def make_partitions(seeds: list[int]) -> Trial:
    specs = []
    batches: list[list[Change]] = [[] for _ in range(BATCHES)]
    for seed in seeds:
        pick = random.Random(seed)
        append = pick.random() < 0.5
        spec = prefixed(load_text(_project(pick, append)), prefix(seed))
        (relation,) = plan_of_records(spec).products[0].relations
        specs.append(spec)
        for number, change in enumerate(_changes(pick, append)):
            made = replace(change, relation=relation.name).change(relation)
            batches[number * BATCHES // CHANGES].append(made)
    return Trial(tuple(seeds), joined(specs), tuple(map(tuple, batches)))


@pytest.mark.parametrize("seeds", TRIALS)
def test_spark_state_judges_times_of_partitions_as_the_reference_does(
    seeds: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    trial = make_partitions(seeds)
    runner = SparkRunner(spark, tmp_path / "run", replay=True, planner=plan_of_records)

    expected = ReferenceRunner().run(of_records(trial.project), trial.batches)
    with partitioned():
        received = runner.run(trial.project, trial.batches)

    names = [each.name for each in trial.project.products]
    told = {name: difference(expected, received, name) for name in names}
    failed = [f"{name}: {each}" for name, each in told.items() if each]
    assert [] == failed, "\n".join(failed)
