"""Random histories, with the rows that SQLite makes of the same changes.

Of each key and time the latest position stands; neighbours that show the same are one row.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from joinery.testing.changes import RowChange, delete, insert, tombstone, update

START = datetime(2026, 3, 28, tzinfo=UTC)
TRACKS = ("", "track: [x]", "track: [x, s]", "track: []", "track: [y]")


@dataclass(slots=True)
class Log:
    """One random product and its changes, in the order of their log.

    Attributes:
        tracked: The columns that its rows show.
        where: Which versions exist, in words of Spark and of SQLite alike.
    """

    track: str
    where: str
    append: bool
    changes: list[RowChange] = field(default_factory=list)

    @property
    def tracked(self) -> tuple[str, ...]:
        """The columns that a row shows beside its key and its times."""
        if not self.track:
            return ("x", "s", "note", "y")
        return (
            tuple(self.track.split("[")[1].rstrip("]").replace(" ", "").split(","))
            if ("[]" not in self.track)
            else ()
        )

    @property
    def project(self) -> str:
        """The relations and products of its project file."""
        where = f'where: "{self.where}"' if self.where else ""
        append = "append: true" if self.append else ""
        return f"""
relations:
  r:
    key: [a, b]
    fields: {{a: string, b: int, x: long, s: string, note: string, at: timestamp}}
    derive: {{y: "x * 2"}}
    {where}
    {append}
products:
  p: {{history: r, valid: at{f", {self.track}" if self.track else ""}}}
"""


def random_log(seed: int, *, changes: int = 60, whole: bool = False) -> Log:
    """Return a product and its log.

    Args:
        seed: What it follows from.
        changes: How many there are.
        whole: Without updates of single columns, and with all positions or none.
    """
    pick = random.Random(seed)
    log = Log(
        track=pick.choice(TRACKS),
        where=pick.choice(["", "", "x > 1"]),
        append=pick.random() < 0.2,
    )
    positioned = pick.choice([True, False])
    for number in range(changes):
        made = _change(pick, number, whole=whole)
        if positioned if whole else pick.random() < 0.5:
            made = made.at(pick.randrange(2 * changes) if pick.random() < 0.3 else number)
        log.changes.append(made)
    return log


def _change(pick: random.Random, number: int, *, whole: bool) -> RowChange:
    key = {"a": pick.choice(["p", "q"]), "b": pick.choice([1, 2])}
    row: dict[str, Any] = {
        "x": pick.choice([1, 2, 2, 3, None]),
        "s": pick.choice(["u", "v", None]),
        "note": pick.choice(["m", "n"]),
    }
    hours = number + pick.choice([0, 0, 0, -1, -3, -20, 2])
    at = None if pick.random() < 0.05 else START + timedelta(hours=hours)
    kind = pick.random()
    if kind < 0.15:
        return delete("r", **key, at=at)
    if kind < 0.2:
        return pick.choice([delete, tombstone])("r", **key)
    if not whole and kind < 0.4:
        kept = {name: row[name] for name in pick.sample(sorted(row), 2)}
        return update("r", **key, **kept, at=at)
    return insert("r", **key, **row, at=at)


_TRUTH = """
with standing as (
  select *, row_number() over (partition by a, b, at order by position desc, number desc) as rank
  from change
), version as (
  select a, b, at, x, s, note, x * 2 as y, not gone and coalesce({where}, 0) as here
  from standing where rank = 1
), marked as (
  select *, json_array({tracked}) as shows from version
), turn as (
  select *, lag(here, 1, 0) over each_key as was, lag(shows) over each_key as showed
  from marked window each_key as (partition by a, b order by at)
), bounded as (
  select *, lead(at) over (partition by a, b order by at) as until
  from turn where here <> was or (here and shows <> showed)
)
select a, b, at, {columns} until from bounded where here
"""


def truth(log: Log, changes: Sequence[RowChange]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return what the sink should hold once some changes are read, by key."""
    connection = sqlite3.connect(":memory:")
    connection.execute("create table change (number, position, a, b, x, s, note, at, gone)")
    for number, each in enumerate(changes):
        told = each.columns
        ends = each.op == "delete" and not log.append
        if told.get("at") is None or (each.op != "insert" and not ends):
            continue
        row = (told["a"], told["b"], told.get("x"), told.get("s"), told.get("note"))
        at = (told["at"] - START) // timedelta(hours=1)
        connection.execute(
            "insert into change values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (number, each.position, *row, at, ends),
        )
    columns = "".join(f"{each}, " for each in log.tracked)
    query = _TRUTH.format(where=log.where or "1", tracked=", ".join(log.tracked), columns=columns)
    rows = connection.execute(query).fetchall()
    connection.close()
    return dict(_row(log, row) for row in rows)


def _row(log: Log, row: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    a, b, at, *shown, until = row
    key = (a, b, _moment(at))
    value = {"a": a, "b": b, "valid_from": key[2], **dict(zip(log.tracked, shown, strict=True))}
    ended = None if until is None else _moment(until)
    return key, {**value, "valid_to": ended, "is_current": until is None}


def _moment(hours: int) -> datetime:
    return START + timedelta(hours=hours)
