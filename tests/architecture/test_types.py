"""A type without parts has its place wherever values are stored or sent, or is refused there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from joinery.model.type import ATOMIC_NAMES, Atomic, DataType, Field, Struct
from joinery.sinks import sqlite
from joinery.sinks.avro_schema import record_schema
from joinery.solutions.relational import postgres_database, sqlite_database, value


def avro_schema(kind: DataType) -> object:
    return record_schema(Struct((Field("x", kind),)), "document")


PLACES: list[Callable[[DataType], object]] = [
    avro_schema,
    sqlite._affinity,
    postgres_database.column_type,
    sqlite_database.declared_type,
    sqlite_database.to_cell,
    sqlite_database.from_cell,
    value.json_text,
    value.from_json_text,
]


@pytest.mark.parametrize("place", PLACES, ids=lambda each: each.__name__)
def test_each_place_knows_each_type(place: Callable[[DataType], object]) -> None:
    for name in ATOMIC_NAMES:
        place(Atomic(name))


@pytest.mark.parametrize("place", PLACES, ids=lambda each: each.__name__)
def test_a_type_without_a_place_is_refused(place: Callable[[DataType], object]) -> None:
    with pytest.raises((KeyError, TypeError)):
        place(Atomic("interval"))
