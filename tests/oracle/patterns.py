"""Random products that find patterns, and the changes of their relation."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from joinery.testing.changes import RowChange, delete, insert, update

START = datetime(2026, 3, 28, 12, tzinfo=UTC)
NAMES = "ABC"
KEYS = ("[a]", "[a]", "[a, b]", "[]", '{both: "concat(a, s)"}')

# What a row must be; `{v}` is the variable itself, `{o}` another.
PLAIN = ("x > 1", "x < 4", "s <> 't'", "s is null", "x in (1, 3, 5)", "a = 'p'", "true")
READING = (
    "x > prev(x)",
    "prev(s) = 't'",
    "x >= {o}.x",
    "x > first({v}.x)",
    "count({v}) < 3",
    "sum({v}.x) <= 9",
    "avg({o}.f) > 0 or count({o}) = 0",
    "count(*) < 4",
    "max({o}.x) >= x",
    "s <> last({o}.s)",
    "at - first({v}.at) < 7200",
    "100 / x > 20",
)
RULED = (
    "x > r.lo",
    "x between r.lo and r.hi",
    "r.w = 'u' or x > 3",
    "r is null",
    "q.hi >= x and s is not null",
    "x >= r.lo and count({v}) < 3",
    "x >= {o}.r.lo",
    "sum({v}.x) <= r.hi",
    "sum({v}.q.lo) < 6",
    "first({o}.r.w) <> q.w",
    "100 / r.lo > 20",
)
RULES = "rules: {r: {one: rule, on: [s]}, q: {one: rule, on: {s: a}}}"
SHOWN = {
    "n": "count(*)",
    "of": "count({v})",
    "known": "count({v}.x)",
    "one": "first({v}.id)",
    "last": "{v}.id",
    "total": "sum({v}.x)",
    "mean": "avg({v}.f)",
    "low": "min({v}.s)",
    "sum": "sum({v}.d)",
    "text": "concat({v}.s, '!')",
    "took": "{v}.at - first({o}.at)",
}


RULED_SHOWN = {
    "least": "{v}.r.lo",
    "most": "sum({v}.q.hi)",
    "word": "first({v}.r.w)",
    "rule": "{v}.r",
}


def random_project(pick: random.Random, *, append: bool, ruled: bool = False) -> str:
    """Return the relations and products of a project file.

    Args:
        pick: What is chosen by.
        append: Whether rows never change.
        ruled: Whether conditions and fields read rules, too.
    """
    match = _match(pick)
    within = pick.random() < 0.75
    absent = within and pick.random() < 0.25
    used = [each for each in NAMES if each in match]
    names = [*used, "N"] if absent else used
    conditions = (PLAIN, (*READING, *RULED, *RULED)) if ruled else (PLAIN, READING)
    define = {
        each: _condition(pick, each, used, conditions) for each in names if pick.random() < 0.7
    }
    shown = {
        each: SHOWN[each].format(v=pick.choice(used), o=pick.choice(used))
        for each in sorted(pick.sample(sorted(SHOWN), pick.randrange(1, 5)))
    }
    if ruled:
        name = pick.choice(sorted(RULED_SHOWN))
        shown[name] = RULED_SHOWN[name].format(v=pick.choice(used))
    lines = [
        "pattern: e" if ruled else "pattern: r",
        f"by: {pick.choice(KEYS)}",
        f'match: "{match}{" not N" if absent else ""}"',
        f"define: {{{', '.join(f'{name}: {quoted(text)}' for name, text in define.items())}}}",
        f"fields: {{{', '.join(f'{name}: {quoted(text)}' for name, text in shown.items())}}}",
        pick.choice(["after: next_row", "after: past_last"]),
        f"emit: {{{', '.join(_emit(pick, within=within, append=append))}}}",
    ]
    if within:
        lines.append(f"within: {pick.choice(['40m', '2h', '9h'])}")
    if pick.random() < 0.15:
        lines.append(f"order: {pick.choice(['[-x]', '[s, -at]', '[at]', '[f]'])}")
    if ruled:
        lines.append(RULES)
    below = "\n    ".join(lines)
    rule = "rule: {key: [s], fields: {s: string, lo: long, hi: long, w: string}}" if ruled else ""
    return f"""
relations:
  {rule}
  {"e" if ruled else "r"}:
    {"append: true" if append else ""}
    key: [id]
    fields: {{id: long, a: string, b: int, x: long, s: string, d: "decimal(12,2)", f: double,
      at: timestamp}}
    time: at
    watermark: {{delay: {pick.choice(["0s", "50m"])}}}
products:
  p:
    {below}
"""


def quoted(text: str) -> str:
    return f'"{text}"'


def _emit(pick: random.Random, *, within: bool, append: bool) -> list[str]:
    said = [pick.choice(["when: changed", "allowed: 90m"])]
    if within and pick.random() < 0.3:
        said.append("when: closed")
    said.append(pick.choice(["", "", "late: drop", *([] if append else ["late: dead_letter"])]))
    said.append(pick.choice(["", "retention: 1h", "retention: 5h"]))
    return list({each.split(":")[0]: each for each in said if each}.values())


def _condition(
    pick: random.Random, name: str, names: list[str], kinds: tuple[tuple[str, ...], ...]
) -> str:
    known = kinds[0] if pick.random() < 0.4 else kinds[1]
    other = pick.choice(names)
    text = pick.choice(known).format(v=name if name in names else other, o=other)
    return f"{text} and {pick.choice(PLAIN)}" if pick.random() < 0.2 else text


def _match(pick: random.Random) -> str:
    """Return a pattern that takes a row at least."""
    return " ".join(_parts(pick, pick.choice([1, 2, 2, 3]), depth=pick.choice([0, 1, 2])))


def _parts(pick: random.Random, number: int, depth: int) -> list[str]:
    found: list[str] = []
    for at in range(number):
        later = at > 0 and pick.random() < 0.4
        part = _part(pick, depth, needed=later or at == 0)
        found += ["->", part] if later else [part]
    return found


def _part(pick: random.Random, depth: int, *, needed: bool) -> str:
    kind = pick.random()
    if depth == 0 or kind < 0.6:
        part = pick.choice(NAMES)
    elif kind < 0.8:
        part = f"({' '.join(_parts(pick, pick.randrange(1, 3), depth - 1))})"
    else:
        part = f"({_part(pick, depth - 1, needed=True)} | {_part(pick, depth - 1, needed=True)})"
    often = ["", "", "", "", "+", "{2}", "{1,3}", "{2,}"]
    return part + pick.choice(often if needed else [*often, "*", "?", "{,2}"])


def random_changes(pick: random.Random, *, append: bool, number: int = 70) -> list[RowChange]:
    """Return changes whose times go on, but for some that come late."""
    standing: dict[int, dict[str, Any]] = {}
    changes: list[RowChange] = []
    for at in range(number):
        key = at if append and pick.random() < 0.95 else pick.randrange(20)
        known = standing.get(key)
        if known is not None and not append and pick.random() < 0.3:
            changes.append(delete("r", id=key))
            del standing[key]
            continue
        row = _row(pick, at)
        if known is not None and not append:
            column = pick.choice(sorted(row))
            row = known | {column: row[column]}
        standing[key] = row
        made = insert if known is None or append else update
        changes.append(made("r", id=key, **row))
    return changes


def _row(pick: random.Random, number: int) -> dict[str, Any]:
    at = START + timedelta(minutes=number * 20 + pick.choice([0, 0, 1, -70, 25]))
    if pick.random() < 0.06:
        at = START + timedelta(minutes=pick.randrange(24 * 60))
    return {
        "a": pick.choice(["p", "p", "q", None]),
        "b": pick.choice([1, 1, 2]),
        "x": pick.choice([None, 0, 1, 2, 3, 4, 5]),
        "s": pick.choice([None, "s", "t", "é"]),
        "d": pick.choice([None, "1.10", "2.20", "-3.05"]),
        "f": pick.choice([None, 0.1, 0.2, 1e17, -1e17]),
        "at": None if pick.random() < 0.04 else at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def with_rules(pick: random.Random, changes: list[RowChange]) -> list[RowChange]:
    """Return changes of the pattern's rows with those of rules between them."""
    standing: set[str] = set()
    found: list[RowChange] = []
    for each in changes:
        found.append(replace(each, relation="e"))
        if pick.random() < 0.3:
            key = pick.choice(["s", "t", "é", "p", "q"])
            if key in standing and pick.random() < 0.3:
                found.append(delete("rule", s=key))
                standing.remove(key)
            else:
                found.append((update if key in standing else insert)("rule", s=key, **_rule(pick)))
                standing.add(key)
    return found


def _rule(pick: random.Random) -> dict[str, Any]:
    return {
        "lo": pick.choice([None, 0, 1, 2]),
        "hi": pick.choice([None, 2, 4, 8]),
        "w": pick.choice([None, "s", "t", "u"]),
    }
