"""Random products with `within` and random logs, with what DuckDB makes of the same rows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle.duck import emptied, fill

from joinery.testing.changes import RowChange, delete, insert

SECOND, MINUTE = 1_000_000, 60_000_000
START = datetime(2026, 2, 27, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ON = {
    "{r_id: id}": "c.r_id = r.id",
    "[u]": "c.u = r.u",
    "{r_id: id, u: u}": "c.r_id = r.id and c.u = r.u",
}
ORDERS = {"": "c.id", "order: [-n],": "c.n desc nulls last, c.id", "order: [at],": "c.t, c.id"}
COLUMNS: dict[str, dict[str, Any]] = {
    "r": dict.fromkeys(("id", "u", "x", "at")),
    "c": dict.fromkeys(("id", "r_id", "u", "n", "at")),
}
ALIKE = COLUMNS["r"] | COLUMNS["c"]
ENDS = ((0, 30), (-60, 0), (-20, 45), (10, 10), (-90, -15), (5, 300))


@dataclass(slots=True)
class Log:
    """One random product and the records of both its relations, in the order of their logs.

    Attributes:
        within: In minutes, as are `delay`, `allowed` and `retention`.
        seen: Whether rows above are there only once they have an `x`.
        alike: Whether rows above are also those of the interval.
        append: Whether both relations are logs, whose rows never change.
    """

    on: str
    within: tuple[int, int]
    where: bool
    order: str
    limit: int
    one: bool
    closed: bool
    delay: int
    allowed: int
    late: str = "correct"
    retention: int = 7 * 24 * 60
    seen: bool = False
    alike: bool = False
    append: bool = False
    changes: list[RowChange] = field(default_factory=list)

    @property
    def project(self) -> str:
        """The relations and the product of its project file."""
        first, last = (f"{each}m" for each in self.within)
        where = "where: n > 1," if self.where else ""
        limit = f"limit: {self.limit}," if self.limit and not self.one else ""
        kind = "one" if self.one else "many"
        when = "closed" if self.closed else "changed"
        seen = ", where: x is not null" if self.seen else ""
        rows = "id: long, u: string, x: long, at: timestamp"
        near = "id: long, r_id: long, u: string, n: long, at: timestamp"
        delay = f"watermark: {{delay: {self.delay}m}}"
        append = "append: true, " if self.append else ""
        relations = f"""
  r: {{{append}key: [id], fields: {{{rows}}}, time: at{seen}}}
  c: {{{append}key: [id], fields: {{{near}}}, time: at, {delay}}}"""
        if self.alike:
            alike = f"{append}key: [id], fields: {{{near}, x: long}}, time: at, {delay}{seen}"
            relations = f"\n  r: {{{alike}}}"
        child = "r" if self.alike else "c"
        return f"""
relations:{relations}
products:
  p:
    root: r
    fields: [id, x]
    embed:
      near:
        {kind}: {child}
        on: {self.on}
        within: [{first}, {last}]
        {where.rstrip(",")}
        {self.order.rstrip(",")}
        {limit.rstrip(",")}
        fields: [id, n]
      all: {{many: {child}, on: {self.on}, within: [{first}, {last}], fields: [n], hidden: true}}
    values: {{count: size(all), total: sum(all.n), most: max(all.n)}}
    emit:
      when: {when}
      allowed: {self.allowed}m
      late: {self.late}
      retention: {self.retention}m
"""

    def standing(self, records: int) -> list[tuple[str, dict[str, Any]]]:
        """Return the rows that count once so many records are read, each with its relation.

        A row that is forgotten to a change of it stays beside what has its key then, one above
        until another is there. It knows of one partition each.
        """
        if self.alike:
            return [*self._standing(records, "r"), *self._standing(records, "c")]
        return self._standing(records)

    def _standing(self, records: int, role: str = "") -> list[tuple[str, dict[str, Any]]]:
        rows: dict[tuple[str, int], dict[str, Any]] = {}
        former: dict[tuple[str, int, int], dict[str, Any]] = {}
        newest: dict[str, int] = {}
        for number, each in enumerate(self.changes[:records]):
            relation, id = place = role or each.relation, each.columns["id"]
            if self.append and each.op == "delete":
                continue
            watermark = None
            if relation in newest:
                delay = self.delay if relation == "c" or self.alike else 0
                watermark = newest[relation] - delay * MINUTE
            old = rows.get(place)
            forgotten = self._is_past(old, watermark, relation, forgotten=True)
            base = None if forgotten else old
            blank = ALIKE if self.alike else COLUMNS[relation]
            row = None if each.op == "delete" else {**(base or blank), **each.columns}
            at = None if row is None else _micros(row["at"])
            if at is not None and "at" in each.columns:
                newest[relation] = max(newest.get(relation, at), at)
            told = each.op == "insert" or "at" in each.columns
            if row is not None and at is None and base is None and not told:
                continue
            judged = None if self.late == "correct" or watermark is None else at
            if judged is not None and judged < (watermark or 0) - self.allowed * MINUTE:
                continue
            if self._is_past(base if row is None else row, watermark, relation):
                continue
            if forgotten:
                past = rows.pop(place)
                if self._is_there(relation, past):
                    former[*place, number if relation == "c" else 0] = past
            if row is None:
                rows.pop(place, None)
                continue
            rows[place] = row
            if relation == "r" and self._is_there(relation, row):
                former.pop((relation, id, 0), None)
        found = [(relation, row) for (relation, _), row in rows.items()]
        found += [(relation, row) for (relation, *_), row in former.items()]
        return [each for each in found if self._is_there(*each)]

    def _is_there(self, relation: str, row: dict[str, Any]) -> bool:
        return (relation != "r" and not self.alike) or not self.seen or row["x"] is not None

    def _is_past(
        self,
        row: dict[str, Any] | None,
        watermark: int | None,
        relation: str,
        *,
        forgotten: bool = False,
    ) -> bool:
        """Return whether a row is so old that it counts no more, or is forgotten."""
        at = None if row is None else _micros(row["at"])
        if at is None or watermark is None:
            return False
        before, after = -min(0, self.within[0]), max(0, self.within[1])
        near = relation == "c" or self.alike
        counts = after + self.allowed + self.retention + (before if near else 0)
        if forgotten:
            counts += (before + after) * (1 if near else 2)
        return watermark - at > counts * MINUTE


def random_log(seed: int, *, records: int = 90) -> Log:
    """Return a product and its log."""
    pick = random.Random(seed)
    log = Log(
        on=pick.choice(sorted(ON)),
        within=pick.choice(ENDS),
        where=pick.random() < 0.3,
        order=pick.choice(sorted(ORDERS)),
        limit=pick.choice([0, 0, 1, 3]),
        one=pick.random() < 0.25,
        closed=pick.random() < 0.6,
        delay=pick.choice([0, 20]),
        allowed=pick.choice([0, 15]),
    )
    clock = START
    for number in range(records):
        clock += timedelta(minutes=pick.randrange(12))
        log.changes.append(_change(pick, clock, number))
    return log


def random_forgetting(seed: int, *, records: int = 90, recent: bool = False) -> Log:
    """Return a product that forgets soon, or leaves out late rows, and its log.

    Args:
        seed: What it is made from.
        records: How many there are.
        recent: Whether only rows change that still count, so that what stays of others does not
            depend on when they were forgotten.
    """
    log, pick = random_log(seed, records=0), random.Random(seed + 1_000_000)
    log.late = pick.choice(["correct", "correct", "drop", "dead_letter"])
    log.retention = pick.choice([90, 180] if recent else [0, 20, 90])
    clock = START
    for number in range(records):
        clock += timedelta(minutes=pick.randrange(12))
        change = _change(pick, clock, number)
        columns = dict(change.columns)
        if recent:
            columns["id"] = max(0, number // 4 - pick.randrange(3))
            columns |= {"r_id": columns["id"] - pick.randrange(2)} if "r_id" in columns else {}
        if columns.get("at") is not None and pick.random() < 0.15:
            columns["at"] = clock - timedelta(minutes=pick.choice([200, 400, 900]))
        log.changes.append(replace(change, columns=columns))
    return log


def _change(pick: random.Random, clock: datetime, number: int) -> RowChange:
    relation = "r" if pick.random() < 0.4 else "c"
    id = pick.randrange(10)
    if pick.random() < 0.15:
        return delete(relation, id=id).at(number)
    at = clock - timedelta(minutes=pick.choice([0, 0, 0, 5, 30, 120]))
    row: dict[str, Any] = {"u": pick.choice(["p", "q", None])}
    row["at"] = None if pick.random() < 0.05 else at
    if relation == "r":
        row["x"] = pick.randrange(3)
    else:
        row |= {"r_id": pick.choice([None, *range(10)]), "n": pick.choice([None, 1, 2, 3, 5])}
    return insert(relation, id=id, **row).at(number)


def random_partial(seed: int, *, records: int = 200, roots_go: bool = False) -> Log:
    """Return a product that forgets soon, and a log in which updates leave columns out.

    In some, a row above is not there before it has an `x`.

    Args:
        seed: What it is made from.
        records: How many there are.
        roots_go: Whether rows above are deleted. Where the key of one comes back and goes before
            that is sent, what was sent before stays if its state is gone.
    """
    log, pick = random_forgetting(seed, records=records), random.Random(seed + 2_000_000)
    log.retention = pick.choice([0, 20, 90])
    if not roots_go:
        log.changes = [each for each in log.changes if each.op != "delete" or each.relation == "c"]
    for number, each in enumerate(log.changes):
        if each.op == "insert" and pick.random() < 0.5:
            told = {name: value for name, value in each.columns.items() if pick.random() < 0.6}
            told["id"] = each.columns["id"]
            log.changes[number] = replace(each, op="update", columns=told)
    log.seen = pick.random() < 0.5
    return log


def random_alike(seed: int, *, recent: bool = False) -> Log:
    """Return a product whose interval has the rows of its root, of which none is deleted.

    Args:
        seed: What it is made from.
        recent: As for `random_forgetting`.
    """
    log = random_forgetting(seed, recent=True) if recent else random_partial(seed)
    log.alike = True
    kept = [each for each in log.changes if each.op != "delete"]
    blank = {**ALIKE, "x": 1}  # A root that is seen and no more is not what is examined.
    told = ({**(blank if each.op == "insert" else {}), **each.columns} for each in kept)
    log.changes = [
        replace(each, relation="r", columns=columns)
        for each, columns in zip(kept, told, strict=True)
    ]
    return log


def random_append(seed: int, *, records: int = 120) -> Log:
    """Return a product over logs: rows never change, may come again, and deletes are ignored.

    Args:
        seed: What it is made from.
        records: How many there are.
    """
    log, pick = random_forgetting(seed, records=records), random.Random(seed + 3_000_000)
    log.append, log.seen = True, pick.random() < 0.3
    made: list[RowChange] = []
    for number, each in enumerate(log.changes):
        told, chance = [one for one in made if one.op == "insert"], pick.random()
        if told and chance < 0.3:
            again = pick.choice(told[-8:] if chance < 0.15 else told)
            gone = delete(again.relation, id=again.columns["id"])
            made.append((gone if chance < 0.05 else again).at(number))
        else:
            made.append(_inserted(pick, each, number))
    log.changes = made
    return log


def random_append_alike(seed: int) -> Log:
    """Return a product whose interval has the rows of its root, which never change."""
    log = random_append(seed)
    log.alike = True
    log.changes = [
        replace(
            each,
            relation="r",
            columns=each.columns if each.op == "delete" else {**ALIKE, "x": 1, **each.columns},
        )
        for each in log.changes
    ]
    return log


def _inserted(pick: random.Random, change: RowChange, number: int) -> RowChange:
    at = START + timedelta(minutes=6 * number)
    columns = {**COLUMNS[change.relation], "at": at, **change.columns, "id": number}
    if "r_id" in columns:
        columns["r_id"] = pick.choice([None, *range(max(0, number - 15), number)])
    return insert(change.relation, **columns).at(number)


def cuts(seed: int, records: int) -> Sequence[int]:
    """Return where a log is cut into batches."""
    pick = random.Random(seed)
    return (*sorted(pick.sample(range(2, records), 7)), records)


def truth(log: Log, records: int, *, ended: bool = False) -> dict[int, dict[str, Any]]:
    """Return what the sink should hold once the first `records` of a log are read, by key.

    Args:
        log: The log and its product.
        records: How many.
        ended: Whether nothing is waited for any more.
    """
    newest = None
    for each in log.changes[:records]:
        at = _micros(each.columns.get("at")) if each.op != "delete" else None
        if each.relation == ("r" if log.alike else "c") and at is not None:
            newest = at if newest is None else max(newest, at)
    connection = emptied()
    connection.execute("create table r (id bigint, u varchar, x bigint, t bigint)")
    connection.execute("create table c (id bigint, r_id bigint, u varchar, n bigint, t bigint)")
    standing: dict[str, list[list[object]]] = {"r": [], "c": []}
    for relation, row in log.standing(records):
        columns = ("u", "x") if relation == "r" else ("r_id", "u", "n")
        values = [row["id"], *(row[each] for each in columns), _micros(row["at"])]
        standing[relation].append(values)
    for relation, rows in standing.items():
        fill(connection, relation, rows)
    watermark = None if newest is None else newest - log.delay * MINUTE
    watermark = 2**62 if ended else watermark
    found = connection.execute(_query(log, watermark))
    names = [each[0] for each in found.description]
    return {row[0]: dict(zip(names, row, strict=True)) for row in found.fetchall()}


def _micros(at: Any) -> int | None:
    return None if at is None else (at - EPOCH) // timedelta(microseconds=1)


def _query(log: Log, watermark: int | None) -> str:
    first, last = (each * MINUTE for each in log.within)
    join = f"{ON[log.on]} and c.t - r.t between {first} and {last}"
    kept = f"{join} and c.n > 1" if log.where else join
    rows = f"list({{'id': c.id, 'n': c.n}} order by {ORDERS[log.order]})"
    rows = f"coalesce((select {rows} from c where {kept}), [])"
    if log.one:
        near = f"{rows}[1] as near"
    elif log.limit:
        near = f"{rows}[1:{log.limit}] as near, len({rows}) as near_total"
    else:
        near = f"{rows} as near"
    over = f"from c where {join})"
    values = (
        f"(select count(*) {over} as count, (select sum(c.n)::bigint {over} as total,"
        f" (select max(c.n) {over} as most"
    )
    text = f"select r.id, r.x, {near}, {values} from r"
    if not log.closed:
        return text
    bound = -(2**62) if watermark is None else watermark - last - log.allowed * MINUTE
    return f"{text} where r.t is null or r.t < {bound}"
