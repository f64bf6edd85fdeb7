"""Random products that read others, as trials on Spark."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle.compare import BATCHES, Trial, prefix, trials

from joinery.plan.build import build_plan
from joinery.testing.changes import RowChange, delete, insert, update
from joinery.testing.conformance.joined import joined, prefixed
from joinery.testing.conformance.project import load_text

TRIALS = trials(80, few=4, together=40)
START = datetime(2026, 3, 28, 12, tzinfo=UTC)
VALUES = {
    "n": "count(*)",
    "total": "sum({0})",
    "low": "min({0})",
    "high": "max({0})",
    "mean": "avg({0})",
    "big": "count(*) filter (where {0} > 2)",
}
WINDOWS = ("", "window: {tumbling: 1h},", "window: {hopping: 3h, every: 1h},")
LONGER = (
    "",
    "window: {tumbling: 1 day, zone: Europe/Berlin},",
    "window: {tumbling: 5h},",
    "window: {sliding: 4h},",
)


def _values(pick: random.Random, column: str) -> str:
    names = sorted({"n", *pick.sample(sorted(VALUES), pick.randrange(0, 3))})
    return ", ".join(f'{each}: "{VALUES[each].format(column)}"' for each in names)


def _project(pick: random.Random, append: bool) -> str:
    """Return a chain of products, each over one above it, in a random order."""
    window = pick.choice(WINDOWS)
    longer = pick.choice(LONGER) if window else ""
    where = pick.choice(["", "where: n > 1,"])
    derived = "derive: {before: timestamp_micros(unix_micros(window_start) - 7200000000)},"
    read = f"time: window_start, {derived}" if window else ""
    kept = f"{where} as: {pick.choice(['list', 'map'])}"
    products = {
        "first": f"{{aggregate: r, by: [a, b], {window} values: {{{_values(pick, 'x')}}}}}",
        "second": f"{{aggregate: again, by: [a], {longer} values: {{{_values(pick, 'n')}}}}}",
    }
    before = "{one: again, on: {a: a, b: b, window_start: before}, fields: [n]}"
    trend = f"{{root: again, fields: [a, b, window_start, n], embed: {{c: {before}}}}}"
    more = {
        "shown": trend if window else "{root: again}",
        "person": f"{{root: p, embed: {{of: {{many: first, on: {{a: name}}, {kept}}}}}}}",
        "nested": "{root: p, embed: {g: {many: second, on: {a: name}, limit: 2}}}",
        "third": "{aggregate: second, values: {n: count(*), most: max(n)}}",
        "cities": "{aggregate: plain, by: [city], values: {of: sum(groups), most: max(groups)}}",
    }
    chosen = pick.sample(sorted(more), pick.randrange(1, len(more) + 1))
    products |= {each: more[each] for each in chosen}
    if "cities" in chosen:
        products["plain"] = (
            "{root: p, fields: [id, city], embed: {f: {many: first, on: {a: name}, hidden: true}},"
            " values: {groups: count(f)}}"
        )
    if "shown" in chosen and pick.random() < 0.5:
        products["deep"] = "{aggregate: shown, by: [b], values: {n: count(*), of: sum(n)}}"
    order = pick.sample(sorted(products), len(products))
    told = "\n".join(f"  {each}: {products[each]}" for each in order)
    return f"""
relations:
  r:
    {"append: true" if append else "key: [id]"}
    fields: {{id: long, a: string, b: int, x: long, at: timestamp}}
    time: at
  p: {{key: [id], fields: {{id: long, name: string, city: string}}}}
  again: {{product: first, {read} {where}}}
products:
{told}
"""


def _row(pick: random.Random, number: int) -> dict[str, Any]:
    at = START + timedelta(minutes=pick.randrange(12 * 60))
    return {
        "a": pick.choice(["p", "q", None]),
        "b": pick.choice([1, 2, None]),
        "x": pick.choice([None, 1, 2, 3, 5, -4]),
        "at": None if number % 11 == 0 else at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _changes(pick: random.Random, append: bool) -> list[RowChange]:
    rows: dict[int, dict[str, Any]] = {}
    people: set[int] = set()
    changes: list[RowChange] = []
    for number in range(70):
        if pick.random() < 0.25:
            person = pick.randrange(4)
            if person in people and pick.random() < 0.4:
                people.remove(person)
                changes.append(delete("p", id=person))
                continue
            row = {"name": pick.choice(["p", "q", None]), "city": pick.choice(["x", "y"])}
            changes.append((update if person in people else insert)("p", id=person, **row))
            people.add(person)
            continue
        key = number if append else pick.randrange(8)
        known = rows.get(key)
        if known is not None and pick.random() < 0.3:
            changes.append(delete("r", id=key))
            del rows[key]
            continue
        row = _row(pick, number)
        if known is not None:
            column = pick.choice(sorted(row))
            row = known | {column: row[column]}
        rows[key] = row
        changes.append((insert if known is None else update)("r", id=key, **row))
    return changes


def make_readers(seeds: list[int]) -> Trial:
    specs = []
    batches: list[list[Any]] = [[] for _ in range(BATCHES)]
    for seed in seeds:
        pick = random.Random(seed)
        append = pick.random() < 0.4
        spec = prefixed(load_text(_project(pick, append)), prefix(seed))
        plan = build_plan(joined([spec]))
        known = {each.name: each for one in plan.products for each in one.relations}
        specs.append(spec)
        changes = _changes(pick, append)
        for number, change in enumerate(changes):
            relation = known.get(prefix(seed) + change.relation)
            if relation is not None:
                made = change.change(relation)
                batches[number * BATCHES // len(changes)].append(made)
    return Trial(tuple(seeds), joined(specs), tuple(map(tuple, batches)))
