"""The aggregates that groups have and embeds have not: one table, as that of `aggregate`.

Their rows come in the order of the group: by time, those without one first, then by key, in a
log without key by place. What does not depend on that order depends on the values alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from joinery.expression.aggregate import EMBED_AGGREGATES, aggregate
from joinery.expression.coercion import orderable
from joinery.expression.order import value_key
from joinery.expression.typed import Aggregate
from joinery.model.type import Array, DataType

WINDOW_SECONDS = "__window_seconds"
"""The name under which values find how long their window is."""
RATE = "rate"
"""`rate(x)` is x divided by the seconds of the window."""


@dataclass(frozen=True, slots=True)
class GroupFunction:
    """One aggregate over a group; nulls are skipped.

    Attributes:
        name: As users write it.
        takes: Whether it takes an argument of a type.
        needs: What it takes, for the error.
        gives: From the type of the argument to that of the result.
        fold: From values in the order of the group, of which there is one at least, and the
            count that follows the argument.
        of_nothing: The result without a value.
        counted: Whether a count from 1 follows the argument.
        documented: What `docs/aggregates.md` says of it: over what, and what it gives.
    """

    name: str
    takes: Callable[[DataType], bool]
    needs: str
    gives: Callable[[DataType], DataType]
    fold: Callable[[Sequence[Any], int], Any]
    documented: tuple[str, str]
    of_nothing: Any = None
    counted: bool = False


_TABLE = (
    GroupFunction(
        "first",
        takes=lambda kind: True,
        needs="anything",
        gives=lambda kind: kind,
        fold=lambda values, count: values[0],
        documented=("anything", "its type: the value of the first row that has one"),
    ),
    GroupFunction(
        "last",
        takes=lambda kind: True,
        needs="anything",
        gives=lambda kind: kind,
        fold=lambda values, count: values[-1],
        documented=("anything", "its type: the value of the last row that has one"),
    ),
    GroupFunction(
        "collect",
        takes=lambda kind: True,
        needs="anything",
        gives=Array,
        fold=lambda values, count: list(values[:count]),
        documented=("anything, and how many", "a list of the first values"),
        of_nothing=[],
        counted=True,
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
        EvaluationError: The result does not fit its type.
    """
    known = [each for each in values if each is not None]
    function = GROUP_AGGREGATES.get(spec.function)
    if function is not None:
        return function.fold(known, spec.count) if known else function.of_nothing
    if spec.distinct and spec.argument is not None:
        return _distinct(known, spec.argument.type)
    return aggregate(spec.function, spec.type, known)


def _distinct(values: Sequence[Any], kind: DataType) -> int:
    keys = sorted(map(value_key(kind), values))
    return sum(1 for at, key in enumerate(keys) if at == 0 or key != keys[at - 1])
