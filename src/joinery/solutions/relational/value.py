"""Values in the cells of a table, and back: what a database has no type for is JSON text.

Invariant: a value comes back equal and of its type, and equal join values are equal cells.

Rows to tuples of cells and back, converting only the columns that need it.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from joinery.expression.literal import RANGES
from joinery.model.change import Row
from joinery.model.type import Array, Atomic, DataType, Decimal, Field, Map, Struct
from joinery.semantics.rows import values_reader
from joinery.solutions.stored.column import RowTable

Convert = Callable[[Any], Any]
"""From a value that is not null to another."""

_WIDE = decimal.Context(prec=80)


def exact_text(kind: Decimal) -> Convert:
    """Return the function from a decimal to its text, with the scale of its type."""
    unit = decimal.Decimal(1).scaleb(-kind.scale)

    def text(value: decimal.Decimal) -> str:
        exact = _WIDE.quantize(value, unit)
        return format(exact if exact else exact.copy_abs(), "f")

    return text


def utc_text(value: dt.datetime) -> str:
    """Return a moment as ISO 8601 text in UTC, to the microsecond."""
    moment = value if value.tzinfo is dt.UTC else value.astimezone(dt.UTC)
    return moment.isoformat(timespec="microseconds")


def local_text(value: dt.datetime) -> str:
    """Return a time without a zone as ISO 8601 text, to the microsecond."""
    return value.isoformat(timespec="microseconds")


def json_text(kind: DataType) -> Convert:
    """Return the function from a list, a map or an object to its text."""
    parts = _to_json(kind)
    return lambda value: json.dumps(parts(value), ensure_ascii=False, separators=(",", ":"))


def from_json_text(kind: DataType) -> Convert:
    """Return the way back from `json_text`."""
    parts = _from_json(kind)
    return lambda text: parts(json.loads(text))


def probe(kind: DataType) -> Convert | None:
    """Return what brings the value of another type to a column's; None where it has its type.

    The function gives None where no value of the column's type is equal.

    Example:
        >>> from joinery.model.type import INT
        >>> to_int = probe(INT)
        >>> to_int(decimal.Decimal("5.00")), to_int(decimal.Decimal("5.5"))
        (5, None)
    """
    match kind:
        case Atomic("byte" | "short" | "int" | "long"):
            bound = RANGES[str(kind)]
            return lambda value: _whole(value, bound)
        case Atomic("float" | "double"):
            return _real
        case Decimal():
            return lambda value: _scaled(value, kind)
        case Atomic() | Array() | Map() | Struct():
            return None


def _whole(value: Any, bound: int) -> int | None:
    if not isinstance(value, int):
        if value == "NaN" or (isinstance(value, float) and not math.isfinite(value)):
            return None
        if value != int(value):
            return None
        value = int(value)
    return value if -bound <= value < bound else None


def _real(value: Any) -> Any:
    return value if value == "NaN" else float(value)


def _scaled(value: Any, kind: Decimal) -> decimal.Decimal | None:
    exact = decimal.Decimal(value)
    near = _WIDE.quantize(exact, decimal.Decimal(1).scaleb(-kind.scale))
    fits = not near or near.adjusted() < kind.precision - kind.scale
    return near if near == exact and fits else None


def _to_json(kind: DataType) -> Convert:
    """Return the function to what JSON holds; an object's fields stand in a list."""
    match kind:
        case Struct(fields):
            each = [(field.name, _or_null(_to_json(field.type))) for field in fields]
            return lambda value: {name: convert(value.get(name)) for name, convert in each}
        case Array(element):
            convert = _or_null(_to_json(element))
            return lambda value: [convert(item) for item in value]
        case Map(key, of):
            name, item = _to_json(key), _or_null(_to_json(of))
            return lambda value: [[name(k), item(v)] for k, v in value.items()]
        case Decimal():
            return str
        case Atomic("timestamp"):
            return utc_text
        case Atomic("timestamp_ntz"):
            return local_text
        case Atomic("date"):
            return lambda value: value.isoformat()
        case Atomic("binary"):
            return lambda value: base64.b64encode(value).decode("ascii")
        case Atomic(
            "boolean" | "byte" | "short" | "int" | "long" | "float" | "double" | "string" | "void"
        ):
            return lambda value: value
        case Atomic(name):
            raise TypeError(f"no JSON holds {name}")


def _from_json(kind: DataType) -> Convert:
    match kind:
        case Struct(fields):
            each = [(field.name, _or_null(_from_json(field.type))) for field in fields]
            return lambda value: {name: convert(value[name]) for name, convert in each}
        case Array(element):
            convert = _or_null(_from_json(element))
            return lambda value: [convert(item) for item in value]
        case Map(key, of):
            name, item = _from_json(key), _or_null(_from_json(of))
            return lambda value: {name(k): item(v) for k, v in value}
        case Decimal():
            return decimal.Decimal
        case Atomic("timestamp" | "timestamp_ntz"):
            return dt.datetime.fromisoformat
        case Atomic("date"):
            return dt.date.fromisoformat
        case Atomic("binary"):
            return base64.b64decode
        case Atomic(
            "boolean" | "byte" | "short" | "int" | "long" | "float" | "double" | "string" | "void"
        ):
            return lambda value: value
        case Atomic(name):
            raise TypeError(f"no JSON holds {name}")


def _or_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


Cells = tuple[Any, ...]
Values = tuple[Any, ...]
ConvertOf = Callable[[DataType], Convert | None]


def cells_of(fields: Sequence[Field], to_cell: ConvertOf) -> Callable[[Row], Cells]:
    """Return the function from a row to the cells of `fields`."""
    read = values_reader([each.name for each in fields])
    odd = [(at, convert) for at, each in enumerate(fields) if (convert := to_cell(each.type))]
    return (lambda row: _converted(read(row), odd)) if odd else read


def values_to_cells(
    fields: Sequence[Field], to_cell: ConvertOf
) -> Callable[[Values], Cells] | None:
    """Return the function from values of `fields` to cells; None where they are the same."""
    odd = [(at, convert) for at, each in enumerate(fields) if (convert := to_cell(each.type))]
    return (lambda values: _converted(values, odd)) if odd else None


def probe_cells(
    fields: Sequence[Field], to_cell: ConvertOf
) -> Callable[[Iterable[Values]], list[Cells]]:
    """Return the function from join values to cells, without those that no row can equal."""
    near = [(at, convert) for at, each in enumerate(fields) if (convert := probe(each.type))]
    convert = values_to_cells(fields, to_cell)

    def cells(values: Iterable[Values]) -> list[Cells]:
        if near:
            values = [_converted(each, near) for each in values]
            values = [each for each in values if None not in each]
        return list(values) if convert is None else [convert(each) for each in values]

    return cells


def rows_from(
    fields: Sequence[Field], from_cell: ConvertOf
) -> Callable[[Iterable[Cells]], list[dict[str, Any]]]:
    """Return the function from tuples of cells to rows."""
    names = [each.name for each in fields]
    odd = [(each.name, convert) for each in fields if (convert := from_cell(each.type))]

    def rows(found: Iterable[Cells]) -> list[dict[str, Any]]:
        built = [dict(zip(names, cells, strict=False)) for cells in found]
        for name, convert in odd:
            for row in built:
                if row[name] is not None:
                    row[name] = convert(row[name])
        return built

    return rows


def table_from(
    fields: Sequence[Field], from_cell: ConvertOf
) -> Callable[[Sequence[Cells]], RowTable]:
    """Return the same, with rows that are made when they are asked for."""
    names = [each.name for each in fields]
    odd = {each.name: convert for each in fields if (convert := from_cell(each.type))}
    return lambda found: RowTable(names, found, odd)


def _converted(values: Values, odd: Sequence[tuple[int, Convert]]) -> Cells:
    cells = list(values)
    for at, convert in odd:
        if cells[at] is not None:
            cells[at] = convert(cells[at])
    return tuple(cells)
