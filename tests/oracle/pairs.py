"""Random streams that join two logs, and the pairs that DuckDB makes of the same events."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle.duck import emptied, fill

from joinery.testing.changes import RowChange, insert

START = datetime(2026, 3, 1, tzinfo=UTC)
INTERVALS = ((0, 30), (-10, 10), (5, 60), (-45, -5), (0, 0))
Pair = tuple[int, int, str, str]


@dataclass(frozen=True, slots=True)
class Logs:
    """A stream that joins, and batches of events; times are minutes after `START`."""

    within: tuple[int, int]
    batches: tuple[tuple[RowChange, ...], ...]

    @property
    def project(self) -> str:
        """Its relations and its stream."""
        first, last = self.within
        fields = "fields: {id: long, k: int, x: string, at: timestamp}"
        log = f"{{append: true, key: [id], time: at, watermark: {{delay: 1h}}, {fields}}}"
        return f"""
relations:
  one: {log}
  two: {log}
streams:
  s:
    from: one
    steps:
      - {{join: two, on: [k], within: [{first}m, {last}m], fields: {{y: x}}}}
      - {{select: [x, y]}}
"""


def random_logs(seed: int, *, batches: int = 4, events: int = 30) -> Logs:
    """Return a stream and its events; none is told twice, and none too late to count."""
    pick = random.Random(f"pairs {seed}")
    numbers = {"one": 0, "two": 0}

    def event(batch: int) -> RowChange:
        log = pick.choice(("one", "two"))
        numbers[log] += 1
        at = START + timedelta(minutes=batch * 30 + pick.randrange(90))
        return insert(
            log,
            id=numbers[log],
            k=pick.choice([1, 2, 3, None]),
            x=pick.choice(["a", "b", "c"]),
            at=at if pick.random() < 0.95 else None,
        )

    told = tuple(tuple(event(batch) for _ in range(events)) for batch in range(batches))
    return Logs(pick.choice(INTERVALS), told)


def truth(logs: Logs, batches: int) -> set[Pair]:
    """Return the pairs of all events of the first batches."""
    database = emptied()
    for name in ("one", "two"):
        database.execute(f"create table {name} (id bigint, k int, x varchar, told timestamptz)")
        fill(database, name, _rows(name, logs.batches[:batches]))
    first, last = logs.within
    return set(
        database.execute(
            "select one.id, two.id, one.x, two.x from one join two using (k)"
            f" where two.told between one.told + interval ({first}) minute"
            f" and one.told + interval ({last}) minute"
        ).fetchall()
    )


def _rows(name: str, batches: Sequence[Sequence[RowChange]]) -> list[list[Any]]:
    told = (each for batch in batches for each in batch if each.relation == name)
    return [[each.columns[column] for column in ("id", "k", "x", "at")] for each in told]
