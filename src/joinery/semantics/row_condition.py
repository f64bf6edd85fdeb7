"""What of a condition that depends on a match depends on its row and the one before alone.

That is those of the conditions joined by `and` that read no more. Where it fails, the whole may do
otherwise, since a condition before it may be false; so that counts as true.

The kernel's twin is `RowTest.java`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import reduce
from typing import Any

from joinery.expression.evaluate import EvaluationError, compile_typed, typed_expression
from joinery.expression.typed import Apply, Expression, Read, Typed, parts
from joinery.model.type import BOOLEAN

MayBeTrue = Callable[[Mapping[str, Any]], bool]


def row_condition(condition: Expression, follow: Collection[str]) -> MayBeTrue | None:
    """Return whether a condition may be true of a row; None where its row alone tells nothing.

    Args:
        condition: The whole of it.
        follow: What it may read that depends on what the match has taken.

    Example:
        >>> from joinery.expression.expression import build_expression
        >>> from joinery.model.type import INT
        >>> scope = {"x": INT, "taken": INT}
        >>> condition, _ = build_expression("x > 1 and x > taken and x < 9", scope)
        >>> may_be = row_condition(condition, {"taken"})
        >>> [may_be({"x": x}) for x in (1, 5, 9)]
        [False, True, False]
    """
    alone = [
        each
        for each in _joined(typed_expression(condition))
        if not any(isinstance(part, Read) and part.name in follow for part in parts(each))
    ]
    if not alone:
        return None
    evaluate = compile_typed(
        reduce(lambda left, right: Apply("and", (left, right), BOOLEAN), alone)
    )

    def may_be_true(names: Mapping[str, Any]) -> bool:
        try:
            return evaluate(names) is True
        except EvaluationError:
            return True

    return may_be_true


def _both(left: Typed, right: Typed) -> Typed:
    return Apply("and", (left, right), BOOLEAN)


def _joined(condition: Typed) -> Iterator[Typed]:
    """Yield the conditions that `and` joins, in their order."""
    match condition:
        case Apply("and", (left, right)):
            yield from _joined(left)
            yield from _joined(right)
        case _:
            yield condition
