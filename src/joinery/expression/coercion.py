"""Which types meet in which type: Spark's ANSI coercion, as far as the portable subset goes.

Source: `AnsiTypeCoercion`, `DecimalPrecisionTypeCoercion` and `DecimalType` of Spark 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable

from joinery.expression.literal import FLOAT, VOID
from joinery.expression.typed import Constant, Convert, Typed
from joinery.model.type import (
    BOOLEAN,
    DATE,
    DOUBLE,
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

INTEGRALS = ("byte", "short", "int", "long")
_DIGITS = {"byte": 3, "short": 5, "int": 10, "long": 20}
_MOST_DIGITS = 38


def integral(kind: DataType) -> bool:
    """True for byte, short, int and long."""
    return isinstance(kind, Atomic) and kind.name in INTEGRALS


def fractional(kind: DataType) -> bool:
    """True for float, double and decimals."""
    return kind in (FLOAT, DOUBLE) or isinstance(kind, Decimal)


def numeric(kind: DataType) -> bool:
    """True for every number."""
    return integral(kind) or fractional(kind)


def orderable(kind: DataType) -> bool:
    """True where `=` and `<` are defined."""
    match kind:
        case Array(element):
            return orderable(element)
        case Struct(fields):
            return all(orderable(each.type) for each in fields)
        case Map():
            return False
        case Atomic() | Decimal():
            return True


def adjusted(precision: int, scale: int) -> Decimal:
    """Return the result type of decimal arithmetic, cut to 38 digits as Spark cuts it."""
    if precision <= _MOST_DIGITS:
        return Decimal(precision, scale)
    kept = max(_MOST_DIGITS - (precision - scale), min(scale, 6))
    return Decimal(_MOST_DIGITS, kept)


def bounded(precision: int, scale: int) -> Decimal:
    """Return the decimal type with both numbers cut to 38."""
    return Decimal(min(precision, _MOST_DIGITS), min(scale, _MOST_DIGITS))


def decimal_for(node: Typed) -> Decimal | None:
    """Return the decimal type that `node` takes part in decimal arithmetic with."""
    if isinstance(node.type, Decimal):
        return node.type
    if isinstance(node, Constant) and node.written and integral(node.type):
        return Decimal(len(str(abs(node.value))), 0)
    return decimal_of(node.type)


def decimal_of(kind: DataType) -> Decimal | None:
    """Return the decimal type that holds every value of `kind`."""
    if isinstance(kind, Decimal):
        return kind
    return (
        Decimal(_DIGITS[kind.name], 0)
        if isinstance(kind, Atomic) and kind.name in _DIGITS
        else None
    )


def wider_decimal(left: Decimal, right: Decimal) -> Decimal:
    """Return the decimal type that holds both, whole digits first."""
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    if precision <= _MOST_DIGITS:
        return Decimal(precision, scale)
    return Decimal(_MOST_DIGITS, max(0, scale - (precision - _MOST_DIGITS)))


def wider(left: DataType, right: DataType, *, text: bool = True) -> DataType | None:
    """Return the type in which both meet, None where there is none.

    Args:
        left: One type.
        right: The other.
        text: Whether a string may meet another type by being cast to it.
    """
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if numeric(left) and numeric(right):
        return _wider_number(left, right)
    if {left, right} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if STRING in (left, right):
        return _wider_text(right if left == STRING else left) if text else None
    return _wider_parts(left, right, text=text)


def wider_all(types: Iterable[DataType], *, text: bool = True) -> DataType | None:
    """Return the type in which all meet; strings are looked at first, as Spark does."""
    strings_first = sorted(types, key=lambda kind: kind != STRING)
    found: DataType | None = VOID
    for kind in strings_first:
        found = wider(found, kind, text=text) if found is not None else None
    return found


def _wider_number(left: DataType, right: DataType) -> DataType | None:
    if integral(left) and integral(right):
        return max(left, right, key=lambda kind: INTEGRALS.index(str(kind)))
    first, second = decimal_of(left), decimal_of(right)
    if first is not None and second is not None:
        return wider_decimal(first, second)
    return DOUBLE


def _wider_text(other: DataType) -> DataType | None:
    if integral(other):
        return LONG
    if fractional(other):
        return DOUBLE
    return other if other in (BOOLEAN, DATE, TIMESTAMP) else None


def _wider_parts(left: DataType, right: DataType, *, text: bool) -> DataType | None:
    match left, right:
        case Array(first), Array(second):
            element = wider(first, second, text=text)
            return Array(element) if element is not None else None
        case Struct(first), Struct(second) if len(first) == len(second):
            pairs = zip(first, second, strict=True)
            fields = [
                (one.name, wider(one.type, two.type, text=text), two.name) for one, two in pairs
            ]
            if any(kind is None or name != other for name, kind, other in fields):
                return None
            return Struct(tuple(Field(name, kind) for name, kind, _ in fields if kind is not None))
    return None


def convertible(source: DataType, target: DataType) -> bool:
    """True where the portable subset can cast `source` to `target`."""
    if source in (target, VOID):
        return True
    match source, target:
        case Array(first), Array(second):
            return convertible(first, second)
        case Struct(first), Struct(second):
            pairs = zip(first, second, strict=False)
            return len(first) == len(second) and all(
                convertible(one.type, two.type) for one, two in pairs
            )
        case _:
            pass
    if numeric(source):
        text = target == STRING and source not in (FLOAT, DOUBLE)
        return (
            numeric(target)
            or target == BOOLEAN
            or text
            or (integral(source) and target == TIMESTAMP)
        )
    if source == BOOLEAN:
        return numeric(target) or target == STRING
    if source == STRING:
        return numeric(target) or target in (BOOLEAN, DATE, TIMESTAMP)
    if source == DATE:
        return target in (STRING, TIMESTAMP)
    return source == TIMESTAMP and (target in (STRING, DATE) or integral(target))


def converted(node: Typed, kind: DataType | None) -> Typed | None:
    """Return `node` as `kind`, None where the portable subset cannot."""
    if kind is None or not convertible(node.type, kind):
        return None
    return node if node.type == kind else Convert(node, kind)


def together(nodes: Iterable[Typed], kind: DataType | None) -> tuple[Typed, ...] | None:
    """Return all `nodes` as `kind`, None where one of them cannot be."""
    found = [converted(node, kind) for node in nodes]
    whole = tuple(node for node in found if node is not None)
    return whole if len(whole) == len(found) else None


def implied(node: Typed, wanted: DataType) -> Typed | None:
    """Return `node` as a function that wants `wanted` takes it, None where it does not."""
    source = node.type
    if source in (wanted, VOID):
        return converted(node, wanted)
    widens = integral(source) and integral(wanted) and wider(source, wanted) == wanted
    dates = {source, wanted} == {DATE, TIMESTAMP}
    text = wanted == STRING or (source == STRING and wanted in (DATE, TIMESTAMP))
    if widens or dates or text or (wanted == DOUBLE and numeric(source)):
        return converted(node, wanted)
    return None
