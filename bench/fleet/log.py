"""The fleet's history: changes as Debezium sends them, of rows that name each other.

Of ten changes five are inserts, four updates and one a delete; some rows come back, some records
come twice, some references lead to nothing or to a row that comes later. Of the references to a hot
relation one in ten is to its hot row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Protocol

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.fleet.shape import HOT_REFERENCES, Fleet, Relation

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("ada", "alto", "bo", "bell", "Ærø", "cy", "acorn", "dune", "elm", "", "naïve", "zoë")
Key = tuple[int, ...]
Row = dict[str, Any]


@dataclass(slots=True)
class _Table:
    """The rows of a relation that stand, and the keys in an order that can be drawn from."""

    relation: Relation
    rows: dict[Key, Row]
    keys: list[Key]
    gone: list[Key]
    next_id: int = 1


class History:
    """Draws changes; holds the rows that stand after them."""

    def __init__(self, fleet: Fleet) -> None:
        self._random = Random(f"history {fleet.seed}")
        self._tables = {each.name: _Table(each, {}, [], []) for each in fleet.relations}
        self._names = list(self._tables)
        self._weights = [each.weight for each in fleet.relations]
        self._lsn = 0

    def lines(self, changes: int, *, only: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
        """Yield relation and record of a number of changes, of `only` these relations."""
        made = 0
        names = list(only) or self._names
        weights = [1.0] * len(only) or self._weights
        while made < changes:
            for name in self._random.choices(names, weights, k=min(1000, changes - made)):
                line = self._change(self._tables[name])
                yield name, line
                made += 1
                if self._random.random() < 0.005:
                    yield name, line
                    made += 1

    def write_rows(self, folder: Path) -> None:
        """Write the rows that stand, one file a relation."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in self._tables.items():
            with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as out:
                out.writelines(json.dumps(row) + "\n" for row in table.rows.values())

    def _change(self, table: _Table) -> str:
        drawn = self._random.random()
        if drawn < 0.5 or not table.keys:
            return self._insert(table)
        at = self._random.randrange(len(table.keys))
        return self._update(table, table.keys[at]) if drawn < 0.9 else self._delete(table, at)

    def _insert(self, table: _Table) -> str:
        key = self._new_key(table)
        if key in table.rows:
            return self._update(table, key)
        row = self._row(table.relation, key)
        table.rows[key] = row
        table.keys.append(key)
        return self._record("c", None, row)

    def _new_key(self, table: _Table) -> Key:
        if table.relation.link:
            return tuple(self._reference(target) or 1 for _, target in table.relation.references)
        if table.gone and self._random.random() < 0.1:
            return table.gone.pop()
        table.next_id += 1
        return (table.next_id - 1,)

    def _update(self, table: _Table, key: Key) -> str:
        before = table.rows[key]
        drawn = self._row(table.relation, key)
        moved = self._random.random() < 0.3
        kept = {column for column, _ in table.relation.references if not moved}
        after = {name: before[name] if name in kept else drawn[name] for name in drawn}
        for name in table.relation.payloads:
            if self._random.random() < 0.5:
                after[name] = before[name]
        table.rows[key] = after
        return self._record("u", before, after)

    def _delete(self, table: _Table, at: int) -> str:
        key, table.keys[at] = table.keys[at], table.keys[-1]
        table.keys.pop()
        table.gone.append(key)
        return self._record("d", table.rows.pop(key), None)

    def _row(self, relation: Relation, key: Key) -> Row:
        row: Row = dict(zip(relation.key, key, strict=True))
        for column, target in relation.references:
            if column not in row:
                row[column] = self._reference(target)
        return row | {each: self._payload(each) for each in relation.payloads}

    def _reference(self, target: str) -> int | None:
        """Return the id of a row that stands, stood, will stand, or None."""
        table, drawn = self._tables[target], self._random.random()
        if drawn < 0.04:
            return None
        if table.relation.hot and drawn < 0.04 + HOT_REFERENCES:
            return 1
        return self._random.randint(1, max(1, table.next_id + table.next_id // 20))

    def _payload(self, name: str) -> Any:
        random = self._random
        if random.random() < 0.05:
            return None
        match name:
            case "name":
                return f"{random.choice(NAMES)} {random.randrange(1000)}"
            case "n":
                return random.randrange(100)
            case "amount":
                return f"{random.randrange(-5000, 100_000) / 100:.2f}"
            case "made_at":
                at = START + timedelta(seconds=random.randrange(30_000_000))
                return at.strftime("%Y-%m-%dT%H:%M:%SZ")
            case "open":
                return random.random() < 0.7
        raise AssertionError(name)

    def _record(self, op: str, before: Row | None, after: Row | None) -> str:
        self._lsn += 1
        source = {"lsn": self._lsn, "ts_ms": 1_767_225_600_000 + self._lsn}
        return json.dumps({"op": op, "before": before, "after": after, "source": source})


class Log(Protocol):
    """Where the changes are written, and how a project file calls it."""

    @property
    def source(self) -> Mapping[str, Any]:
        """The source of a project file."""

    def write(self, lines: Iterable[tuple[str, str]], *, files: int, total: int) -> None:
        """Write `total` lines, each relation's over at most `files` files, where it has files."""


class LogFiles:
    """Change files, a folder a relation, in the order in which lines are taken."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0

    @property
    def source(self) -> Mapping[str, Any]:
        """The source of a project file."""
        return {"files": {"path": str(self._folder)}}

    def write(self, lines: Iterable[tuple[str, str]], *, files: int, total: int) -> None:
        """Write `total` lines, each relation's over at most `files` files."""
        each = -(-total // files)
        held: dict[str, list[str]] = {}
        for count, (name, line) in enumerate(lines, 1):
            held.setdefault(name, []).append(line)
            if count % each == 0:
                self._flush(held)
        self._flush(held)

    def _flush(self, held: dict[str, list[str]]) -> None:
        self._number += 1
        for name, lines in held.items():
            folder = self._folder / name
            folder.mkdir(parents=True, exist_ok=True)
            part = folder / f".{self._number:06d}"
            part.write_text("\n".join(lines) + "\n", encoding="utf-8")
            part.rename(folder / f"{self._number:06d}.jsonl")
        held.clear()


class LogTopics:
    """A topic a relation, each record with the key of its row, as Debezium sends it."""

    def __init__(self, fleet: Fleet, bootstrap: str) -> None:
        self._keys = {each.name: each.key for each in fleet.relations}
        self._bootstrap = bootstrap

    @property
    def source(self) -> Mapping[str, Any]:
        """The source of a project file."""
        return {"kafka": {"bootstrap": self._bootstrap}}

    def create(self, partitions: int) -> None:
        """Create all topics, those that nothing is written to, too."""
        admin = AdminClient({"bootstrap.servers": self._bootstrap})
        topics = [NewTopic(each, partitions, 1) for each in self._keys]
        for created in admin.create_topics(topics).values():
            created.result()

    def write(self, lines: Iterable[tuple[str, str]], *, files: int, total: int) -> None:
        """Write all lines; how many files there would be makes no difference."""
        producer = Producer({"bootstrap.servers": self._bootstrap, "linger.ms": 20})
        for count, (name, line) in enumerate(lines, 1):
            record = json.loads(line)
            row = record["after"] or record["before"]
            key = json.dumps({each: row[each] for each in self._keys[name]})
            producer.produce(name, value=line, key=key)
            if count % 10_000 == 0:
                producer.flush()
        producer.flush()
