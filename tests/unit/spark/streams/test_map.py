"""A function of the user gets an event's values as Joinery has them."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import Row
from pyspark.sql import types as T

from joinery.spark.streams.map import plain

NOON = datetime(2026, 1, 31, 12)
EVENT = T.StructType(
    [
        T.StructField("at", T.TimestampType()),
        T.StructField("wall", T.TimestampNTZType()),
        T.StructField("walls", T.ArrayType(T.TimestampNTZType())),
        T.StructField("by", T.MapType(T.StringType(), T.TimestampType())),
        T.StructField("body", T.BinaryType()),
        T.StructField("none", T.TimestampType()),
    ]
)


def test_a_time_without_a_zone_stays_as_it_is_and_others_are_in_utc() -> None:
    here = NOON.astimezone().replace(tzinfo=None)
    row = Row(*EVENT.names)(here, NOON, [NOON, None], {"a": here}, bytearray(b"x"), None)

    made = plain(row, EVENT)

    moment = here.astimezone(UTC)
    wanted = {"at": moment, "wall": NOON, "walls": [NOON, None], "by": {"a": moment}}
    assert {**wanted, "body": b"x", "none": None} == made
    assert (UTC, None) == (made["at"].tzinfo, made["wall"].tzinfo)
