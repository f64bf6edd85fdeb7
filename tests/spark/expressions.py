"""The expressions that are compared with Spark, and the columns that they read."""

from __future__ import annotations

from pathlib import Path

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

CASES = Path(__file__).with_name("expressions.sql")
PAIR = Struct((Field("p", INT), Field("q", STRING)))


SCOPE: dict[str, DataType] = {
    "id": INT,
    "y": Atomic("byte"),
    "h": Atomic("short"),
    "i": INT,
    "j": INT,
    "l": LONG,
    "f": Atomic("float"),
    "d": DOUBLE,
    "dc": Decimal(4, 2),
    "big": Decimal(38, 18),
    "s": STRING,
    "t": STRING,
    "dt": DATE,
    "ts": TIMESTAMP,
    "b": BOOLEAN,
    "bin": BINARY,
    "xs": Array(INT),
    "ss": Array(STRING),
    "m": Map(STRING, INT),
    "st": PAIR,
    "sts": Array(PAIR),
}
