"""Streams and tables that are declared with DataFrames."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.sql import types

import joinery as jn
from joinery.errors import JoineryError, SpecError
from joinery.model.type import LONG, STRING, Atomic, Field, Struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

loose: Any = jn
"""For calls that are wrong on purpose, as somebody makes them who runs no type checker."""


@dataclass
class FakeType:
    """A type as PySpark tells it."""

    text: str

    def simpleString(self) -> str:
        """Return its text."""
        return self.text


@dataclass
class Column:
    """A column of a frame."""

    name: str
    dataType: FakeType


@dataclass
class Frame:
    """The part of a DataFrame that a declaration reads."""

    columns: tuple[tuple[str, str], ...]

    @property
    def schema(self) -> Frame:
        """The frame itself."""
        return self

    @property
    def fields(self) -> list[Column]:
        """The columns with their types."""
        return [Column(name, FakeType(text)) for name, text in self.columns]


NO_SESSION = cast("SparkSession", object())


def frame_of(*columns: tuple[str, str]) -> DataFrame:
    """Return what declares columns as a DataFrame does."""
    return cast("DataFrame", Frame(columns))


def typed(**columns: types.DataType) -> DataFrame:
    """Return what declares columns of Spark's own types as a DataFrame does."""
    schema = types.StructType([types.StructField(name, kind) for name, kind in columns.items()])
    return cast("DataFrame", SimpleNamespace(schema=schema))


def test_the_columns_of_a_dataframe_are_those_of_the_stream() -> None:
    frame = frame_of(("id", "bigint"), ("at", "timestamp"), ("__op", "string"))

    stream = jn.Stream.from_dataframe(frame, "clicks", key="id", time="at")

    assert "struct<id: long, at: timestamp>" == str(stream.plan.output)
    assert frame is stream.declared.frames["clicks"]


def test_names_that_spark_does_not_quote_and_collations_are_read_from_the_types_themselves() -> (
    None
):
    quoted = types.StructType([types.StructField("a:int,b c", types.LongType())])
    frame = typed(id=types.LongType(), place=quoted, name=types.StringType("UTF8_LCASE"))

    stream = jn.Stream.from_dataframe(frame, "clicks", key="id")

    place = Struct((Field("a:int,b c", Atomic("long")),))
    assert {"id": LONG, "place": place, "name": STRING} == {
        each.name: each.type for each in stream.plan.output.fields
    }


@pytest.mark.parametrize("kind", [types.NullType(), types.DayTimeIntervalType()])
def test_a_column_of_a_type_that_no_relation_has_is_named(kind: types.DataType) -> None:
    with pytest.raises(SpecError, match='column "a" of the frame of "clicks" is') as told:
        jn.Stream.from_dataframe(typed(id=types.LongType(), a=kind), "clicks", key="id")

    assert ("SPEC_TYPE", "Cast it in the frame, such as to string.") == (
        told.value.code,
        told.value.hint,
    )


def test_a_frame_that_is_no_dataframe_of_spark_is_refused_in_one_line() -> None:
    with pytest.raises(SpecError, match='the frame of "clicks" is not a Spark DataFrame') as told:
        loose.Stream.from_dataframe([1, 2], "clicks")

    assert "createDataFrame" in told.value.hint


def test_a_log_that_is_declared_anew_without_its_frame_has_none() -> None:
    app = jn.App("web")
    app.stream("clicks", frame=frame_of(("id", "bigint")), key="id")

    app.stream("clicks", fields={"id": "long"}, key="id")

    assert {} == app.declarations.frames


def test_a_run_refuses_what_was_declared_with_a_dataframe() -> None:
    app = jn.App("web")
    app.stream("clicks", frame=frame_of(("id", "bigint"))).sink(files={"path": "out"})

    with pytest.raises(JoineryError, match='reads "clicks", which was declared with a DataFrame'):
        app.run(NO_SESSION, once=True)


def test_frames_and_sources_are_not_mixed_in_silence() -> None:
    app = jn.App("web")
    app.table("users", key="id", fields={"id": "long", "name": "string"})
    clicks = app.stream("clicks", frame=frame_of(("user_id", "bigint")))

    with pytest.raises(JoineryError, match='reads "users" from a source') as told:
        clicks.lookup_join("users", "user_id").preview(spark=NO_SESSION)

    assert 'Declare "users" with frame=…' in told.value.hint
