"""Which columns of a key may be null: a row that nothing is known of is in a group of nulls.

Invariant: a column that is not told here is never null, so a table may keep it in a primary key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from joinery.expression.coercion import numeric, wider
from joinery.expression.typed import Apply, Closure, Constant, Convert, Read, Typed, Variable
from joinery.model.type import STRING

if TYPE_CHECKING:
    from joinery.plan.relation import Computed, Relation


_SAFE = frozenset(
    (
        *("field", "is null", "coalesce", "nullif", "case", "in", "greatest", "least"),
        *("and", "or", "not", "=", "<", "<=", ">", ">=", "<=>"),
        *("upper", "lower", "trim", "ltrim", "rtrim", "length", "concat", "concat_ws"),
    )
)
"""Functions that fail for no row, if their arguments do not."""


def nullable_groups(by: Iterable[Computed], relation: Relation) -> frozenset[str]:
    """Return the outputs of `by` that may be null.

    Args:
        by: Over the columns of `relation`.
        relation: Of its key only what a product groups by may be null.
    """
    filled = frozenset(relation.key) - relation.nullable_key
    return frozenset(each.name for each in by if not is_filled(each.expression.typed, filled))


def is_filled(typed: Typed | None, columns: frozenset[str]) -> bool:
    """Return whether an expression is never null where `columns` are not.

    One that fails is null as a whole: a default does not help behind what may fail.
    """
    match typed:
        case Read(name):
            return name in columns
        case Constant(value):
            return value is not None
        case Convert(argument):
            return _widens(typed) and is_filled(argument, columns)
        case Apply("is null", (argument,)):
            return _is_safe(argument)
        case Apply("coalesce", arguments):
            filled = (place for place, each in enumerate(arguments) if is_filled(each, columns))
            default = next(filled, None)
            return default is not None and all(map(_is_safe, arguments[:default]))
        case Apply() | Closure() | Variable() | None:
            return False


def _widens(convert: Convert) -> bool:
    argument, kind = convert.argument.type, convert.type
    return numeric(argument) and wider(argument, kind) == kind


def _is_safe(typed: Typed) -> bool:
    """Return whether an expression is known not to fail, whatever is in the row."""
    match typed:
        case Read() | Constant() | Convert(Constant(None)):
            return True
        case Convert(argument):
            text = numeric(argument.type) and typed.type == STRING
            return (typed.safe or text or _widens(typed)) and _is_safe(argument)
        case Apply(function, arguments):
            return function in _SAFE and all(map(_is_safe, arguments))
        case Closure() | Variable():
            return False
