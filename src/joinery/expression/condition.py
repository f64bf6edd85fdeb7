"""A condition that is data: stored in a row, read while a project runs, and refused one by one.

Invariant: what is refused here the kernel refuses too, and the other way round; both are held to
`tests/spark/test_conditions_agree.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from joinery.expression.expression import build_expression
from joinery.expression.problem import ExpressionError
from joinery.expression.typed import Expression
from joinery.model.type import BOOLEAN, DataType

MOST_CHARACTERS = 8192
"""What takes longer to evaluate than a row should cost is longer than this."""


def build_condition(text: str, scope: Mapping[str, DataType]) -> Expression:
    """Return a stored condition, which is of the portable subset.

    Args:
        text: Spark SQL.
        scope: The names it may use.

    Raises:
        ExpressionError: It is empty, too long, no condition, or cannot be read.

    Example:
        >>> from joinery.model.type import INT
        >>> build_condition("price < 500", {"price": INT}).portable
        True
    """
    if not text.strip():
        raise _refused("the condition is empty")
    if len(text) > MOST_CHARACTERS:
        raise _refused(f"the condition has more than {MOST_CHARACTERS} characters")
    found, _ = build_expression(text, scope)
    if found.type != BOOLEAN:
        raise _refused(f"the condition is {found.type}, not boolean")
    return found


def _refused(message: str) -> ExpressionError:
    return ExpressionError(message, code="PLAN_EXPRESSION_TYPE", offset=0)
