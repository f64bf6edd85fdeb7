"""A condition that is data: stored in a row, read while a project runs, and refused one by one.

Invariant: what is refused here the kernel refuses too, and the other way round; both are held to
`tests/spark/test_conditions_agree.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from joinery.expression.expression import build_expression
from joinery.expression.problem import ExpressionError
from joinery.expression.typed import (
    Apply,
    Closure,
    Constant,
    Convert,
    Expression,
    Read,
    Typed,
    Variable,
    parts,
)
from joinery.model.type import BOOLEAN, DataType

MOST_CHARACTERS = 8192
"""No condition is longer."""

MOST_BRACKETS = 50
"""The most brackets open at once: with more, Spark's parser takes minutes and gigabytes."""

LENGTHENING = frozenset({"repeat", "lpad", "rpad"})
"""Functions whose result may be far longer than the row: no condition may call them."""

MOST_LAMBDAS = 2
"""How deeply lambdas may be nested: each goes once through a list of the row."""

_QUOTED_OR_BRACKET = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|([(\[])|([)\]])""", re.DOTALL
)


def build_condition(text: str, scope: Mapping[str, DataType]) -> Expression:
    """Return a stored condition, which is of the portable subset.

    Args:
        text: Spark SQL.
        scope: The names it may use.

    Raises:
        ExpressionError: It is empty, too long, no condition, cannot be read, or could take long.

    Example:
        >>> from joinery.model.type import INT
        >>> build_condition("price < 500", {"price": INT}).portable
        True
    """
    if not text.strip():
        raise _refused("the condition is empty")
    if len(text) > MOST_CHARACTERS:
        raise _refused(f"the condition has more than {MOST_CHARACTERS} characters")
    if _brackets(text) > MOST_BRACKETS:
        raise _refused(f"more than {MOST_BRACKETS} nested brackets")
    found, _ = build_expression(text, scope)
    if found.type != BOOLEAN:
        raise _refused(f"the condition is {found.type}, not boolean")
    if found.typed is not None:
        _check_cost(found.typed)
    return found


def _brackets(text: str) -> int:
    """Return how many brackets of a text stand open at once, but for those in quotes."""
    most = depth = 0
    for token in _QUOTED_OR_BRACKET.finditer(text):
        depth += bool(token[1]) - bool(token[2])
        most = max(most, depth)
    return most


def _check_cost(tree: Typed) -> None:
    """Refuse what may take far longer than reading the row: by what is written, not by a clock."""
    for each in parts(tree):
        match each:
            case Apply(function) if function in LENGTHENING:
                raise _refused(f'the function "{function}" may make a text too long')
            case Apply("like" | "ilike", (_, pattern)) if not _constant(pattern):
                raise _refused("the pattern of like is not a constant")
            case Apply("replace", (_, *texts)) if not all(map(_constant, texts)):
                raise _refused("what replace looks for or puts in is not a constant")
    if _lambdas(tree) > MOST_LAMBDAS:
        raise _refused(f"more than {MOST_LAMBDAS} nested lambdas")


def _constant(node: Typed) -> bool:
    return isinstance(node.argument if isinstance(node, Convert) else node, Constant)


def _lambdas(node: Typed) -> int:
    """Return how deeply lambdas are nested."""
    match node:
        case Closure(_, body):
            return 1 + _lambdas(body)
        case Convert(argument):
            return _lambdas(argument)
        case Apply(_, arguments):
            return max(map(_lambdas, arguments), default=0)
        case Constant() | Read() | Variable():
            return 0


def _refused(message: str) -> ExpressionError:
    return ExpressionError(message, code="PLAN_EXPRESSION_TYPE", offset=0)
