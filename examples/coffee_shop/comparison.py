"""The flat serving table against the three-table join that it replaces: the same question.

The question is that of the dashboard: the newest orders of one tier and one category. The
join has to walk orders by time and throw most away, since no index can hold columns of
three tables; the flat table has that index.

Both are asked for the same rows first. `one order by its id`, where a join costs little, is
measured beside it, so that the page does not show the best case alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from examples.coffee_shop.company import TIERS

from joinery.testing.load import Ask, Load, measure

CATEGORIES = ("espresso", "milk", "filter", "tea", "bakery", "beans", "gifts", "cups")
_NUMBERS = (
    "WITH RECURSIVE numbers(n) AS"
    " (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {count})"
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
QUESTIONS = {
    "newest orders of a tier and a category": (
        f"SELECT {_COLUMNS} FROM enriched_orders WHERE tier = {{0}} AND category = {{1}}"
        " ORDER BY ordered_at DESC LIMIT 20",
        f"{_JOINED} WHERE c.tier = {{0}} AND p.category = {{1}}"
        " ORDER BY o.ordered_at DESC LIMIT 20",
    ),
    "one order by its id": (
        f"SELECT {_COLUMNS} FROM enriched_orders WHERE order_id = {{0}}",
        f"{_JOINED} WHERE o.order_id = {{0}}",
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

    mark: str

    def execute(self, statements: Sequence[str]) -> None:
        """Run statements, and make them last."""

    def opened(self) -> AbstractContextManager[Any]:
        """Open a connection of one reader."""


class Sqlite:
    """A database file."""

    mark = "?"

    def __init__(self, path: Path) -> None:
        self._path = path

    def execute(self, statements: Sequence[str]) -> None:
        """Run statements, and make them last."""
        with self.opened() as database:
            for statement in (*statements, "ANALYZE"):
                database.execute(statement)
            database.commit()

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file."""
        database = sqlite3.connect(self._path)
        try:
            yield database
        finally:
            database.close()


class Postgres:
    """A schema of a PostgreSQL database, made anew."""

    mark = "%s"

    def __init__(self, url: str, schema: str = "comparison") -> None:
        self._url = url
        self._schema = schema

    def execute(self, statements: Sequence[str]) -> None:
        """Run statements, and make them last."""
        make = (f"DROP SCHEMA IF EXISTS {self._schema} CASCADE", f"CREATE SCHEMA {self._schema}")
        with self.opened() as database:
            for statement in (*make, *statements, "VACUUM ANALYZE"):
                database.execute(statement)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Connect; statements are prepared once they came five times, as drivers do."""
        import psycopg

        options = f"-c search_path={self._schema} -c jit=off"
        with psycopg.connect(self._url, autocommit=True, options=options) as database:
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
    by_id = "id" in question.split()
    flat, joined = (
        statement.format(database.mark, database.mark) for statement in QUESTIONS[question]
    )

    def parameters(count: int) -> tuple[Any, ...]:
        if by_id:
            return (count * 7919 % shop.orders,)
        return (TIERS[count % len(TIERS)], CATEGORIES[count % len(CATEGORIES)])

    with database.opened() as one:
        for count in range(12):
            rows = [one.execute(each, parameters(count)).fetchall() for each in (flat, joined)]
            assert rows[0] == rows[1], f"the two forms differ: {question}"
            assert by_id or len(rows[0]) == 20

    def reader(statement: str) -> Load:
        @contextmanager
        def opened() -> Iterator[Ask]:
            with database.opened() as link:
                yield lambda count: link.execute(statement, parameters(count)).fetchall()

        return measure(readers, seconds, opened)

    return Compared(question, reader(flat), reader(joined))


def told(compared: Compared) -> str:
    """Return a comparison as lines of text."""
    lines = [f"{compared.question}, {compared.flat.readers} readers:"]
    for name, load in (("flat table", compared.flat), ("three-table join", compared.joined)):
        waits = " ".join(
            f"p{int(share * 100)} {load.quantile_ms(share):7.2f} ms" for share in (0.5, 0.95, 0.99)
        )
        lines.append(f"  {name:17} {load.per_second:8.0f} queries/s  {waits}")
    return "\n".join([*lines, f"  the flat table is {compared.times:.1f} × as fast"])
