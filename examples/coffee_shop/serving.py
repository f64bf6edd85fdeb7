"""The serving tables as the sinks keep them, read for the dashboard and the consistency window."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

TABLE = "enriched_orders"


class Serving(Protocol):
    """Reads the flat, enriched orders."""

    def select(self, columns: Sequence[str], rest: str = "") -> list[tuple[Any, ...]]:
        """Return columns of the orders; `rest` are the clauses behind them. No table, no rows."""


class SqliteServing:
    """A table of the sink sqlite."""

    def __init__(self, path: Path, table: str = TABLE) -> None:
        self._path = path
        self._table = table

    def select(self, columns: Sequence[str], rest: str = "") -> list[tuple[Any, ...]]:
        """Return columns of the orders."""
        if not self._path.exists():
            return []
        with closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)) as database:
            try:
                return database.execute(
                    f"SELECT {', '.join(columns)} FROM {self._table} {rest}"
                ).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return []
                raise


class PostgresServing:
    """A table of the sink postgres."""

    def __init__(self, url: str, table: str = TABLE) -> None:
        self._url = url
        self._table = table

    def select(self, columns: Sequence[str], rest: str = "") -> list[tuple[Any, ...]]:
        """Return columns of the orders."""
        import psycopg

        with psycopg.connect(self._url, autocommit=True) as database:
            try:
                statement = f"SELECT {', '.join(columns)} FROM {self._table} orders {rest}"
                return database.execute(statement).fetchall()
            except psycopg.errors.UndefinedTable:
                return []


def newest(serving: Serving, limit: int = 20) -> list[dict[str, Any]]:
    """Return the newest orders, each as the page shows it."""
    shown = ("order_id", "customer", "tier", "product", "quantity", "total", "ordered_at")
    rows = serving.select(shown, f"ORDER BY ordered_at DESC, order_id DESC LIMIT {limit}")
    return [dict(zip(shown, map(_plain, row), strict=True)) for row in rows]


def by_tier(serving: Serving) -> list[dict[str, Any]]:
    """Return orders and revenue a tier."""
    rows = serving.select(("tier", "count(*)", "sum(total)"), "GROUP BY tier ORDER BY tier")
    return [
        {"tier": tier or "none", "orders": orders, "revenue": round(float(revenue or 0), 2)}
        for tier, orders, revenue in rows
    ]


def shown(serving: Serving, window: str) -> dict[str, Any]:
    """Return what the dashboard shows: tiers, orders, and the consistency window as a line."""
    return {"tiers": by_tier(serving), "orders": newest(serving), "window": window}


def count(serving: Serving, where: str = "true") -> int:
    """Return how many orders there are."""
    rows = serving.select(("count(*)",), f"WHERE {where}")
    return int(rows[0][0]) if rows else 0


def revisions(serving: Serving, after: int) -> Iterator[tuple[int, float, int | None]]:
    """Yield customer, time and shown revision of the orders above an id."""
    columns = ("customer_id", "ordered_at", "customer_revision")
    for customer, ordered_at, revision in serving.select(columns, f"WHERE order_id > {after}"):
        yield customer, seconds_of(ordered_at), revision


def seconds_of(moment: datetime | str) -> float:
    """Return the seconds since 1970 of a time, as a database gives it."""
    return (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).timestamp()


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | str | None) else str(value)
