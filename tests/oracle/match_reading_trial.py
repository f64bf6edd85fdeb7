"""Random products that read matches, of patterns and of stored queries, as trials on Spark."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle.compare import BATCHES, Trial, prefix, trials

from joinery.plan.build import build_plan
from joinery.testing.changes import RowChange, delete, insert, update
from joinery.testing.conformance.joined import joined, prefixed
from joinery.testing.conformance.project import load_text

TRIALS = trials(40, few=3, together=20)
START = datetime(2026, 3, 28, 12, tzinfo=UTC)
MATCHES = ("A B", "A -> B", "A+ B?", "A not B")
BOUNDS = ("within: 2h,", "within: 4h, emit: {when: closed},")
QUERIES = ("city = 'x'", "name = 'p' or id > 2", "id < 3 and city <> 'y'", "true", "no >", "", None)
READERS = {
    "counted": '{aggregate: match, by: [a], values: {n: count(*), first: "min(start.id)"}}',
    "hourly": "{aggregate: timed, window: {tumbling: 3h}, values: {n: count(*)}}",
    "listed": "{root: p, embed: {m: {many: match, on: {a: name}, fields: [start, n], limit: 2}}}",
    "single": "{root: p, fields: [name], embed: {m: {one: match, on: {a: name, start.id: id}}}}",
    "shown": "{root: match, embed: {of: {many: p, on: {name: a}, fields: [city]}}}",
    "twice": "{pattern: timed, by: [a], define: {C: n > 0}, match: C C, within: 6h}",
    "found": '{aggregate: hit, by: {q: query.id}, values: {n: count(*), last: "max(document.id)"}}',
    "alerts": "{root: q, embed: {d: {many: hit, on: {query.id: id}, fields: [document, name]}}}",
    "named": "{root: hit, values: {asked: q.text}, embed: {q: {one: q, on: {id: query.id}}}}",
    "again": '{search: match, queries: q, query: text, on: {id: start.id}, fields: {n: "match.n"}}',
}


def _project(pick: random.Random) -> str:
    pattern = f'match: "{pick.choice(MATCHES)}", {pick.choice(BOUNDS)}'
    products = {
        "match": "{pattern: r, by: [a], define: {A: x > 1, B: x < 4}, "
        f"{pattern} fields: {{n: count(*), since: first(A.at)}}}}",
        "hit": "{search: p, queries: q, query: text, fields: {name: p.name}}",
    }
    products |= {each: READERS[each] for each in pick.sample(sorted(READERS), 5)}
    order = pick.sample(sorted(products), len(products))
    told = "\n".join(f"  {each}: {products[each]}" for each in order)
    return f"""
relations:
  r: {{key: [id], fields: {{id: long, a: string, x: int, at: timestamp}}, time: at}}
  p: {{key: [id], fields: {{id: long, name: string, city: string}}}}
  q: {{key: [id], fields: {{id: long, text: string}}}}
  timed: {{product: match, time: since}}
products:
{told}
"""


def _row(pick: random.Random, relation: str) -> dict[str, Any]:
    if relation == "q":
        return {"text": pick.choice(QUERIES)}
    if relation == "p":
        return {"name": pick.choice(["p", "q", None]), "city": pick.choice(["x", "y", None])}
    at = START + timedelta(minutes=pick.randrange(12 * 60))
    told = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"a": pick.choice(["p", "q", None]), "x": pick.choice([0, 1, 2, 3, 5]), "at": told}


def _changes(pick: random.Random) -> list[RowChange]:
    there: set[tuple[str, int]] = set()
    changes: list[RowChange] = []
    for _ in range(80):
        relation = pick.choice("rrrpq")
        row = relation, pick.randrange(12 if relation == "r" else 5)
        if row in there and pick.random() < 0.3:
            there.remove(row)
            changes.append(delete(relation, id=row[1]))
            continue
        change = update if row in there else insert
        changes.append(change(relation, id=row[1], **_row(pick, relation)))
        there.add(row)
    return changes


def make_match_readers(seeds: list[int]) -> Trial:
    specs = []
    batches: list[list[Any]] = [[] for _ in range(BATCHES)]
    for seed in seeds:
        pick = random.Random(seed)
        spec = prefixed(load_text(_project(pick)), prefix(seed))
        plan = build_plan(joined([spec]))
        known = {each.name: each for one in plan.products for each in one.relations}
        specs.append(spec)
        changes = _changes(pick)
        for number, change in enumerate(changes):
            relation = known.get(prefix(seed) + change.relation)
            if relation is not None:
                made = change.change(relation)
                batches[number * BATCHES // len(changes)].append(made)
    return Trial(tuple(seeds), joined(specs), tuple(map(tuple, batches)))
