"""The aggregates over embeds: one table, with the type rule and every back end of each.

The kernel's part is a class of `Aggregate.java` under the same name, and
`tests/architecture/test_aggregates.py` holds both, and the table of `docs/expressions.md`,
together.

Sums are exact and rounded once, to the type of the result; an average divides the exact sum of
whole numbers and decimals, and the rounded sum of doubles. No result depends on the order of
rows.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from joinery.expression.coercion import bounded, integral, numeric, orderable
from joinery.expression.number import fit, whole
from joinery.expression.order import value_key
from joinery.model.type import DOUBLE, LONG, DataType, Decimal

_EXACT = decimal.Context(prec=1200, rounding=decimal.ROUND_HALF_UP)


class AggregateSql(Protocol):
    """What a dialect of SQL computes over rows; see `Dialect`, which is one."""

    name: str

    def total(self, sql: str, result: DataType, operand: DataType) -> str:
        """Return the exact sum over rows, null where it does not fit or nothing is left."""

    def average(self, sql: str, result: DataType, operand: DataType) -> str:
        """Return the average over rows."""

    def best(self, function: str, sql: str, kind: DataType) -> str:
        """Return `min` or `max` over rows."""


Fold = Callable[[Sequence[Any], DataType], Any]
Sql = Callable[[AggregateSql, str, DataType, DataType], str]


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One aggregate; nulls are skipped before any back end sees them.

    Attributes:
        name: As users write it.
        takes: Whether it takes an argument of a type.
        needs: What it takes, for the error.
        gives: From the type of the argument to that of the result.
        fold: From values, of which there is one at least, and the type of the result.
        sql: From a dialect, the argument's text, the type of the result and the argument's;
            None where documents with it are assembled from rows.
        adds_up: Whether values may be added and taken back in any order and number; where not, a
            group whose rows may go keeps its values one by one.
        documented: What `docs/expressions.md` says of it: over what, and what it gives.
        of_nothing: The result without a value.
        of_rows: True where it takes the embed itself, or `*` over a group.
        gives_group: As `gives` over a group, where it differs.
    """

    name: str
    takes: Callable[[DataType], bool]
    needs: str
    gives: Callable[[DataType], DataType]
    fold: Fold
    sql: Sql | None
    adds_up: bool
    documented: tuple[str, str]
    of_nothing: Any = None
    of_rows: bool = False
    gives_group: Callable[[DataType], DataType] | None = None

    def of_group(self, kind: DataType) -> DataType:
        """Return the type of the result over a group, whose rows may be any number."""
        return (self.gives_group or self.gives)(kind)


def aggregate(function: str, kind: DataType, values: Iterable[Any]) -> Any:
    """Return the aggregate of `values`, whose nulls are skipped.

    Args:
        function: A name of `EMBED_AGGREGATES`.
        kind: The type of the result, as `Aggregate.type` gives it.
        values: One value per row; for a count of rows, anything but null.

    Raises:
        EvaluationError: The result does not fit `kind`.
    """
    row, known = EMBED_AGGREGATES[function], [each for each in values if each is not None]
    return row.fold(known, kind) if known else row.of_nothing


def _sum_type(kind: DataType) -> DataType:
    if isinstance(kind, Decimal):
        return bounded(kind.precision + 10, kind.scale)
    return LONG if integral(kind) else DOUBLE


def _group_sum_type(kind: DataType) -> DataType:
    return Decimal(38, kind.scale) if isinstance(kind, Decimal) else _sum_type(kind)


def _average_type(kind: DataType) -> DataType:
    return bounded(kind.precision + 4, kind.scale + 4) if isinstance(kind, Decimal) else DOUBLE


def _sum(values: Sequence[Any], kind: DataType) -> Any:
    match kind, values[0]:
        case Decimal(), _:
            return fit(_decimal_sum(values), kind)
        case _, float():
            return _float_sum(values)
        case _:
            return whole(sum(values), kind)


def _average(values: Sequence[Any], kind: DataType) -> Any:
    match kind, values[0]:
        case Decimal(), _:
            return fit(_EXACT.divide(_decimal_sum(values), decimal.Decimal(len(values))), kind)
        case _, float():
            return _float_sum(values) / len(values)
        case _, decimal.Decimal():
            return float(Fraction(_decimal_sum(values)) / len(values))
        case _:
            return sum(values) / len(values)


def _decimal_sum(values: Sequence[Any]) -> decimal.Decimal:
    total = decimal.Decimal(0)
    for each in values:
        total = _EXACT.add(total, each)
    return total


def _float_sum(values: Sequence[float]) -> float:
    odd = {each for each in values if math.isinf(each)}
    if len(odd) > 1 or any(math.isnan(each) for each in values):
        return math.nan
    if odd:
        return odd.pop()
    exact = sum(map(Fraction, values), Fraction(0))
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


_TABLE = (
    AggregateFunction(
        "count",
        takes=lambda kind: True,
        needs="anything",
        gives=lambda kind: LONG,
        fold=lambda values, kind: len(values),
        sql=lambda dialect, sql, result, operand: f"count({sql})",
        adds_up=True,
        documented=("anything", "`long`"),
        of_nothing=0,
        of_rows=True,
    ),
    AggregateFunction(
        "sum",
        takes=numeric,
        needs="numbers",
        gives=_sum_type,
        fold=_sum,
        sql=lambda dialect, sql, result, operand: dialect.total(sql, result, operand),
        adds_up=True,
        documented=(
            "whole numbers / `decimal(p,s)` / `float`, `double`",
            "`long` / `decimal(p+10,s)` / `double`, exact and rounded once, whatever the order"
            " of rows",
        ),
        gives_group=_group_sum_type,
    ),
    AggregateFunction(
        "min",
        takes=orderable,
        needs="values in an order",
        gives=lambda kind: kind,
        fold=lambda values, kind: min(values, key=value_key(kind)),
        sql=lambda dialect, sql, result, operand: dialect.best("min", sql, result),
        adds_up=False,
        documented=("anything with an order (no maps)", "its type"),
    ),
    AggregateFunction(
        "max",
        takes=orderable,
        needs="values in an order",
        gives=lambda kind: kind,
        fold=lambda values, kind: max(values, key=value_key(kind)),
        sql=lambda dialect, sql, result, operand: dialect.best("max", sql, result),
        adds_up=False,
        documented=("anything with an order (no maps)", "its type"),
    ),
    AggregateFunction(
        "avg",
        takes=numeric,
        needs="numbers",
        gives=_average_type,
        fold=_average,
        sql=lambda dialect, sql, result, operand: dialect.average(sql, result, operand),
        adds_up=True,
        documented=(
            "whole numbers, `float`, `double` / `decimal(p,s)`",
            "`double` / `decimal(p+4,s+4)`",
        ),
        gives_group=lambda kind: DOUBLE,
    ),
)
EMBED_AGGREGATES = {each.name: each for each in _TABLE}
