"""Random histories, with the rows that SQLite makes of the same changes.

Of each key and time the latest position stands; neighbours that show the same are one row.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
        known: Whether rows tell from when until when they were known, by the column `told`.
    """

    track: str
    where: str
    append: bool
    known: bool = False
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
        told = ", told: timestamp" if self.known else ""
        known = ", known_at: told" if self.known else ""
        return f"""
relations:
  r:
    key: [a, b]
    fields: {{a: string, b: int, x: long, s: string, note: string, at: timestamp{told}}}
    derive: {{y: "x * 2"}}
    {where}
    {append}
products:
  p: {{history: r, valid: at{f", {self.track}" if self.track else ""}{known}}}
"""


def random_log(seed: int, *, changes: int = 60, whole: bool = False, known: bool = False) -> Log:
    """Return a product and its log.

    Args:
        seed: What it follows from.
        changes: How many there are.
        whole: Without updates of single columns, and with all positions or none.
        known: Whether it is kept when changes became known.
    """
    pick = random.Random(seed)
    log = Log(
        track=pick.choice(TRACKS),
        where=pick.choice(["", "", "x > 1"]),
        append=pick.random() < 0.2,
        known=known,
    )
    positioned = pick.choice([True, False])
    for number in range(changes):
        made = _change(pick, number, whole=whole)
        if positioned if whole else pick.random() < 0.5:
            made = made.at(pick.randrange(2 * changes) if pick.random() < 0.3 else number)
        if known:
            hours = number // 2 + pick.choice([0, 0, 0, 0, 1, -2])
            told = None if pick.random() < 0.04 else START + timedelta(days=100, hours=hours)
            made = replace(made, columns={**made.columns, "told": told})
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
        if not _is_version(log, each):
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


def known_truth(log: Log, changes: Sequence[RowChange]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return what the sink should hold where it is kept when rows were known.

    What SQLite finds is asked for after each time of knowing of each key; a row stands from the
    first of them at which it is found until the first at which it is not.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for key in {(each.columns["a"], each.columns["b"]) for each in changes}:
        of_key = [each for each in changes if (each.columns["a"], each.columns["b"]) == key]
        _know(log, of_key, found)
    return found


def _know(
    log: Log, changes: Sequence[RowChange], found: dict[tuple[Any, ...], dict[str, Any]]
) -> None:
    moments: dict[datetime, int] = {}
    before = truth(log, ())
    for number, each in enumerate(changes, 1):
        now = truth(log, changes[:number])
        if (told := each.columns.get("told")) is not None and _stands(log, changes[:number]):
            moments[max([told, *moments])] = number
        assert now == before or number in moments.values()
        before = now
    standing: dict[datetime, dict[str, Any]] = {}
    for moment, number in moments.items():
        rows = {key[2]: row for key, row in truth(log, changes[:number]).items()}
        for since in [each for each in standing if rows.get(each) != _plain(standing[each])]:
            standing.pop(since).update(known_to=moment, is_current=False)
        for since, row in rows.items():
            if since not in standing:
                standing[since] = {**row, "known_from": moment, "known_to": None}
                found[row["a"], row["b"], since, moment] = standing[since]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in row.items() if not name.startswith("known_")}


def _stands(log: Log, changes: Sequence[RowChange]) -> bool:
    """Return whether the last change is the one that stands at its time."""
    last = changes[-1]
    if not _is_version(log, last):
        return False
    others = [each for each in changes[:-1] if _is_version(log, each)]
    return all(
        (each.position or -1) <= (last.position or -1)
        for each in others
        if each.columns["at"] == last.columns["at"]
    )


def _is_version(log: Log, change: RowChange) -> bool:
    told = change.columns
    ends = change.op == "delete" and not log.append
    known = not log.known or told.get("told") is not None
    return told.get("at") is not None and known and (change.op == "insert" or ends)
