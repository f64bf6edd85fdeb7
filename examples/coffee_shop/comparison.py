"""The flat serving table against the three-table join that it replaces: the same question.

The question is that of the dashboard: the newest orders of one tier and one category. The
join has to walk orders by time and throw most away, since no index can hold columns of
three tables; the flat table has that index.

Both are asked for the same rows first. `one order by its id`, where a join costs little, is
measured beside it, so that the page does not show the best case alone.
"""

from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from examples.coffee_shop.company import TIERS

from joinery.dev.postgres import programs
from joinery.testing.load import Ask, Load, measure

CATEGORIES = ("espresso", "milk", "filter", "tea", "bakery", "beans", "gifts", "cups")
_NUMBERS = (
    "WITH RECURSIVE numbers(n) AS"
    " (SELECT CAST(0 AS bigint) UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {count})"
)
_TIER = "CASE WHEN n % 50 = 0 THEN 'gold' WHEN n % 50 < 16 THEN 'regular' ELSE 'guest' END"
_FILL = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, tier TEXT)",
    f"INSERT INTO customers {_NUMBERS.format(count='{customers}')}"
    f" SELECT n, 'Customer ' || n, {_TIER} FROM numbers",
    "CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, category TEXT, price INTEGER)",
    f"INSERT INTO products {_NUMBERS.format(count='{products}')}"
    " SELECT n, 'Product ' || n, CASE n % 8 "
    + " ".join(f"WHEN {place} THEN '{name}'" for place, name in enumerate(CATEGORIES))
    + " END, 180 + 10 * (n % 45) FROM numbers",
    "CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER, product_id INTEGER,"
    " quantity INTEGER, ordered_at INTEGER)",
    f"INSERT INTO orders {_NUMBERS.format(count='{orders}')}"
    " SELECT n, n * 7919 % {customers}, n * 1049 / 7 % {products}, 1 + n % 3, n FROM numbers",
    "CREATE INDEX orders_at ON orders (ordered_at)",
    "CREATE INDEX orders_customer ON orders (customer_id, ordered_at)",
    "CREATE INDEX orders_product ON orders (product_id, ordered_at)",
    "CREATE INDEX customers_tier ON customers (tier)",
    "CREATE INDEX products_category ON products (category)",
    "CREATE TABLE enriched_orders AS SELECT o.order_id, o.ordered_at, o.quantity,"
    " c.name AS customer, c.tier, p.name AS product, p.category, o.quantity * p.price AS total"
    " FROM orders o JOIN customers c ON c.id = o.customer_id JOIN products p"
    " ON p.id = o.product_id",
    "CREATE UNIQUE INDEX enriched_id ON enriched_orders (order_id)",
    "CREATE INDEX enriched_page ON enriched_orders (tier, category, ordered_at)",
)
_COLUMNS = "order_id, ordered_at, quantity, customer, tier, product, category, total"
_JOINED = (
    "SELECT o.order_id, o.ordered_at, o.quantity, c.name AS customer, c.tier, p.name AS product,"
    " p.category, o.quantity * p.price AS total FROM orders o"
    " JOIN customers c ON c.id = o.customer_id JOIN products p ON p.id = o.product_id"
)
_PAGE = "newest orders of a tier and a category"
_ONE = "one order by its id, where a join costs little"
QUESTIONS = {
    _PAGE: (
        f"SELECT {_COLUMNS} FROM enriched_orders WHERE tier = '{{tier}}'"
        " AND category = '{category}' ORDER BY ordered_at DESC LIMIT 20",
        f"{_JOINED} WHERE c.tier = '{{tier}}' AND p.category = '{{category}}'"
        " ORDER BY o.ordered_at DESC LIMIT 20",
    ),
    _ONE: (
        f"SELECT {_COLUMNS} FROM enriched_orders WHERE order_id = {{id}}",
        f"{_JOINED} WHERE o.order_id = {{id}}",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """How many rows are compared."""

    orders: int = 200_000
    customers: int = 20_000
    products: int = 400


class Database(Protocol):
    """A database that both forms are asked in."""

    def execute(self, statements: Sequence[str]) -> None:
        """Run statements, and make them last."""

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what a statement gives."""

    def load(self, statements: Sequence[str], readers: int, seconds: float) -> Load:
        """Let readers ask `statements` in turn."""


class Sqlite:
    """A database file; its readers are threads of this process."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def execute(self, statements: Sequence[str]) -> None:
        """Run statements, and make them last."""
        with closing(sqlite3.connect(self._path)) as database:
            for statement in (*statements, "ANALYZE"):
                database.execute(statement)
            database.commit()

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what a statement gives."""
        with closing(sqlite3.connect(self._path)) as database:
            return database.execute(statement).fetchall()

    def load(self, statements: Sequence[str], readers: int, seconds: float) -> Load:
        """Let readers ask `statements` in turn."""

        @contextmanager
        def opened() -> Iterator[Ask]:
            with closing(sqlite3.connect(self._path)) as database:
                yield lambda count: database.execute(statements[count % len(statements)]).fetchall()

        return measure(readers, seconds, opened)


class Postgres:
    """A schema of a PostgreSQL database, made anew; its readers are those of pgbench."""

    def __init__(self, url: str, schema: str = "comparison") -> None:
        self._url = url
        self._schema = schema
        self._options = f"-c search_path={schema} -c jit=off"

    def execute(self, statements: Sequence[str]) -> None:
        """Run statements, and make them last."""
        make = (f"DROP SCHEMA IF EXISTS {self._schema} CASCADE", f"CREATE SCHEMA {self._schema}")
        with self._opened() as database:
            for statement in (*make, *statements, "VACUUM ANALYZE"):
                database.execute(statement)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what a statement gives."""
        with self._opened() as database:
            found: list[tuple[Any, ...]] = database.execute(statement).fetchall()
            return found

    def load(self, statements: Sequence[str], readers: int, seconds: float) -> Load:
        """Let readers ask `statements`, prepared, in random order."""
        with tempfile.TemporaryDirectory() as folder:
            command = [str(programs() / "pgbench"), "--no-vacuum", "--protocol=prepared", "--log"]
            command += [f"--log-prefix={folder}/log", f"--client={readers}", "--jobs=2"]
            command += [f"--time={math.ceil(seconds)}"]
            for place, statement in enumerate(statements):
                script = Path(folder, f"{place}.sql")
                script.write_text(f"{statement};\n", encoding="utf-8")
                command += ["--file", str(script)]
            environment = {**os.environ, "PGOPTIONS": self._options}
            subprocess.run([*command, self._url], env=environment, check=True, capture_output=True)
            waits_ms = sorted(
                int(line.split()[2]) / 1000
                for log in Path(folder).glob("log.*")
                for line in log.read_text(encoding="ascii").splitlines()
            )
        return Load(readers, math.ceil(seconds), tuple(waits_ms))

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        import psycopg

        with psycopg.connect(self._url, autocommit=True, options=self._options) as database:
            yield database


@dataclass(frozen=True, slots=True)
class Compared:
    """One question, asked of both forms."""

    question: str
    flat: Load
    joined: Load

    @property
    def times(self) -> float:
        """How many times as many answers a second the flat table gives."""
        return self.flat.per_second / self.joined.per_second


def compare(
    database: Database, shop: Shop = Shop(), *, readers: int = 50, seconds: float = 5.0
) -> list[Compared]:
    """Fill both forms with the same orders, and ask each question of both."""
    named = {"orders": shop.orders, "customers": shop.customers, "products": shop.products}
    database.execute([each.format(**named) for each in _FILL])
    return [
        _asked(database, question, shop, readers=readers, seconds=seconds) for question in QUESTIONS
    ]


def _asked(
    database: Database, question: str, shop: Shop, *, readers: int, seconds: float
) -> Compared:
    flat, joined = (
        [form.format(**chosen) for chosen in _choices(question, shop)]
        for form in QUESTIONS[question]
    )
    for one, other in zip(flat[:12], joined, strict=False):
        rows = database.rows(one)
        assert rows == database.rows(other), f"the two forms differ: {one}"
        assert len(rows) == (20 if question == _PAGE else 1), one
    return Compared(
        question,
        database.load(flat, readers, seconds),
        database.load(joined, readers, seconds),
    )


def _choices(question: str, shop: Shop) -> list[dict[str, object]]:
    if question == _PAGE:
        return [{"tier": tier, "category": each} for tier in TIERS for each in CATEGORIES]
    return [{"id": number * 7919 % shop.orders} for number in range(100)]


def told(compared: Compared) -> str:
    """Return a comparison as lines of text."""
    lines = [f"{compared.question}, {compared.flat.readers} readers:"]
    for name, load in (("flat table", compared.flat), ("three-table join", compared.joined)):
        waits = " ".join(
            f"p{int(share * 100)} {load.quantile_ms(share):7.2f} ms" for share in (0.5, 0.95, 0.99)
        )
        lines.append(f"  {name:17} {load.per_second:8.0f} queries/s  {waits}")
    if compared.times >= 1:
        return "\n".join([*lines, f"  the flat table is {compared.times:.1f} × as fast"])
    return "\n".join([*lines, f"  the join is {1 / compared.times:.1f} × as fast"])
