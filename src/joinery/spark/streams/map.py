"""Calls a user's function for each event, in Spark's Python workers.

Invariant: an event is given to the function once a batch; one that it fails on, or answers
with what does not fit its declared columns, is told with the reason and goes no further.
"""

from __future__ import annotations

import sys
from datetime import UTC
from pathlib import Path
from pickle import PicklingError
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T

from joinery.errors import RunError
from joinery.model.type import Struct
from joinery.plan.step import MapRows
from joinery.project.function import function_at
from joinery.semantics.map_row import MapFailure, RowMapper, function_of
from joinery.spark.analyse import spark_type


class Caller:
    """Gives rows to the function of one step; travels to the workers.

    Args:
        step: Names the function.
        folder: Where the function's module may stand.
        given: The type of its rows.
    """

    def __init__(self, step: MapRows, folder: Path, given: T.DataType) -> None:
        self._step = step
        self._folder = str(folder)
        self._given = given
        self._mapper: RowMapper | None = None

    def __call__(self, row: Row | None) -> tuple[tuple[Any, ...] | None, str | None] | None:
        """Return the function's columns, and why it failed; None for no event."""
        if row is None:
            return None
        made = (self._mapper or self._made()).mapped(plain(row, self._given))
        if made is None:
            return None, None
        if isinstance(made, MapFailure):
            return None, made.detail
        return tuple(made.values()), None

    def __getstate__(self) -> dict[str, Any]:
        told = {"_step": self._step, "_folder": self._folder, "_given": self._given}
        return {**told, "_mapper": None}

    def _made(self) -> RowMapper:
        if self._folder not in sys.path:
            sys.path.insert(0, self._folder)
        self._mapper = RowMapper(self._step, function_of(self._step))
        return self._mapper


def plain(value: Any, given: T.DataType) -> Any:
    """Return a value of Spark's workers as Joinery gives it: dicts, bytes, times in UTC.

    A worker has a timestamp in its own zone, and one without a zone as it is; neither tells
    which of them it is.

    Args:
        value: As PySpark gives it to a function.
        given: Its type.
    """
    if value is None:
        return None
    match given:
        case T.StructType():
            pairs = zip(given.fields, value, strict=True)
            return {each.name: plain(part, each.dataType) for each, part in pairs}
        case T.ArrayType():
            return [plain(each, given.elementType) for each in value]
        case T.MapType():
            return {
                plain(key, given.keyType): plain(each, given.valueType)
                for key, each in value.items()
            }
        case T.TimestampType():
            return value.astimezone(UTC)
        case T.BinaryType():
            return bytes(value)
        case _:
            return value


def mapped(frame: DataFrame, step: MapRows, folder: Path) -> DataFrame:
    """Replace the column `row` by what a function makes of it, and add `error`.

    Args:
        frame: Columns _1, _2 and row, which is null where there is no event.
        step: The function and its columns.
        folder: Where its module may stand.

    Raises:
        FunctionError: The function cannot be imported, or answers no call.
        RunError: It holds what cannot leave this process.
    """
    if isinstance(step.function, str):  # before each event of a batch is refused for it
        function_at(step.function, folder)
    declared = T.StructType(
        [
            T.StructField("row", spark_type(Struct(step.output.fields))),
            T.StructField("error", T.StringType()),
        ]
    )
    caller = Caller(step, folder, frame.schema["row"].dataType)
    call = F.udf(caller, declared, useArrow=False)
    try:
        told = frame.select("_1", "_2", call.asNondeterministic()("row").alias("told"))
    except PicklingError as error:
        raise RunError(
            f"the function {step.name} cannot be sent to Spark's workers",
            detail=f"{error}",
            hint="Make locks, connections and sessions in the function, or in a module of its own.",
        ) from error
    return told.select("_1", "_2", F.col("told.row"), F.col("told.error"))
