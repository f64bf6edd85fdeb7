"""What expressions may do with personal values: show them as they are, and nothing else.

A personal value is sealed wherever an expression is evaluated, so anything that looks into it
would answer for the seal.

Invariant: an expression whose result depends on a personal value has a personal type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from joinery.expression.problem import ExpressionError
from joinery.expression.typed import Apply, Convert, Expression, Read, Typed, parts
from joinery.model.type import DataType, is_personal

_PARTS = frozenset(("field", "fields"))
"""What takes a part of an object, or of each object of a list, as it is."""
_COUNTS = frozenset(("size", "cardinality"))


def check_personal(typed: Typed) -> None:
    """Refuse a typed tree that does more with a personal value than to show it.

    Raises:
        ExpressionError: It does.
    """
    for each in parts(typed):
        match each:
            case Apply(function, arguments) if function not in _PARTS:
                check_arguments(function, arguments)
            case Convert(argument):
                check_arguments("", (argument,))
            case _:
                pass


def check_arguments(function: str, arguments: Sequence[Typed], *, offset: int = 0) -> None:
    """Refuse a function over personal values, unless it only counts them.

    Raises:
        ExpressionError: It looks into them.
    """
    for each in arguments if function not in _COUNTS else ():
        if is_personal(each.type):
            names = [one.name for one in parts(each) if isinstance(one, Read)]
            raise _refusal(names[0] if names else "", offset)


def refuse_personal(expression: Expression | None) -> None:
    """Refuse a personal value where only its being there would be of use.

    Raises:
        ExpressionError: The expression gives one.
    """
    if expression is not None and is_personal(expression.type):
        raise _refusal(min(expression.references, default=""))


def refuse_names(names: Iterable[str], scope: Mapping[str, DataType]) -> None:
    """Refuse names with personal values, in a text that Spark alone can read.

    Raises:
        ExpressionError: There is one.
    """
    for name in sorted(names):
        if name in scope and is_personal(scope[name]):
            raise _refusal(name)


def _refusal(name: str, offset: int = 0) -> ExpressionError:
    return ExpressionError(
        f'an expression cannot read "{name}", which is personal',
        code="PLAN_PERSONAL",
        offset=offset,
        detail="Its values are sealed when they are decoded, so they can be shown, not computed"
        " with.",
        hint="Show it as it is; compute with it under derive of its relation, which gives columns"
        " that are personal, too; to join on it, list it under join of personal.",
    )
