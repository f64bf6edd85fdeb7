"""A frame of one relation's changes, made ready for the kernel.

Invariant: a cast made here loses nothing; what could lose something is refused before
anything runs.

What becomes of changes that cannot be used where DataFrames are given and taken.

A batch fails at the first, as PySpark's own readers do in their strictest mode. A stream goes
on, warns, and tells their number as the observed metric `joinery` of its progress.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from joinery.errors import RunError
from joinery.model import type as model
from joinery.model.warning import RunWarning, Warnings, warn
from joinery.plan.relation import Relation
from joinery.solutions.spark_state.program import RelationProgram
from joinery.spark.analyse import KINDS, spark_type
from joinery.spark.kernel import Kernel
from joinery.spark.source.kafka import logged_us
from joinery.spark.source.warning import frame_warning

OP, POSITION = "__op", "__position"
_RECORD = ("topic", "major", "minor", "file", "key", "value", "error")
_KAFKA = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value")
_WHOLE: dict[type[T.DataType], int] = {
    T.ByteType: 3,
    T.ShortType: 5,
    T.IntegerType: 10,
    T.LongType: 19,
}
_TEXTS = (T.CharType, T.VarcharType, T.StringType, T.BinaryType)
_RECORD_TYPES: dict[str, tuple[type[T.DataType], ...]] = {
    "key": _TEXTS,
    "value": _TEXTS,
    "partition": tuple(_WHOLE),
    "offset": tuple(_WHOLE),
    "timestamp": (T.TimestampType,),
}
_EXACT: dict[type[T.DataType], tuple[type[T.DataType], ...]] = {
    T.FloatType: (T.FloatType, T.ByteType, T.ShortType),
    T.DoubleType: (T.DoubleType, T.FloatType, T.ByteType, T.ShortType, T.IntegerType),
}


class FrameError(RunError):
    """A DataFrame of changes does not fit what it is given for."""

    code = "RUN_FRAME"


@dataclass(frozen=True, slots=True)
class TypedFrame:
    """Columns op and position, then those the frame has; `absent` names the others."""

    frame: DataFrame
    absent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RawFrame:
    """Columns major, minor, file, key, value, error and logged."""

    frame: DataFrame


def refuse_personal(
    what: str, relations: Sequence[Relation], *, hint: str = "Run the project: joinery run."
) -> None:
    """Refuse a product or a stream, in words, of which something would be read in clear.

    Raises:
        FrameError: One of its relations has personal columns.
    """
    if any(each.personal is not None for each in relations):
        raise FrameError(f"{what} has personal columns, which cannot be sealed here", hint=hint)


def read_frame(
    frame: DataFrame, relation: Relation, program: RelationProgram
) -> TypedFrame | RawFrame:
    """Return a frame in the shape that the kernel reads.

    It holds a source's records where it has all columns of the files source's or of
    Kafka's records, or a `value` of text or bytes but not the relation's key; else it is typed.

    Args:
        frame: As the user gave it.
        relation: The relation whose changes it holds.
        program: What of the relation is needed.

    Raises:
        FrameError: The frame does not fit the relation.
    """
    names = frame.columns
    numbered = frame.toDF(*(f"c{index}" for index in range(len(names))))
    if set(_RECORD) <= set(names):
        return RawFrame(_records(numbered, names, place=("major", "minor")))
    missing = [each for each in relation.key if each not in names]
    texts = "value" in names and _is_text(frame.schema["value"].dataType)
    if set(_KAFKA) <= set(names) or (texts and missing):
        _check_records(frame, relation)
        return RawFrame(_records(numbered, names, place=("partition", "offset")))
    if missing:
        raise FrameError(
            f'the frame of "{relation.name}" lacks the key column "{missing[0]}"',
            detail=f"It has {', '.join(names) or 'no columns'}.",
            hint=f"Give it all of {', '.join(relation.key)}, or records as text in `value`.",
        )
    return _typed(frame, numbered, relation, program)


def _typed(
    frame: DataFrame, numbered: DataFrame, relation: Relation, program: RelationProgram
) -> TypedFrame:
    names, types = frame.columns, [field.dataType for field in frame.schema.fields]
    wanted = {slot.name: slot.type for slot in program.columns}
    for name in (*wanted, OP, POSITION):
        if names.count(name) > 1:
            raise FrameError(f'the frame of "{relation.name}" has several columns "{name}"')
    given = {name: index for index, name in enumerate(names) if name in wanted}
    for name, index in given.items():
        if not is_lossless(types[index], wanted[name]):
            raise _wrong_type(relation, name, types[index], str(wanted[name]))
    columns = [
        _unsigned(F.col(f"c{given[name]}").cast(spark_type(declared)), declared).alias(f"v{number}")
        for number, (name, declared) in enumerate(wanted.items())
        if name in given
    ]
    op = _special(relation, names, types, OP, model.STRING)
    position = _position(relation, names, types)
    absent = tuple(name for name in wanted if name not in given)
    _warn_of_names(relation, absent, names)
    return TypedFrame(numbered.select(op.alias("op"), position.alias("position"), *columns), absent)


def _unsigned(column: Column, declared: model.DataType) -> Column:
    """Return a column whose negative zeros are zeros, as where a record is decoded.

    In keys of a map Spark makes them so itself.
    """
    if not _holds_reals(declared):
        return column
    match declared:
        case model.Array(element):
            return F.transform(column, lambda each: _unsigned(each, element))
        case model.Map(_, value):
            return F.transform_values(column, lambda _, each: _unsigned(each, value))
        case model.Struct(fields):
            parts = (_unsigned(column.getField(at.name), at.type).alias(at.name) for at in fields)
            return F.when(column.isNotNull(), F.struct(*parts))
        case _:
            return column + F.lit(0).cast(spark_type(declared))


def _holds_reals(declared: model.DataType) -> bool:
    match declared:
        case model.Array(inner) | model.Map(_, inner):
            return _holds_reals(inner)
        case model.Struct(fields):
            return any(_holds_reals(each.type) for each in fields)
        case _:
            return declared in (model.Atomic("float"), model.Atomic("double"))


def _warn_of_names(relation: Relation, absent: Sequence[str], names: Sequence[str]) -> None:
    declared = {OP, POSITION, relation.position, *(each.name for each in relation.columns)}
    undeclared = [each for each in names if each not in declared]
    warning = frame_warning(relation.name, absent, undeclared)
    if warning is not None:
        warn(warning)


def _position(relation: Relation, names: Sequence[str], types: Sequence[T.DataType]) -> Column:
    """Return what orders changes: `__position`, else the column that the relation names for it.

    A timestamp is told in microseconds, as records of a source have it.
    """
    name = relation.position
    if POSITION in names or name is None or name not in names:
        return _special(relation, names, types, POSITION, model.LONG)
    index = list(names).index(name)
    if names.count(name) > 1:
        raise FrameError(f'the frame of "{relation.name}" has several columns "{name}"')
    column, kind = F.col(f"c{index}"), types[index]
    if isinstance(kind, T.TimestampNTZType):  # whose cast would go by the session's zone
        column = F.concat(column.cast("string"), F.lit("Z")).cast(T.TimestampType())
    if isinstance(kind, T.TimestampType | T.TimestampNTZType):
        return F.unix_micros(column)
    return _special(relation, names, types, name, model.LONG)


def _special(
    relation: Relation,
    names: Sequence[str],
    types: Sequence[T.DataType],
    name: str,
    declared: model.DataType,
) -> Column:
    if name not in names:
        return F.lit(None).cast(declared.ddl)
    index = list(names).index(name)
    if not is_lossless(types[index], declared):
        raise _wrong_type(relation, name, types[index], str(declared))
    return F.col(f"c{index}").cast(declared.ddl)


def _is_text(kind: T.DataType) -> bool:
    return isinstance(kind, (*_TEXTS, T.NullType))


def _check_records(frame: DataFrame, relation: Relation) -> None:
    """Refuse records whose columns are of other types than a source's, or that tell changes."""
    names, types = frame.columns, [field.dataType for field in frame.schema.fields]
    told = [each for each in (OP, POSITION) if each in names]
    if told:
        raise FrameError(
            f'the frame of "{relation.name}" has "{told[0]}" beside records in "value",'
            " which say themselves what they change",
            hint=f"Leave it out, or give the relation's columns, with {', '.join(relation.key)}.",
        )
    for name, kinds in _RECORD_TYPES.items():
        if names.count(name) > 1:
            raise FrameError(f'the frame of "{relation.name}" has several columns "{name}"')
        given = types[names.index(name)] if name in names else T.NullType()
        if not isinstance(given, (*kinds, T.NullType)):
            raise FrameError(
                f'column "{name}" of the frame of "{relation.name}" is {given.simpleString()},'
                " as in no record of a source",
                hint=f"Cast it to {kinds[-1]().simpleString()} in the frame, or leave it out.",
            )


def _records(numbered: DataFrame, names: Sequence[str], *, place: tuple[str, str]) -> DataFrame:
    """Return records with their place in the log, null where they stand in none."""

    def column(name: str, kind: str) -> Column:
        found = F.col(f"c{list(names).index(name)}") if name in names else F.lit(None)
        return found.cast(kind).alias(name)

    told = names.index("timestamp") if set(_KAFKA) <= set(names) else None
    logged = None if told is None else logged_us(f"c{told}")
    stands = all(each in names for each in place)
    major, minor = (
        column(each, "bigint") if stands else F.lit(None).cast("bigint") for each in place
    )
    return numbered.select(
        major.alias("major"),
        minor.alias("minor"),
        column("file", "string"),
        column("key", "binary"),
        column("value", "binary"),
        column("error", "string"),
        column("logged", "bigint") if logged is None else logged,
    )


def is_lossless(given: T.DataType, declared: model.DataType) -> bool:
    """True where every value of `given` has its equal in `declared`.

    A text, a date or a timestamp becomes nothing else: how it does would depend on the
    session's settings.
    """
    if isinstance(given, T.NullType):
        return True
    match declared:
        case model.Array(element):
            return isinstance(given, T.ArrayType) and is_lossless(given.elementType, element)
        case model.Map(key, value):
            return (
                isinstance(given, T.MapType)
                and is_lossless(given.keyType, key)
                and is_lossless(given.valueType, value)
            )
        case model.Struct(fields):
            return isinstance(given, T.StructType) and (
                [each.name for each in given.fields] == [each.name for each in fields]
                and all(
                    is_lossless(inner.dataType, field.type)
                    for inner, field in zip(given.fields, fields, strict=True)
                )
            )
        case model.Decimal(precision, scale):
            return _fits_decimal(given, precision, scale)
        case model.Atomic(name):
            return _fits_atomic(given, KINDS[name])


def _fits_decimal(given: T.DataType, precision: int, scale: int) -> bool:
    digits = _WHOLE.get(type(given))
    if digits is not None:
        return precision - scale >= digits
    return (
        isinstance(given, T.DecimalType)
        and given.scale <= scale
        and given.precision - given.scale <= precision - scale
    )


def _fits_atomic(given: T.DataType, declared: type[T.DataType]) -> bool:
    if declared in _WHOLE:
        return _WHOLE.get(type(given), 99) <= _WHOLE[declared]
    if declared is T.StringType:
        return isinstance(given, T.StringType | T.VarcharType | T.CharType)
    return isinstance(given, _EXACT.get(declared, (declared,)))


def _wrong_type(relation: Relation, name: str, given: T.DataType, declared: str) -> FrameError:
    hint = f"Cast it to {declared} in the frame."
    if "struct<" in given.simpleString():  # Spark casts a struct's fields by place
        hint = "Give its structs the declared fields, in the declared order; a cast goes by place."
    return FrameError(
        f'column "{name}" of the frame of "{relation.name}" is {given.simpleString()},'
        f" which does not become {declared} without loss",
        hint=hint,
    )


def usable(door: Any, kernel: Kernel, name: str, *, streaming: bool, json: bool) -> DataFrame:
    """Return what leaves a door of frames, without the changes that cannot be used.

    Args:
        door: As `Kernel.frames` gives it, with all frames.
        kernel: That of the door.
        name: Of the product or stream.
        streaming: Whether the frames are.
        json: True for documents as text.
    """
    session = kernel.session
    if not streaming:
        return DataFrame(door.documents(json), session)
    return DataFrame(door.counted(json, watch_of(session, name)), session)


def watch_of(session: SparkSession, name: str) -> Watch:
    """Return what the JVM tells of changes that cannot be used, under the name of what reads them.

    Args:
        session: Whose JVM it is.
        name: Of the product or stream.
    """
    start: Any = ensure_callback_server_started  # PySpark leaves it untyped
    start(session.sparkContext._gateway)
    return Watch(name)


class Watch:
    """Warns once of changes that a stream of documents left out; called from the JVM."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._warnings = Warnings()

    def accept(self, count: int) -> None:
        """Take how many changes a batch left out."""
        self._warnings.add(
            RunWarning(
                code="WARN_CHANGES_LEFT_OUT",
                about=self._name,
                message=f'"{self._name}" leaves out changes that cannot be used,'
                f" {count} of them in one batch",
                detail="Each batch reports its own: lastProgress.observedMetrics.",
                hint="documents(…, dead_letters=True) gives a row for each, with its reason;"
                " a run of a project keeps them.",
            )
        )

    class Java:
        """What the JVM takes this for."""

        implements = ("java.util.function.LongConsumer",)
