"""Aggregates over the values of an embed's rows; the result never depends on their order."""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from joinery.engine.failure import EvaluationError
from joinery.engine.number import fit, whole
from joinery.engine.order import value_key
from joinery.model.type import DataType, Decimal
from joinery.plan.nodes import AggregateFunction

_EXACT = decimal.Context(prec=1200, rounding=decimal.ROUND_HALF_UP)


def aggregate(function: AggregateFunction, kind: DataType, values: Iterable[Any]) -> Any:
    """Return the aggregate of `values`, whose nulls are skipped; null where nothing is left.

    Sums are exact and rounded once, to `kind`; an average divides the exact sum of whole
    numbers and decimals, and the rounded sum of doubles.

    Args:
        function: `count`, `sum`, `min`, `max` or `avg`.
        kind: The type of the result, as `Aggregate.type` gives it.
        values: One value a row; for a count of rows, anything but null.

    Raises:
        EvaluationError: The result does not fit `kind`.
    """
    known = [each for each in values if each is not None]
    if not known and function != "count":
        return None
    match function:
        case "count":
            return len(known)
        case "min":
            return min(known, key=value_key(kind))
        case "max":
            return max(known, key=value_key(kind))
        case "sum":
            return _sum(kind, known)
        case "avg":
            return _average(kind, known)


def _sum(kind: DataType, values: list[Any]) -> Any:
    match kind, values[0]:
        case Decimal(), _:
            return fit(_decimal_sum(values), kind)
        case _, float():
            return _float_sum(values)
        case _:
            return whole(sum(values), kind)


def _average(kind: DataType, values: list[Any]) -> Any:
    match kind, values[0]:
        case Decimal(), _:
            return fit(_EXACT.divide(_decimal_sum(values), decimal.Decimal(len(values))), kind)
        case _, float():
            return _float_sum(values) / len(values)
        case _:
            return sum(values) / len(values)


def _decimal_sum(values: list[Any]) -> decimal.Decimal:
    total = decimal.Decimal(0)
    for each in values:
        total = _EXACT.add(total, each)
    return total


def _float_sum(values: list[float]) -> float:
    odd = {each for each in values if math.isinf(each)}
    if len(odd) > 1 or any(math.isnan(each) for each in values):
        return math.nan
    if odd:
        return odd.pop()
    exact = sum(map(Fraction, values), Fraction(0))
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


__all__ = ["EvaluationError", "aggregate"]
