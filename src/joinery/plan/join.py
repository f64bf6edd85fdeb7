"""The types that two join columns are compared as, and what may be ordered.

Invariant: widening to a common type loses nothing, so equality afterwards is equality before.
"""

from __future__ import annotations

from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct, is_personal

_INTEGRAL = ("byte", "short", "int", "long")
_DIGITS = {"byte": 3, "short": 5, "int": 10, "long": 19}
_EXACT_IN = {"float": ("byte", "short"), "double": ("byte", "short", "int", "float")}
_MAX_DIGITS = 38


def common_type(left: DataType, right: DataType) -> DataType | None:
    """Return the type to which both widen without loss, or None.

    Example:
        >>> from joinery.model.type import INT, LONG, DOUBLE, Decimal
        >>> str(common_type(INT, LONG)), common_type(LONG, DOUBLE)
        ('long', None)
        >>> str(common_type(LONG, Decimal(10, 2)))
        'decimal(21,2)'
    """
    if not (comparable(left) and comparable(right)):
        return None
    if left == right:
        return left
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return _common_decimal(_as_decimal(left), _as_decimal(right))
    first, second = str(left), str(right)
    if first in _INTEGRAL and second in _INTEGRAL:
        return left if _INTEGRAL.index(first) > _INTEGRAL.index(second) else right
    if second in _EXACT_IN.get(first, ()):
        return left
    if first in _EXACT_IN.get(second, ()):
        return right
    return Atomic("double") if _meet_in_double(first, second) else None


def _meet_in_double(first: str, second: str) -> bool:
    """Say whether only a double holds both: a float and an int."""
    return {first, second} == {"float", "int"}


def _as_decimal(kind: DataType) -> Decimal | None:
    if isinstance(kind, Decimal):
        return kind
    digits = _DIGITS.get(str(kind))
    return Decimal(digits, 0) if digits else None


def _common_decimal(left: Decimal | None, right: Decimal | None) -> Decimal | None:
    if left is None or right is None:
        return None
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale) + scale
    return Decimal(digits, scale) if digits <= _MAX_DIGITS else None


def comparable(kind: DataType) -> bool:
    """Say whether values of this type may be joined on, ordered by, or be a key."""
    if isinstance(kind, Array | Map | Struct) or is_personal(kind):
        return False
    return str(kind) != "void"
