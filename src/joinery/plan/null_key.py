"""Which columns of a key may be null: a row that nothing is known of is in a group of nulls.

Invariant: a column that is not told here is never null, so a table may keep it in a primary key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from joinery.expression.coercion import numeric, wider
from joinery.expression.typed import Apply, Closure, Constant, Convert, Read, Typed, Variable

if TYPE_CHECKING:
    from joinery.plan.relation import Computed, Relation


def nullable_groups(by: Iterable[Computed], relation: Relation) -> frozenset[str]:
    """Return the outputs of `by` that may be null.

    Args:
        by: Over the columns of `relation`.
        relation: Of its key only what a product groups by may be null.
    """
    filled = frozenset(relation.key) - relation.nullable_key
    return frozenset(each.name for each in by if not is_filled(each.expression.typed, filled))


def is_filled(typed: Typed | None, columns: frozenset[str]) -> bool:
    """Return whether an expression is never null where `columns` are not."""
    match typed:
        case Read(name):
            return name in columns
        case Constant(value):
            return value is not None
        case Convert(argument, type):
            widens = numeric(argument.type) and wider(argument.type, type) == type
            return widens and is_filled(argument, columns)
        case Apply("is null"):
            return True
        case Apply("coalesce", arguments):
            return any(is_filled(each, columns) for each in arguments)
        case Apply() | Closure() | Variable() | None:
            return False
