"""Random logs of events, with the states that `functools.reduce` makes of them.

Nothing here is Joinery's: kinds are plain functions of a dictionary.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

from joinery.testing.changes import RowChange, delete, insert

START = datetime(2026, 3, 1, tzinfo=UTC)
WAITS_S = (0, 30, 600)
State = dict[str, Any]


def _plus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


KINDS: Mapping[str, Callable[[State, Mapping[str, Any]], State]] = {
    "Added": lambda state, event: {"sum": _plus(state["sum"], event["x"])},
    "Set": lambda state, event: {"last": event["x"], "note": event["s"]},
    "Swapped": lambda state, event: {"sum": state["last"] or 0, "last": state["sum"]},
    "Counted": lambda state, event: {"n": state["n"] + 1},
    "Ignored": lambda state, event: {},
}
_WHEN = """
      Added: {sum: sum + event.x}
      Set: {last: event.x, note: event.s}
      Swapped: {sum: "coalesce(last, 0)", last: sum}
      Counted: {n: n + 1}
"""


@dataclass(slots=True)
class EventLog:
    """One random product and its changes, in the order of their log.

    Attributes:
        wait_s: How long events behind a gap wait, by the watermark.
        wait_events: How many of them wait, instead; 0 where time decides.
        timed: Whether events tell a time.
        where: Whether events with a note "hidden" do not exist.
    """

    wait_s: int
    delay_s: int
    timed: bool
    where: bool
    wait_events: int = 0
    changes: list[RowChange] = field(default_factory=list)

    @property
    def project(self) -> str:
        """The relations and products of its project file."""
        time = f"time: at\n    watermark: {{delay: {self.delay_s}s}}" if self.timed else ""
        where = "where: s is null or s <> 'hidden'" if self.where else ""
        wait = f"{self.wait_events} events" if self.wait_events else f"{self.wait_s}s"
        return f"""
relations:
  r:
    key: [id]
    append: true
    fields:
      {{id: long, a: string, b: int, n: long, type: string, x: long, s: string, at: timestamp}}
    {time}
    {where}
products:
  p:
    fold: r
    by: [a, b]
    sequence: n
    state: {{sum: "long = 0", last: long, note: "string = 'new'", n: "int = 0"}}
    when:{_WHEN}
    wait: {wait}
"""


def random_log(seed: int, *, changes: int = 80, plain: bool = False) -> EventLog:
    """Return a product and its log.

    Args:
        seed: What it follows from.
        changes: About how many there are.
        plain: Without relations that leave rows out.
    """
    pick = random.Random(seed)
    wait_s = pick.choice(WAITS_S)
    log = EventLog(
        wait_s=wait_s,
        delay_s=pick.choice([0, 0, 45]),
        timed=wait_s > 0 or pick.random() < 0.5,
        where=not plain and pick.random() < 0.3,
        wait_events=pick.choice([0, 0, 1, 2, 5]),
    )
    numbers: dict[tuple[str, int | None], int] = {}
    told: list[tuple[float, RowChange]] = []
    for place in range(changes):
        key = (pick.choice(["p", "q"]), pick.choice([1, 2, None]))
        numbers[key] = numbers.get(key, 0) + (2 if pick.random() < 0.08 else 1)
        late = pick.choice([0, 0, 0, 0, 3, 3, 20, 60])
        event = _event(pick, place, key, numbers[key])
        told.append((place + late, event))
        kind = pick.random()
        if kind < 0.1:
            told.append((place + pick.randrange(30), _again(pick, event, 10_000 + place)))
        elif kind < 0.15:
            other = _event(pick, 20_000 + place, key, numbers[key])
            told.append((place + pick.randrange(30), other))
        elif kind < 0.18:
            told.append((place, delete("r", id=place)))
        elif kind < 0.2:
            number = pick.choice([0, -3, None])
            told.append((place, _event(pick, 30_000 + place, key, number)))
    log.changes = [each for _, each in sorted(told, key=lambda each: each[0])]
    return log


def _event(
    pick: random.Random, place: int, key: tuple[str, int | None], number: int | None
) -> RowChange:
    at = START + timedelta(seconds=10 * (place % 10_000) + pick.randrange(-5, 5))
    row = {
        "type": pick.choice([*KINDS, "Added"]),
        "x": pick.choice([1, 2, 3, 50, -4, None]) if pick.random() < 0.3 else pick.randrange(9),
        "s": pick.choice(["u", "v", "hidden", None]),
        "at": None if pick.random() < 0.05 else at,
    }
    return insert("r", id=place, a=key[0], b=key[1], n=number, **row)


def _again(pick: random.Random, event: RowChange, place: int) -> RowChange:
    """Return the same event, told again, perhaps under another key."""
    columns = dict(event.columns)
    if pick.random() < 0.5:
        columns["id"] = place
    return insert("r", **columns)


def truth(
    log: EventLog, changes: Sequence[RowChange], *, until_closed: bool = False
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the states once some changes are read, by key.

    Args:
        log: What they are of.
        changes: The first of its log.
        until_closed: Whether nothing is waited for any more.
    """
    told = [each.columns for each in changes if each.op == "insert"]
    times = [each["at"] for each in told if each["at"] is not None] if log.timed else []
    reached = max(times) - timedelta(seconds=log.delay_s) if times else None
    logs: dict[tuple[Any, ...], dict[int, Mapping[str, Any]]] = {}
    for each in told:
        hidden = log.where and each["s"] == "hidden"
        if each["n"] is not None and each["n"] > 0 and not hidden:
            events = logs.setdefault((each["a"], each["b"]), {})
            standing = events.setdefault(each["n"], {**each, "since": each["at"]})
            told_at = [at for at in (standing["since"], each["at"]) if at is not None]
            events[each["n"]] = {**standing, "since": min(told_at, default=None)}
    states = {}
    for key, events in logs.items():
        last = _last(log, events, reached, until_closed=until_closed)
        applied = [events[number] for number in sorted(events) if number <= last]
        if applied:
            begun = {"a": key[0], "b": key[1], "sum": 0, "last": None, "note": "new", "n": 0}
            states[key] = reduce(_next, applied, begun)
    return states


def _last(
    log: EventLog,
    events: Mapping[int, Mapping[str, Any]],
    reached: datetime | None,
    *,
    until_closed: bool,
) -> int:
    """Return the last number that applies: none is waited for before what has waited."""
    if log.wait_events:
        over = sorted(events)[: -log.wait_events + 1 or None]
        over = over if len(events) >= log.wait_events else []
    else:
        over = [
            number
            for number, event in events.items()
            if until_closed or log.wait_s == 0 or _is_over(log, event["since"], reached)
        ]
    last = max(over, default=0)
    while last + 1 in events:
        last += 1
    return last


def _is_over(log: EventLog, at: datetime | None, reached: datetime | None) -> bool:
    return at is not None and reached is not None and reached > at + timedelta(seconds=log.wait_s)


def _next(state: State, event: Mapping[str, Any]) -> State:
    return {**state, **KINDS[event["type"]](state, event)}
