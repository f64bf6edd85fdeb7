"""Random groups, as trials on Spark."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle.compare import BATCHES, Trial, prefix, trials

from joinery.expression.sketch import Distinct, Quantiles, xxh64
from joinery.plan.build import build_plan
from joinery.testing.changes import RowChange, delete, insert, update
from joinery.testing.conformance.joined import joined, prefixed
from joinery.testing.conformance.project import load_text

TRIALS = trials(80, few=5, together=40)


def _sketch(numbers: range) -> bytes:
    made = Distinct(6)
    for each in numbers:
        made.add(xxh64(bytes([each])))
    return made.to_bytes()


def _spread(numbers: range) -> bytes:
    made = Quantiles(10)
    for each in numbers:
        made.add(each)
    return made.to_bytes()


# In them the clocks of Berlin change.
START = datetime(2026, 3, 28, 12, tzinfo=UTC)
WINDOWS = (
    "",
    "{tumbling: 1h}",
    "{tumbling: 7h, offset: 10m}",
    "{tumbling: 1 day, zone: Europe/Berlin}",
    "{tumbling: 2h, zone: Europe/Berlin}",
    "{tumbling: 1 month}",
    "{hopping: 3h, every: 1h}",
    "{hopping: 100m, every: 40m}",
    "{hopping: 2d, every: 1d, zone: Europe/Berlin}",
    "{cumulative: 6h, every: 2h}",
    "{session: 40m}",
    "{session: 2h}",
    "{session: 90m, max: 4h}",
    "{session: 3h, max: 2h}",
    "{sliding: 5h}",
    "{sliding: 30h}",
    "{cumulative: 1 day, every: 6h, zone: Europe/Berlin}",
)
SKETCHES = [_sketch(range(at, at + 9)) for at in (0, 5, 100)]
SPREADS = [_spread(range(at, at + 9)) for at in (-4, 5, 100)]
VALUES = {
    "n": "count(*)",
    "known": "count(x)",
    "total": "sum(x)",
    "low": "min(x)",
    "high": "max(s)",
    "mean": "avg(x)",
    "paid": "sum(d)",
    "price": "avg(d)",
    "real": "sum(f)",
    "big": "count(*) filter (where x > 2)",
    "part": "sum(x) / count(*)",
    "most": "max(x) filter (where s is not null)",
    "kinds": "count(distinct x)",
    "texts": "count(distinct s) filter (where x > 2)",
    "reals": "count(distinct f)",
    "more": "count(distinct x) filter (where s is not null)",
    "one": "first(x)",
    "text": "first(s) filter (where x > 1)",
    "other": "last(f)",
    "few": "collect(s, 3)",
    "many": "collect(x, 50)",
    "about": "approx_count_distinct(s)",
    "rough": "approx_count_distinct(x, 0.26) filter (where s is not null)",
    "middle": "approx_quantile(x, 0.5)",
    "edge": "approx_quantile(d, 0.9, 0.05)",
    "wild": "approx_quantile(f, 0.1)",
    "top": "approx_top_k(x, 3)",
    "tops": "approx_top_k(f, 2)",
    "sketch": "distinct_sketch(d, 0.26)",
    "texts_sketch": "distinct_sketch(s)",
    "times_sketch": "distinct_sketch(at, 0.26)",
    "spread": "quantile_sketch(f, 0.1)",
    "merged": "merge_distinct(u)",
    "quantile": "merge_quantile(v, 0.5)",
}


def _project(pick: random.Random, append: bool) -> str:
    window = pick.choice(WINDOWS)
    timed = bool(window) or pick.random() < 0.7
    delay = pick.choice(["0s", "50m"])
    stays = append and "sliding" not in window
    known = VALUES | ({"member": "bloom(s, 10, 0.1)"} if stays else {})
    values = sorted(pick.sample(sorted(known), pick.randrange(1, 9)))
    by = pick.choice(["", "by: [a],", "by: [a, b],", 'by: {both: "concat(a, s)"},'])
    where = pick.choice(["", "", "where: x > 1,", "where: \"a <> 'q'\","])
    emit = _emit(pick, window, append=append) if timed else ""
    return f"""
relations:
  r:
    {"append: true" if append else "key: [id]"}
    fields: {{id: long, a: string, b: int, x: long, s: string, d: "decimal(12,2)", f: double,
      u: binary, v: binary, at: timestamp}}
    {"time: at" if timed else ""}
    {"watermark: {delay: " + delay + "}" if timed else ""}
products:
  p: {{aggregate: r, {by} {where} {f"window: {window}," if window else ""}
    {emit}
    values: {{{", ".join(f'{each}: "{known[each]}"' for each in values)}}}}}
"""


def _emit(pick: random.Random, window: str, *, append: bool) -> str:
    """Return when groups are sent, and what becomes of late rows."""
    said = [pick.choice(["when: changed", "allowed: 90m"])]
    grid = bool(window) and "session" not in window and "sliding" not in window
    if grid or window.startswith("{session"):
        said.append(pick.choice(["", "when: closed"]))
    said.append(pick.choice(["", "late: drop", *([] if append else ["late: dead_letter"])]))
    if window:
        said.append(pick.choice(["", "retention: 1h", "retention: 5h"]))
    told = {each.split(":")[0]: each for each in said if each}
    return f"emit: {{{', '.join(told.values())}}},"


def _row(pick: random.Random, number: int) -> dict[str, Any]:
    """Return a row whose time goes on with its number, but for some that come late."""
    at = START + timedelta(minutes=number * 40 + pick.randrange(-240, 240))
    if pick.random() < 0.1:
        at = START + timedelta(minutes=pick.randrange(48 * 60))
    return {
        "a": pick.choice(["p", "q", None]),
        "b": pick.choice([1, 2, None]),
        "x": pick.choice([None, 1, 2, 3, 5, 8, -4]),
        "s": pick.choice([None, "s", "t", "é"]),
        "d": pick.choice([None, "1.10", "2.20", "-3.05"]),
        "f": pick.choice([None, 0.1, 0.2, 1e17, -1e17]),
        "u": pick.choice([None, *SKETCHES, b"none" if pick.random() < 0.05 else None]),
        "v": pick.choice([None, *SPREADS]),
        "at": None if number % 11 == 0 else at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _changes(pick: random.Random, append: bool) -> list[RowChange]:
    standing: dict[int, dict[str, Any]] = {}
    changes: list[RowChange] = []
    for number in range(70):
        key = number if append else pick.randrange(8)
        known = standing.get(key)
        if known is not None and pick.random() < 0.3:
            changes.append(delete("r", id=key))
            del standing[key]
            continue
        row = _row(pick, number)
        if known is not None:
            column = pick.choice(sorted(row))
            row = known | {column: row[column]}
        standing[key] = row
        changes.append((insert if known is None else update)("r", id=key, **row))
    return changes


def _read(pick: random.Random, change: RowChange) -> RowChange:
    """Return a change, or its row as one of a snapshot."""
    snapshot = change.op != "delete" and pick.random() < 0.25
    return change.as_snapshot() if snapshot else change


def make_groups(seeds: list[int]) -> Trial:
    specs = []
    batches: list[list[Any]] = [[] for _ in range(BATCHES)]
    for seed in seeds:
        pick = random.Random(seed)
        append = pick.random() < 0.4
        project, snapshots = _project(pick, append), random.Random(-1 - seed)
        if told_as_events := snapshots.random() < 0.5:
            project = project.replace("    fields:", "    format: debezium-json\n    fields:")
        spec = prefixed(load_text(project), prefix(seed))
        relation = build_plan(spec).products[0].relations[0]
        specs.append(spec)
        changes = _changes(pick, append)
        if told_as_events:
            changes = [_read(snapshots, each) for each in changes]
        for number, change in enumerate(changes):
            batches[number * BATCHES // len(changes)].append((change, relation))
    made = [tuple(change.change(relation) for change, relation in batch) for batch in batches]
    return Trial(tuple(seeds), joined(specs), tuple(made))
