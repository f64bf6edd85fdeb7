"""A product of users and what they starred, and values of each type, for tests of tables."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal as D

from joinery.expression.typed import column_expression
from joinery.model.type import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    Atomic,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
)
from joinery.plan.node import Node
from joinery.plan.product import DocumentForm, Product
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.solutions.stored.state import (
    Batch,
    StoredRow,
)

FIRST = Batch("q", 0, 1, 1_000_000)
SECOND = Batch("q", 1, 1, 2_000_000)


def relation(name: str, key: str, *fields: Field) -> Relation:
    return Relation(name, "s", name, "json", tuple(key.split()), fields)


def shown(relation: Relation, *names: str) -> tuple[Computed, ...]:
    return tuple(Computed(name, column_expression(name, relation.type_of(name))) for name in names)


def product(user: Relation, star: Relation) -> Product:
    pair = JoinPair("user_id", "id", LONG)
    stars = Node("stars", "p/stars", "many", star, (pair,), shown(star, "user_id", "repo"))
    return Product(
        "p",
        DocumentForm(Node("p", "p", "root", user, fields=shown(user, "id"), embeds=(stars,))),
    )


USER = relation("user", "id", Field("id", LONG), Field("name", STRING))
STAR = relation("star", "repo user_id", Field("user_id", INT), Field("repo", STRING))
PRODUCT = product(USER, STAR)


def stored(row: dict[str, object] | None, *, visible: bool = True) -> StoredRow:
    return StoredRow(row, visible and row is not None, 7, row is None, 1_000_000)


VALUES: list[tuple[DataType, list[object]]] = [
    (BOOLEAN, [True, False]),
    (LONG, [0, -(1 << 63), (1 << 63) - 1]),
    (DOUBLE, [0.0, -0.0, 5.0, 1e308, math.inf, -math.inf, math.nan, 0.1]),
    (Atomic("float"), [0.5, -0.0, math.nan]),
    (STRING, ["", "a\0b", "naïve😀", "'\"\\"]),
    (BINARY, [b"", b"\0\xff"]),
    (DATE, [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    (TIMESTAMP, [dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC)]),
    (Atomic("timestamp_ntz"), [dt.datetime(2026, 1, 2, 3, 4, 5, 6)]),
    (Decimal(38, 2), [D("0.00"), D("-1.50"), D("123456789012345678901234567890123456.78")]),
    (Decimal(5, 0), [D(7)]),
    (Array(STRING), [[], ["a", None, "\0"]]),
    (Array(DOUBLE), [[math.nan, math.inf, -0.0, 1.5]]),
    (Map(INT, Decimal(5, 2)), [{}, {2: D("1.50"), 1: None}]),
    (
        Struct((Field("at", TIMESTAMP), Field("on", DATE), Field("raw", BINARY))),
        [{"at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "on": None, "raw": b"\0"}],
    ),
    (Array(Struct((Field("n", LONG),))), [[{"n": 1 << 62}, None]]),
]
