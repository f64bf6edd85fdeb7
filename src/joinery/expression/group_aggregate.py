"""The aggregates that groups have and embeds have not: one table, as that of `aggregate`.

Their rows come in the order of the group: by time, those without one first, then by key, in a
log without key by place. What does not depend on that order depends on the values alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from joinery.expression.aggregate import EMBED_AGGREGATES, aggregate
from joinery.expression.coercion import numeric, orderable
from joinery.expression.order import value_key
from joinery.expression.problem import EvaluationError
from joinery.expression.sketch import (
    Distinct,
    Quantiles,
    bloom_bytes,
    bloom_of,
    hash_of,
    merged_distinct,
    merged_quantiles,
    precision_of,
    steps_of,
)
from joinery.expression.typed import Aggregate
from joinery.model.type import BINARY, DOUBLE, LONG, Array, DataType, Field, Map, Struct

WINDOW_SECONDS = "__window_seconds"
"""The name under which values find how long their window is."""
RATE = "rate"
"""`rate(x)` is x divided by the seconds of the window."""
MOST_VALUES = 100_000
"""Exact counts keep as many different values of a group; above, the result is null."""


class InstanceLimitError(EvaluationError):
    """An aggregate that counts exactly meets more different values than it keeps."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number that follows the argument of an aggregate.

    Attributes:
        name: What it is, for the error.
        least: The least that it may be.
        most: The greatest.
        default: What it is where it is left out; None where it must be there.
        whole: Whether it is a whole number.
        example: One for the error; of those that must be there.
    """

    name: str
    least: float
    most: float
    default: float | None = None
    whole: bool = False
    example: float = 10


_HOW_MANY = Number("the number of items", 1, 10_000, whole=True)
_DEVIATION = Number("the relative standard deviation", 0.00205, 0.26, default=0.01)
_PART = Number("the quantile", 0, 1, example=0.5)
_ERROR = Number("the relative error", 0.001, 0.5, default=0.01)


@dataclass(frozen=True, slots=True)
class GroupFunction:
    """One aggregate over a group; nulls are skipped.

    Attributes:
        name: As users write it.
        takes: Whether it takes an argument of a type.
        needs: What it takes, for the error.
        gives: From the type of the argument to that of the result.
        fold: From the aggregate and its values in the order of the group, one at least, to
            the result.
        adds_up: As of `AggregateFunction`.
        of_nothing: The result without a value.
        numbers: What follows the argument.
        stays: Whether it is kept only where rows stay.
    """

    name: str
    takes: Callable[[DataType], bool]
    needs: str
    gives: Callable[[DataType], DataType]
    fold: Callable[[Sequence[Any], Aggregate], Any]
    adds_up: bool
    of_nothing: Any = None
    numbers: tuple[Number, ...] = ()
    stays: bool = False


def _simple(kind: DataType) -> bool:
    return not isinstance(kind, Array | Map | Struct) and str(kind) != "void"


def _hashes(values: Sequence[Any], spec: Aggregate) -> set[int]:
    kind = _argument_type(spec)
    return {hash_of(each, kind) for each in values}


def _argument_type(spec: Aggregate) -> DataType:
    assert spec.argument is not None  # as the lift sees to it
    return spec.argument.type


def _told_distinct(values: Sequence[Any], spec: Aggregate) -> bytes:
    if spec.goes:
        _check_number(len(_hashes(values, spec)))
    return _distinct_sketch(values, spec).to_bytes()


def _distinct_sketch(values: Sequence[Any], spec: Aggregate) -> Distinct:
    made = Distinct(precision_of(spec.numbers[0]))
    for each in _hashes(values, spec):
        made.add(each)
    return made


def _approximate_count(values: Sequence[Any], spec: Aggregate) -> int:
    if not spec.goes:
        return _distinct_sketch(values, spec).count()
    exact = _distinct(values, _argument_type(spec))
    _check_number(exact)
    return exact


def _check_number(different: int) -> None:
    if different > MOST_VALUES:
        raise InstanceLimitError(f"it counts more than {MOST_VALUES} different values")


def _top(values: Sequence[Any], spec: Aggregate) -> list[dict[str, Any]]:
    key = value_key(_argument_type(spec))
    runs = [list(run) for _, run in groupby(sorted(values, key=key), key=key)]
    _check_number(len(runs))
    most = sorted(runs, key=len, reverse=True)[: int(spec.numbers[0])]
    return [{"item": _plain(run[0]), "count": len(run)} for run in most]


def _plain(value: Any) -> Any:
    """Return a value as one that equals it is told: zero has no sign."""
    return value + 0.0 if isinstance(value, float) else value


def _quantile_sketch(values: Sequence[Any], error: float) -> Quantiles:
    made = Quantiles(steps_of(error))
    for each in values:
        made.add(float(each))
    return made


def _quantile(values: Sequence[Any], spec: Aggregate) -> float | None:
    return _quantile_sketch(values, spec.numbers[1]).at(spec.numbers[0])


def _bloom(values: Sequence[Any], spec: Aggregate) -> bytes:
    return bloom_bytes(_hashes(values, spec), *bloom_of(int(spec.numbers[0]), spec.numbers[1]))


def _merged_count(values: Sequence[Any], spec: Aggregate) -> int | None:
    made = merged_distinct(values)
    if made is None:
        raise EvaluationError("these are not distinct sketches of one deviation")
    return made.count()


def _merged_quantile(values: Sequence[Any], spec: Aggregate) -> float | None:
    made = merged_quantiles(values)
    if made is None:
        raise EvaluationError("these are not quantile sketches of one error")
    return made.at(spec.numbers[0])


_ANYTHING = (lambda kind: True), "anything"
_SIMPLE = _simple, "values of a simple type"
_NUMBERS = numeric, "numbers"
_SKETCHES = (lambda kind: kind == BINARY), "sketches"

_TABLE = (
    GroupFunction(
        "first",
        *_ANYTHING,
        gives=lambda kind: kind,
        fold=lambda values, spec: values[0],
        adds_up=False,
    ),
    GroupFunction(
        "last",
        *_ANYTHING,
        gives=lambda kind: kind,
        fold=lambda values, spec: values[-1],
        adds_up=False,
    ),
    GroupFunction(
        "collect",
        *_ANYTHING,
        gives=Array,
        fold=lambda values, spec: list(values[: int(spec.numbers[0])]),
        adds_up=False,
        of_nothing=[],
        numbers=(_HOW_MANY,),
    ),
    GroupFunction(
        "approx_count_distinct",
        *_SIMPLE,
        gives=lambda kind: LONG,
        fold=_approximate_count,
        adds_up=True,
        of_nothing=0,
        numbers=(_DEVIATION,),
    ),
    GroupFunction(
        "approx_quantile",
        *_NUMBERS,
        gives=lambda kind: DOUBLE,
        fold=_quantile,
        adds_up=True,
        numbers=(_PART, _ERROR),
    ),
    GroupFunction(
        "approx_top_k",
        *_SIMPLE,
        gives=lambda kind: Array(Struct((Field("item", kind), Field("count", LONG)))),
        fold=_top,
        adds_up=False,
        of_nothing=[],
        numbers=(_HOW_MANY,),
    ),
    GroupFunction(
        "bloom",
        *_SIMPLE,
        gives=lambda kind: BINARY,
        fold=_bloom,
        adds_up=True,
        numbers=(
            Number("the number of values", 1, 1_000_000, whole=True, example=1000),
            Number("the false-positive rate", 0.0001, 0.5, example=0.01),
        ),
        stays=True,
    ),
    GroupFunction(
        "distinct_sketch",
        *_SIMPLE,
        gives=lambda kind: BINARY,
        fold=_told_distinct,
        adds_up=False,
        numbers=(_DEVIATION,),
    ),
    GroupFunction(
        "quantile_sketch",
        *_NUMBERS,
        gives=lambda kind: BINARY,
        fold=lambda values, spec: _quantile_sketch(values, spec.numbers[0]).to_bytes(),
        adds_up=True,
        numbers=(_ERROR,),
    ),
    GroupFunction(
        "merge_distinct",
        *_SKETCHES,
        gives=lambda kind: LONG,
        fold=_merged_count,
        adds_up=False,
        of_nothing=0,
    ),
    GroupFunction(
        "merge_quantile",
        *_SKETCHES,
        gives=lambda kind: DOUBLE,
        fold=_merged_quantile,
        adds_up=False,
        numbers=(_PART,),
    ),
)
GROUP_AGGREGATES = {each.name: each for each in _TABLE}
GROUP_NAMES = frozenset((*EMBED_AGGREGATES, *GROUP_AGGREGATES))


def takes_distinct(function: str, kind: DataType) -> bool:
    """Return whether `function(distinct x)` is kept, over values of a type."""
    return function == "count" and orderable(kind)


def folded(spec: Aggregate, values: Sequence[Any]) -> Any:
    """Return an aggregate of `values`, one a row in the order of its group or embed.

    Raises:
        InstanceLimitError: There are more different values than it keeps.
        EvaluationError: The result does not fit its type.
    """
    known = [each for each in values if each is not None]
    function = GROUP_AGGREGATES.get(spec.function)
    if function is not None:
        return function.fold(known, spec) if known else function.of_nothing
    if spec.distinct and spec.argument is not None:
        return _distinct(known, spec.argument.type)
    return aggregate(spec.function, spec.type, known)


def _distinct(values: Sequence[Any], kind: DataType) -> int:
    keys = sorted(map(value_key(kind), values))
    return sum(1 for at, key in enumerate(keys) if at == 0 or key != keys[at - 1])
