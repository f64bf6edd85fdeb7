"""Types expressions outside the portable subset with Spark's own analyser.

The analyser works in a session of its own (ANSI, UTC, case-sensitive names), so the settings
of the session that it was made from neither matter nor change. Nothing runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from joinery.expression.functions import FUNCTIONS
from joinery.expression.group_aggregate import GROUP_NAMES
from joinery.expression.problem import ExpressionError, nearest_hint, refused
from joinery.model.type import (
    Array,
    Atomic,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
    is_personal,
    quoted,
)

SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
_CODES = {
    "UNRESOLVED_COLUMN": "PLAN_UNKNOWN_COLUMN",
    "FIELD_NOT_FOUND": "PLAN_UNKNOWN_COLUMN",
    "PARSE_SYNTAX_ERROR": "PLAN_EXPRESSION_SYNTAX",
    "PARSE_EMPTY_STATEMENT": "PLAN_EXPRESSION_SYNTAX",
    "MISSING_AGGREGATION": "PLAN_AGGREGATE",
    "MISSING_GROUP_BY": "PLAN_AGGREGATE",
}
KINDS: Mapping[str, type[spark_types.DataType]] = {
    "boolean": spark_types.BooleanType,
    "byte": spark_types.ByteType,
    "short": spark_types.ShortType,
    "int": spark_types.IntegerType,
    "long": spark_types.LongType,
    "float": spark_types.FloatType,
    "double": spark_types.DoubleType,
    "string": spark_types.StringType,
    "binary": spark_types.BinaryType,
    "date": spark_types.DateType,
    "timestamp": spark_types.TimestampType,
    "timestamp_ntz": spark_types.TimestampNTZType,
    "void": spark_types.NullType,
}
"""Spark's types without parts, by Joinery's names."""
_NAMES = {kind: name for name, kind in KINDS.items()}


_CAST = "Cast it to a string or a number."
_SECONDS = "For the seconds between times write (unix_micros(a) - unix_micros(b)) / 1e6."


class SparkAnalyser:
    """Spark's analyser as the plan's `Analyser`."""

    def __init__(self, spark: SparkSession) -> None:
        self._session = spark.newSession()
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)

    def type_of(self, sql: str, scope: Mapping[str, DataType]) -> DataType:
        """Return the type of `sql` over `scope`.

        Raises:
            ExpressionError: Spark refuses `sql`, its result is not a column type of Joinery,
                or it is not a function of one row.
        """
        try:
            with _unlogged():
                frame = scope_frame(self._session, scope).selectExpr(f"({sql}\n)")
        except AnalysisException as problem:
            raise _explained(problem, len(sql)) from None
        _refuse_beyond_row(frame)
        found = model_type(frame.schema.fields[0].dataType)
        if found is None:
            kind = frame.schema.fields[0].dataType.simpleString()
            raise ExpressionError(
                f"the type {kind} cannot be part of a document",
                code="PLAN_EXPRESSION_TYPE",
                offset=0,
                hint=_SECONDS if kind.startswith("interval day") else _CAST,
            )
        return found


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep PySpark from writing a refusal, with Java's trace, to the error stream."""
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def scope_frame(session: SparkSession, scope: Mapping[str, DataType]) -> DataFrame:
    """Return a DataFrame without rows whose columns are the names of `scope`."""
    columns = [f"cast(null as {kind.ddl}) as {quoted(name)}" for name, kind in scope.items()]
    return session.range(0).selectExpr(*columns)


def model_type(kind: spark_types.DataType) -> DataType | None:
    """Return Joinery's type for Spark's, None where it has none."""
    match kind:
        case spark_types.DecimalType():
            return Decimal(kind.precision, kind.scale)
        case spark_types.ArrayType():
            element = model_type(kind.elementType)
            return None if element is None else Array(element)
        case spark_types.MapType():
            key, value = model_type(kind.keyType), model_type(kind.valueType)
            return None if key is None or value is None else Map(key, value)
        case spark_types.StructType():
            fields = [(each.name, model_type(each.dataType)) for each in kind.fields]
            known = tuple(Field(name, part) for name, part in fields if part is not None)
            return Struct(known) if len(known) == len(fields) else None
        case _:
            name = _NAMES.get(type(kind))
            return None if name is None else Atomic(name)


def spark_type(kind: DataType) -> spark_types.DataType:
    """Return Spark's type for Joinery's, whatever a session takes the word timestamp for."""
    match kind:
        case Decimal(precision, scale):
            return spark_types.DecimalType(precision, scale)
        case Array(element):
            return spark_types.ArrayType(spark_type(element))
        case Map(key, value):
            return spark_types.MapType(spark_type(key), spark_type(value))
        case Struct(fields):
            return spark_types.StructType(
                [spark_types.StructField(each.name, spark_type(each.type)) for each in fields]
            )
        case Atomic():
            return spark_types.StringType() if is_personal(kind) else KINDS[kind.name]()


def _refuse_beyond_row(frame: DataFrame) -> None:
    plan: Any = frame._jdf.queryExecution().analyzed()
    if not plan.subqueries().isEmpty():
        raise refused("a subquery", offset=0)
    if not plan.deterministic():
        raise ExpressionError(
            "the expression is not deterministic",
            code="PLAN_NOT_DETERMINISTIC",
            offset=0,
            detail="A document must follow from its rows alone.",
        )
    shape = [plan.nodeName(), plan.children().head().nodeName()]
    if shape != ["Project", "Project"]:
        what = {"Aggregate": "an aggregate", "Window": "a window function"}.get(
            shape[0], "a generator"
        )
        raise refused(what, offset=0)


def _explained(problem: AnalysisException, length: int) -> ExpressionError:
    condition = (problem.getCondition() or "").split(".")[0]
    if condition == "UNRESOLVED_ROUTINE":
        return _unknown_function(problem, length)
    text = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", str(problem.getMessage() or problem)).split("\n")[0]
    text = re.sub(r"\s*SQLSTATE:.*$", "", text).rstrip(". ")
    return ExpressionError(
        text[:1].lower() + text[1:],
        code=_CODES.get(condition, "PLAN_EXPRESSION_TYPE"),
        offset=_offset(problem, length),
        detail="Spark's analyser refused the expression.",
        hint=_SECONDS if "INTERVAL DAY" in text else "",
    )


def _unknown_function(problem: AnalysisException, length: int) -> ExpressionError:
    name = (problem.getMessageParameters() or {}).get("routineName", "").strip("`")
    return ExpressionError(
        f'Spark has no function "{name}"',
        code="PLAN_UNKNOWN_FUNCTION",
        offset=_offset(problem, length),
        hint=nearest_hint(name, (*FUNCTIONS, *sorted(GROUP_NAMES))),
    )


def _offset(problem: AnalysisException, length: int) -> int:
    """Return where Spark points to, without the parenthesis around the text."""
    contexts = problem.getQueryContext() or []
    place = contexts[0].startIndex() - 1 if contexts else 0
    if not contexts and (match := re.search(r"\(line 1, pos (\d+)\)", str(problem))):
        place = int(match.group(1)) - 1
    return min(max(place, 0), max(length - 1, 0))
