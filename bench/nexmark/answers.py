"""What each side answered to a query of Nexmark, in one form: rows, each as often as it is there.

DuckDB's answer over the same files is the right one. Values are compared exactly, as its types
have them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]
Kinds = list[str]
"""The names of the types of a row's columns."""
COLUMNS = {
    "person": "id BIGINT, name STRING, email STRING, card STRING, city STRING, state STRING,"
    " joined_at TIMESTAMP, extra STRING",
    "auction": "id BIGINT, item STRING, description STRING, initial_bid BIGINT, reserve BIGINT,"
    " opened_at TIMESTAMP, expires_at TIMESTAMP, seller BIGINT, category BIGINT, extra STRING",
    "bid": "id BIGINT, auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,"
    " placed_at TIMESTAMP, extra STRING",
    "side": "id BIGINT, label STRING",
}
_READ: dict[str, Callable[[Any], Any]] = {
    "BIGINT": int,
    "HUGEINT": int,
    "DOUBLE": float,
    "DATE": date.fromisoformat,
    "TIMESTAMP": lambda told: datetime.fromisoformat(told.removesuffix("Z").replace("+00:00", "")),
    "VARCHAR": str,
}


class Oracle:
    """DuckDB over the files of events."""

    def __init__(self, events: Path) -> None:
        import duckdb

        self._database = duckdb.connect()
        for relation, told in COLUMNS.items():
            columns = dict(each.strip().split(" ") for each in told.split(","))
            files = str(events / relation / "*.jsonl")
            self._database.execute(
                f"CREATE TABLE {relation} AS SELECT * FROM"
                f" read_json('{files}', format = 'newline_delimited', columns = {columns})"
            )

    def rows(self, sql: str) -> tuple[Kinds, Counter[Row]]:
        """Return the types of the columns, and the rows."""
        answer = self._database.sql(sql)
        kinds = [str(each).split("(")[0] for each in answer.types]
        return kinds, Counter(answer.fetchall())


def of_joinery(folder: Path, *, ranked: bool) -> Iterator[Row]:
    """Yield the rows of a product that its sink of files holds in the end."""
    held: dict[str, Mapping[str, Any]] = {}
    for line in _lines(folder.glob("*.jsonl")):
        held[json.dumps(line["key"], default=str)] = line["value"]
    for value in held.values():
        if value is not None:
            yield from spread(value, ranked=ranked)


def spread(value: Mapping[str, Any], *, ranked: bool = False) -> Iterator[Row]:
    """Yield a document as flat rows: objects become columns, each entry of a list a row.

    Args:
        value: A document.
        ranked: Put the place in a list in front of its entry, from 1.

    Example:
        >>> list(spread({"id": 1, "bids": [{"price": 5}, {"price": 4}]}, ranked=True))
        [(1, 1, 5), (1, 2, 4)]
    """
    for parts in product(*(_parts(each, ranked=ranked) for each in value.values())):
        yield tuple(one for part in parts for one in part)


def _parts(value: Any, *, ranked: bool) -> list[Row]:
    match value:
        case list():
            return [
                (place, *row) if ranked else row
                for place, entry in enumerate(value, 1)
                for row in spread(entry)
            ]
        case dict():
            return list(spread(value))
        case _:
            return [(value,)]


def of_spark(folder: Path, *, keys: int) -> Iterator[Row]:
    """Yield the rows that Spark sent, of each key the newest."""
    rows = (tuple(line.values()) for line in _lines(folder.rglob("part-*.json")))
    if not keys:
        return rows
    return iter({row[:keys]: row for row in rows}.values())


def _lines(files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in sorted(files):
        with path.open(encoding="utf-8") as lines:
            yield from (json.loads(line, parse_float=Decimal) for line in lines)


_PRINTED = re.compile(r"^(?:\d+> )?([+-])[IUD]\[(.*)\]$")


def of_flink(log: Path) -> Iterator[Row]:
    """Yield the rows that are there once Flink's connector `print` has told all changes."""
    rows: Counter[Row] = Counter()
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            if told := _PRINTED.match(line.strip()):
                row = tuple(None if each == "null" else each for each in told[2].split(", "))
                rows[row] += 1 if told[1] == "+" else -1
    return rows.elements()


def difference(kinds: Kinds, wanted: Counter[Row], found: Iterable[Row]) -> str:
    """Return how rows differ from those that are wanted; empty where they are the same."""
    had = Counter(tuple(map(_value, kinds, row)) for row in found)
    missing, more = wanted - had, had - wanted
    if not missing and not more:
        return ""
    examples = f"such as {next(iter(missing), None)} and {next(iter(more), None)}"
    return f"{missing.total()} rows are missing, {more.total()} too many, {examples}"


def _value(kind: str, told: Any) -> Any:
    if told is None:
        return None
    return _READ[kind](told) if kind in _READ else Decimal(str(told))
