"""Random products that aggregate and random logs, with what DuckDB makes of the same rows.

Which records are late is told by plain Python that reads each partition once; all else by SQL
over the rows that are left. Times lie within three days, so nothing is ever too late.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle.duck import emptied, fill

from joinery.testing.changes import RowChange, delete, insert, update

SECOND, MINUTE, HOUR = 1_000_000, 60_000_000, 3_600_000_000
START = datetime(2026, 2, 27, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# A value of a product, and the same in DuckDB's words.
VALUES = {
    "n": ("count(*)", "count(*)"),
    "known": ("count(x)", "count(x)"),
    "kinds": ("count(distinct x)", "count(distinct x)"),
    "total": ("sum(x)", "sum(x)::bigint"),
    "low": ("min(x)", "min(x)"),
    "high": ("max(s)", "max(s)"),
    "mean": ("avg(x)", "avg(x)"),
    "exact": ("sum(d)", "sum(d)"),
    "big": ("count(*) filter (where x > 3)", "count(*) filter (where x > 3)"),
    "one": ("first(x)", "first(x order by t nulls first, id) filter (where x is not null)"),
    "other": ("last(s)", "last(s order by t nulls first, id) filter (where s is not null)"),
    "few": (
        "collect(x, 3)",
        "coalesce(list(x order by t nulls first, id) filter (where x is not null), [])[1:3]",
    ),
    "plus": ("sum(x) + count(*)", "(sum(x) + count(*))::bigint"),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A window, and for DuckDB: what a row's windows are, from `t` in microseconds."""

    text: str
    sql: str


KINDS = (
    Kind("", ""),
    Kind("{tumbling: 1h}", "(t // 3600000000) * 3600000000 as ws, ws + 3600000000 as we"),
    Kind(
        "{tumbling: 90m, offset: 10m}",
        "((t - 600000000) // 5400000000) * 5400000000 + 600000000 as ws, ws + 5400000000 as we",
    ),
    Kind(
        "{tumbling: 1 week}",
        "epoch_us(date_trunc('week', make_timestamp(t))) as ws, ws + 604800000000 as we",
    ),
    Kind(
        "{tumbling: 1 month}",
        "epoch_us(date_trunc('month', make_timestamp(t))) as ws,"
        " epoch_us(date_trunc('month', make_timestamp(t)) + interval 1 month) as we",
    ),
    Kind(
        "{hopping: 2h, every: 50m}",
        "unnest(range((t // 3000000000) * 3000000000, t - 7200000000, -3000000000)) as ws,"
        " ws + 7200000000 as we",
    ),
    Kind(
        "{cumulative: 6h, every: 2h}",
        "(t // 21600000000) * 21600000000 as ws,"
        " unnest(range((t // 7200000000) * 7200000000 + 7200000000, ws + 21600000001,"
        " 7200000000)) as we",
    ),
    Kind("{session: 40m}", "session"),
)


@dataclass(slots=True)
class Log:
    """One random product and its records, in the order of their log."""

    append: bool
    by: tuple[str, ...]
    where: str
    kind: Kind
    values: tuple[str, ...]
    closed: bool
    late: str
    delay_us: int
    allowed_us: int
    changes: list[RowChange] = field(default_factory=list)

    @property
    def project(self) -> str:
        """The text of its project file."""
        key = "append: true" if self.append else "key: [id]"
        values = ", ".join(f'{each}: "{VALUES[each][0]}"' for each in self.values)
        window = f"window: {self.kind.text}, " if self.kind.text else ""
        where = f"where: {self.where}, " if self.where else ""
        emit = f"late: {self.late}, allowed: {self.allowed_us // SECOND}s"
        emit += ", when: closed" if self.closed else ""
        return f"""
sources: {{c: {{files: {{path: data}}}}}}
relations:
  r:
    {key}
    fields: {{id: long, a: string, b: int, x: long, s: string, d: double, at: timestamp}}
    time: at
    watermark: {{delay: {self.delay_us // SECOND}s}}
products:
  p: {{aggregate: r, by: [{", ".join(self.by)}], {window}{where}values: {{{values}}},
    emit: {{{emit}}}, sink: {{files: {{path: out}}}}}}
"""


def random_log(seed: int, *, records: int = 60) -> Log:
    """Return a product and its log."""
    pick = random.Random(seed)
    kind = pick.choice(KINDS)
    log = Log(
        append=pick.random() < 0.4,
        by=tuple(pick.sample(["a", "b"], pick.randrange(3))),
        where=pick.choice(["", "", "x > 1", "a <> 'q'"]),
        kind=kind,
        values=tuple(sorted(pick.sample(sorted(VALUES), pick.randrange(1, 6)))),
        closed=bool(kind.text) and pick.random() < 0.4,
        late=pick.choice(["correct", "correct", "drop", "dead_letter"]),
        delay_us=pick.choice([0, 30 * MINUTE]),
        allowed_us=pick.choice([0, 20 * MINUTE]),
    )
    clock = START
    for number in range(1, records + 1):
        clock += timedelta(minutes=pick.randrange(60))
        log.changes.append(_change(pick, log.append, clock, number))
    return log


def _change(pick: random.Random, append: bool, clock: datetime, number: int) -> RowChange:
    first = number <= 2  # both partitions are there from the first batch on
    id = number if append or first else pick.randrange(12)
    at = clock - timedelta(minutes=pick.choice([0, 0, 0, 10, 45, 300]))
    row: dict[str, Any] = {
        "a": pick.choice(["p", "q", None]),
        "b": pick.choice([1, 2, None]),
        "x": pick.choice([None, 1, 2, 3, 5, 8, -4]),
        "s": pick.choice([None, "u", "v", "Ä"]),
        "d": pick.choice([None, 0.25, 1.5, -8.0, 1e6]),
        "at": clock if first else None if pick.random() < 0.05 else at,
    }
    if not append and not first and pick.random() < 0.2:
        made = delete("r", id=id)
    elif not append and not first and pick.random() < 0.3:
        kept = {name: row[name] for name in pick.sample(sorted(row), 3)}
        made = update("r", id=id, **kept)
    else:
        made = insert("r", id=id, **row)
    return made.at(number).within(id % 2)


def truth(log: Log, records: int) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return what the sink should hold once the first `records` of a log are read, by key."""
    rows, watermark = _rows(log, log.changes[:records])
    connection = emptied()
    connection.execute(
        "create table r (id bigint, a varchar, b int, x bigint, s varchar, d double, t bigint)"
    )
    fill(connection, "r", rows)
    found = connection.execute(_query(log, watermark))
    names = [each[0] for each in found.description]
    bounds = 0 if not log.kind.text else 2 if "cumulative" in log.kind.text else 1
    made: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in found.fetchall():
        value = dict(zip(names, row, strict=True))
        for name in ("window_start", "window_end"):
            if name in value:
                value[name] = EPOCH + timedelta(microseconds=value[name])
        made[tuple(list(value.values())[: len(log.by) + bounds])] = value
    return made


def _rows(log: Log, changes: Iterable[RowChange]) -> tuple[list[tuple[Any, ...]], int | None]:
    """Return the rows that stand, without those that are late and left out; and the watermark."""
    newest: dict[int, int] = {}
    rows: dict[int, dict[str, Any]] = {}
    for each in changes:
        id, told = each.columns["id"], dict(each.columns)
        if each.op == "delete":
            rows.pop(id, None)
            continue
        row = {**rows.get(id, dict.fromkeys(("a", "b", "x", "s", "d", "at"))), **told}
        if row["at"] is not None:
            t = (row["at"] - EPOCH) // timedelta(microseconds=1)
            before = newest.get(each.partition)
            newest[each.partition] = t if before is None else max(before, t)
            late = before is not None and t < before - log.delay_us - log.allowed_us
            if late and log.late != "correct":
                continue
        rows[id] = row
    kept = [
        (
            *(row[name] for name in ("id", "a", "b", "x", "s", "d")),
            None if row["at"] is None else (row["at"] - EPOCH) // timedelta(microseconds=1),
        )
        for row in rows.values()
    ]
    return kept, min(newest.values()) - log.delay_us if newest else None


def _query(log: Log, watermark: int | None) -> str:
    where = f" where {log.where}" if log.where else ""
    timed = f"{where}{' and' if where else ' where'} t is not null"
    by = "".join(f"{each}, " for each in log.by)
    values = ", ".join(f"{VALUES[each][1]} as {each}" for each in log.values)
    if not log.kind.text:
        group = f" group by {', '.join(log.by)}" if log.by else ""
        return f"select {by}{values} from r{where}{group} having count(*) > 0"
    if log.kind.sql == "session":
        over = f"over ({'partition by ' + ', '.join(log.by) if log.by else ''} order by t)"
        gap = 40 * MINUTE
        inner = (
            f"select *, sum(new) {over} as run from"
            f" (select *, (t - lag(t) {over} >= {gap} or lag(t) {over} is null)::int as new"
            f" from r{timed})"
        )
        source = (
            f"select {by}run, min(t) as window_start, max(t) + {gap} as window_end, {values}"
            f" from ({inner}) group by {by}run"
        )
    else:
        source = (
            f"select {by}ws as window_start, we as window_end, {values}"
            f" from (select *, {log.kind.sql} from r{timed}) group by {by}ws, we"
        )
    shown = f"{by}window_start, window_end, {', '.join(log.values)}"
    if not log.closed:
        return f"select {shown} from ({source})"
    bound = -(2**62) if watermark is None else watermark - log.allowed_us
    return f"select {shown}, true as final from ({source}) where window_end <= {bound}"


def cuts(seed: int, records: int) -> Sequence[int]:
    """Return where a log is cut into batches."""
    pick = random.Random(seed)
    return (*sorted(pick.sample(range(2, records), 5)), records)
