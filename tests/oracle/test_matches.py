"""Random patterns in random rows that change: the matches are those of a small plain matcher."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.oracle.compare import each_seed
from tests.oracle.plain_matcher import (
    Chain,
    Either,
    Often,
    One,
    Row,
    Search,
    Taken,
    Tree,
    matches,
    written,
)

from joinery.plan.build import build_plan
from joinery.semantics import matcher
from joinery.testing.changes import RowChange, delete, insert, update
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import Driver

NAMES = "ABC"
Test = Callable[[Sequence[Row], Taken], bool]


def rows_of(rows: Sequence[Row], taken: Taken, name: str) -> list[Row]:
    return [rows[at] for each, at in taken if each == name]


def own(rows: Sequence[Row], taken: Taken) -> Row:
    return rows[taken[-1][1]]


def _above_first(name: str) -> Test:
    def holds(rows: Sequence[Row], taken: Taken) -> bool:
        before = rows_of(rows, taken, name)
        return bool(before) and own(rows, taken)["x"] > before[0]["x"]

    return holds


def _from_last(name: str) -> Test:
    def holds(rows: Sequence[Row], taken: Taken) -> bool:
        before = rows_of(rows, taken, name)
        return bool(before) and own(rows, taken)["x"] >= before[-1]["x"]

    return holds


def _sums_below(name: str) -> Test:
    def holds(rows: Sequence[Row], taken: Taken) -> bool:
        before = rows_of(rows, taken, name)
        return bool(before) and sum(each["x"] for each in before) <= 6

    return holds


def _fewer(name: str) -> Test:
    return lambda rows, taken: len(rows_of(rows, taken, name)) < 3


def _rises(rows: Sequence[Row], taken: Taken) -> bool:
    at = taken[-1][1]
    return at > 0 and bool(rows[at]["x"] > rows[at - 1]["x"])


def _condition(pick: random.Random, names: Sequence[str]) -> tuple[str, Test]:
    """Return a condition as SQL and as a function of the rows and of what was taken."""
    other = pick.choice(names)
    return pick.choice(
        [
            ("kind = 'a'", lambda rows, taken: own(rows, taken)["kind"] == "a"),
            ("kind <> 'b'", lambda rows, taken: own(rows, taken)["kind"] != "b"),
            ("kind = 'c'", lambda rows, taken: own(rows, taken)["kind"] == "c"),
            ("x > 1", lambda rows, taken: own(rows, taken)["x"] > 1),
            ("x in (0, 2)", lambda rows, taken: own(rows, taken)["x"] in (0, 2)),
            ("x > prev(x)", _rises),
            (f"x > first({other}.x)", _above_first(other)),
            (f"x >= {other}.x", _from_last(other)),
            (f"sum({other}.x) <= 6", _sums_below(other)),
            (f"count({other}) < 3", _fewer(other)),
        ]
    )


def _both(one: tuple[str, Test], other: tuple[str, Test]) -> tuple[str, Test]:
    """Return a condition of two, which may read the row, the match, or each of them."""
    holds, also = one[1], other[1]
    told = f"{one[0]} and {other[0]}"
    return told, lambda rows, taken: holds(rows, taken) and also(rows, taken)


def _tree(pick: random.Random, depth: int, *, empty: bool) -> Tree:
    """Return a random pattern; one that takes a row at least, unless it may be `empty`."""
    kind = pick.random()
    made: Tree
    if depth == 0 or kind < 0.35:
        made = One(pick.choice(NAMES))
    elif kind < 0.5:
        made = Either(tuple(_tree(pick, depth - 1, empty=empty) for _ in range(2)))
    else:
        skips = tuple(pick.random() < 0.35 for _ in range(pick.choice([1, 1, 2])))
        made = Chain(
            tuple(
                _tree(pick, depth - 1, empty=bool(at) and not skip)
                for at, skip in enumerate((False, *skips))
            ),
            skips,
        )
    if pick.random() < 0.6:
        return made
    bounds = [(1, None), (2, 2), (1, 3), (2, None)]
    return Often(made, *pick.choice([*bounds, (0, None), (0, 1), (0, 2)] if empty else bounds))


def _used(tree: Tree) -> set[str]:
    match tree:
        case One(name):
            return {name}
        case Chain(parts, _):
            return set[str]().union(*map(_used, parts))
        case Either(options):
            return set[str]().union(*map(_used, options))
        case Often(part):
            return _used(part)


class _Log:
    """Rows that come, change and go, in no order of their times."""

    def __init__(self, pick: random.Random) -> None:
        self._pick = pick
        self.rows: dict[int, Row] = {}

    def change(self) -> RowChange:
        pick, id = self._pick, self._pick.randrange(18)
        row = {"kind": pick.choice("abc"), "x": pick.randrange(4), "at": pick.randrange(25)}
        known = self.rows.get(id)
        if known is not None and pick.random() < 0.3:
            del self.rows[id]
            return delete("e", id=id)
        self.rows[id] = {"id": id, **row}
        told = {**row, "bit": 1 << id, "at": f"2026-03-01T10:{row['at']:02}:00Z"}
        return (insert if known is None else update)("e", id=id, **told)

    def in_order(self) -> list[Row]:
        return sorted(self.rows.values(), key=lambda each: (each["at"], each["id"]))


def _project(search: Search, define: dict[str, str]) -> str:
    said = ", ".join(f'{name}: "{text}"' for name, text in define.items())
    shown = ", ".join(f"{each}: sum({each}.bit)" for each in sorted(_used(search.tree)))
    absent = "" if search.absent is None else f" not {search.absent}"
    within = "" if search.within is None else f"within: {search.within}m,"
    after = "past_last" if search.past_last else "next_row"
    return f"""
relations:
  e:
    key: [id]
    fields: {{id: long, bit: long, kind: string, x: long, at: timestamp}}
    time: at
    watermark: {{delay: 1h}}
products:
  p: {{pattern: e, define: {{{said}}}, match: "{written(search.tree)}{absent}", {within}
    fields: {{{shown}}}, after: {after}}}
"""


def _found(rows: Sequence[Row], search: Search) -> dict[Any, dict[str, int | None]]:
    """Return the rows of each match as bits, by the key of its first row."""
    return {
        rows[taken[0][1]]["id"]: {
            name: sum(1 << each["id"] for each in rows_of(rows, taken, name)) or None
            for name in sorted(_used(search.tree))
        }
        for taken in matches(rows, search)
    }


@pytest.mark.parametrize("seed", each_seed(range(1000), few=60))
def test_a_product_holds_the_matches_that_a_plain_matcher_finds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 2:  # Starts know from the first where matches end.
        monkeypatch.setattr(matcher, "_FEW", 2 * matcher.MOST_STEPS)
    pick = random.Random(f"matches {seed}")
    tree = _tree(pick, pick.choice([1, 2, 3]), empty=False)
    used = sorted(_used(tree))
    within = pick.choice([None, 3, 8, 15])
    absent = "N" if within is not None and pick.random() < 0.3 else None
    names = [*used, absent] if absent else used
    conditions = {each: _condition(pick, used) for each in names if pick.random() < 0.85}
    more = random.Random(f"both {seed}")
    for name in [each for each in conditions if more.random() < 0.5]:
        conditions[name] = _both(conditions[name], _condition(more, used))
    tests = {name: test for name, (_, test) in conditions.items()}
    search = Search(
        tree,
        lambda rows, taken: taken[-1][0] not in tests or tests[taken[-1][0]](rows, taken),
        within=within,
        absent=absent,
        past_last=pick.random() < 0.5,
    )
    project = _project(search, {name: text for name, (text, _) in conditions.items()})
    driver = Driver(build_plan(load_text(project)).products[0])
    log = _Log(pick)

    for last in [False] * 4 + [True]:
        driver.send([log.change() for _ in range(pick.randrange(1, 8))])
        if last:
            driver.until_closed()

        held = {value["start"]["id"]: value for value in driver.documents().values()}
        shown = {id: {name: value[name] for name in used} for id, value in held.items()}
        # A match that something must not follow is told once its time is over: the watermark is
        # an hour late, and the whole log is shorter.
        assert (_found(log.in_order(), search) if last or not absent else {}) == shown, project
