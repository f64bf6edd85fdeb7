"""A function of the user gets an event's values as Joinery has them, and gives its columns."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import Row
from pyspark.sql import types as T

from joinery.model.type import Atomic, Field, Struct
from joinery.plan.step import MapRows
from joinery.spark.streams.map import Caller, plain

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


def test_an_event_whose_function_gives_a_key_that_is_not_declared_has_no_row() -> None:
    output = Struct((Field("score", Atomic("long")),))
    given = T.StructType([T.StructField("id", T.LongType())])

    def call(key: str) -> tuple[tuple[object, ...] | None, str | None] | None:
        step = MapRows(lambda event: {**event, key: 7}, output)
        return Caller(step, Path(), given)(Row("id")(1))

    assert call("score") == ((7,), None)
    told = call("scroe")
    assert told is not None
    assert (told[0], 'did it mean "score"?' in (told[1] or "")) == (None, True)
