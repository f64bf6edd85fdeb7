"""A column of a frame becomes a declared type only where nothing can be lost."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T

from joinery.model.type import (
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    DataType,
    Decimal,
    Field,
    Struct,
)
from joinery.spark.frames.frame import is_lossless

PAIR = T.StructType([T.StructField("a", T.IntegerType()), T.StructField("b", T.StringType())])


@pytest.mark.parametrize(
    ("given", "declared"),
    [
        (T.LongType(), LONG),
        (T.ByteType(), LONG),
        (T.IntegerType(), DOUBLE),
        (T.NullType(), STRING),
        (T.VarcharType(3), STRING),
        (T.LongType(), Decimal(21, 2)),
        (T.DecimalType(10, 2), Decimal(12, 4)),
        (T.ArrayType(T.IntegerType()), Array(LONG)),
        (PAIR, Struct((Field("a", LONG), Field("b", STRING)))),
    ],
)
def test_what_widens_is_taken(given: T.DataType, declared: DataType) -> None:
    assert is_lossless(given, declared)


@pytest.mark.parametrize(
    ("given", "declared"),
    [
        (T.LongType(), INT),
        (T.LongType(), DOUBLE),
        (T.StringType(), LONG),
        (T.LongType(), STRING),
        (T.StringType(), TIMESTAMP),
        (T.TimestampNTZType(), TIMESTAMP),
        (T.TimestampType(), DATE),
        (T.LongType(), Decimal(20, 2)),
        (T.DecimalType(10, 4), Decimal(12, 2)),
        (T.ArrayType(T.LongType()), Array(INT)),
        (PAIR, Struct((Field("b", STRING), Field("a", LONG)))),
    ],
)
def test_what_could_lose_something_is_refused(given: T.DataType, declared: DataType) -> None:
    assert not is_lossless(given, declared)
