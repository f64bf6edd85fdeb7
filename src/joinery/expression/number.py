"""Arithmetic as Spark 4.3 does it in ANSI mode: exact, checked, rounded half up.

Whole numbers fail outside their type, decimals above 38 digits or their precision;
doubles follow IEEE 754; every division by zero fails.
"""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Callable
from typing import Any

from joinery.expression.literal import RANGES
from joinery.expression.problem import EvaluationError
from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct

_EXACT = decimal.Context(prec=77, rounding=decimal.ROUND_HALF_UP)
_WIDE = decimal.Context(prec=1200, rounding=decimal.ROUND_HALF_UP)


def fit(value: decimal.Decimal, kind: Decimal) -> decimal.Decimal:
    """Return `value` rounded half up to the scale of `kind`; too many digits fail."""
    rounded = value.quantize(decimal.Decimal((0, (1,), -kind.scale)), context=_WIDE)
    if rounded.adjusted() >= kind.precision - kind.scale and rounded != 0:
        raise EvaluationError(f"the value does not fit {kind}")
    return rounded if rounded else rounded.copy_abs()


def whole(value: int, kind: DataType) -> int:
    """Return `value`; outside the integral type `kind` it fails."""
    bound = RANGES[str(kind)]
    if not -bound <= value < bound:
        raise EvaluationError(f"the value does not fit {kind}")
    return value


def single(value: float) -> float:
    """Return `value` rounded to 32 bits."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def settled(kind: DataType) -> Callable[[Any], Any]:
    """Return what brings a result of arithmetic into its type."""
    match kind:
        case Decimal():
            return lambda value: fit(value, kind)
        case Atomic("float"):
            return single
        case Atomic("double"):
            return lambda value: value
        case Atomic() | Array() | Map() | Struct():
            return lambda value: whole(value, kind)


def arithmetic(function: str, operand: DataType, result: DataType) -> Callable[[Any, Any], Any]:
    """Return the function of `+ - * / % div pmod` over two values of type `operand`."""
    finish = settled(result)
    table = _DECIMAL if isinstance(operand, Decimal) else _PLAIN
    compute = table[function]
    if function not in ("/", "%", "div", "pmod"):
        return lambda left, right: finish(compute(left, right))

    def divide(left: Any, right: Any) -> Any:
        if right == 0:
            raise EvaluationError("division by zero")
        return finish(compute(left, right))

    return divide


def negated(kind: DataType) -> Callable[[Any], Any]:
    """Return the unary minus of `kind`."""
    finish = settled(kind)
    return lambda value: finish(
        value.copy_negate() if isinstance(value, decimal.Decimal) else -value
    )


def absolute(kind: DataType) -> Callable[[Any], Any]:
    """Return `abs` over `kind`."""
    finish = settled(kind)
    return lambda value: finish(
        value.copy_abs() if isinstance(value, decimal.Decimal) else abs(value)
    )


def rounded(operand: DataType, result: DataType) -> Callable[[Any, int], Any]:
    """Return `round` over `operand`, half away from zero."""
    finish = settled(result)

    def compute(value: Any, places: int) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return value
        if isinstance(value, int) and places >= 0:
            return value
        exact = decimal.Decimal(repr(value)) if isinstance(value, float) else decimal.Decimal(value)
        if places < -40:
            return finish(type(value)(0))
        if isinstance(value, float) and -int(exact.as_tuple().exponent) <= places:
            return value + 0.0
        kept = places if not isinstance(operand, Decimal) else min(places, operand.scale)
        cut = exact.quantize(decimal.Decimal((0, (1,), -kept)), context=_WIDE)
        return finish(cut if isinstance(value, decimal.Decimal) else type(value)(cut) + 0)

    return compute


def toward(direction: Callable[[Any], int], result: DataType) -> Callable[[Any], Any]:
    """Return `floor` or `ceil` over doubles or decimals."""
    if isinstance(result, Decimal):
        return lambda value: fit(decimal.Decimal(direction(value)), result)
    return lambda value: 0 if value != value else _as_long(value, direction)


def root(value: float) -> float:
    """Return the square root, NaN below zero."""
    return math.sqrt(value) if value >= 0 else math.nan


def sign(value: float) -> float:
    """Return -1, 0 or 1; a zero keeps its sign, NaN stays."""
    return value if value == 0 or value != value else math.copysign(1.0, value)


def _as_long(value: float, direction: Callable[[Any], int]) -> int:
    if math.isinf(value):
        raise EvaluationError("the value does not fit long")
    return whole(direction(value), Atomic("long"))


def _quotient(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        return left / right
    magnitude = abs(left) // abs(right)
    return magnitude if (left < 0) == (right < 0) else -magnitude


def _rest(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        return math.nan if math.isinf(left) else math.fmod(left, right)
    return left - right * _quotient(left, right)


def _positive_rest(left: Any, right: Any) -> Any:
    rest = _rest(left, right)
    return _rest(rest + right, right) if rest < 0 else rest


def _exact_rest(left: decimal.Decimal, right: decimal.Decimal) -> decimal.Decimal:
    return _WIDE.remainder(left, right)


def _exact_positive_rest(left: decimal.Decimal, right: decimal.Decimal) -> decimal.Decimal:
    rest = _exact_rest(left, right)
    return _exact_rest(_WIDE.add(rest, right), right) if rest < 0 else rest


def _exact_quotient(left: decimal.Decimal, right: decimal.Decimal) -> decimal.Decimal:
    """Divide to 38 places first: Spark rounds twice."""
    return _WIDE.divide(left, right).quantize(decimal.Decimal((0, (1,), -38)), context=_WIDE)


_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _quotient,
    "div": _quotient,
    "%": _rest,
    "pmod": _positive_rest,
}
_DECIMAL: dict[str, Callable[[Any, Any], Any]] = {
    "+": _EXACT.add,
    "-": _EXACT.subtract,
    "*": _EXACT.multiply,
    "/": _exact_quotient,
    "div": lambda left, right: int(_WIDE.divide_int(left, right)),
    "%": _exact_rest,
    "pmod": _exact_positive_rest,
}
