"""What can be wrong with an expression, where in its text, or over one row."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from joinery.errors import JoineryError, PlanError

UNCHECKED = "PLAN_NOT_PORTABLE_UNCHECKED"
_SHORT = 2  # letters


class ExpressionError(PlanError):
    """An expression cannot be read, typed or used where it stands.

    Attributes:
        offset: The character of the expression's text where the problem is, from 0.
    """

    def __init__(
        self, message: str, *, code: str, offset: int, detail: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, detail=detail, hint=hint, code=code)
        self.offset = offset


class UnknownColumnError(ExpressionError):
    """An expression reads a name that its scope does not have.

    Attributes:
        name: The name, where it is not that of a field of an object.
    """

    def __init__(self, message: str, *, name: str, offset: int, detail: str, hint: str) -> None:
        code = "PLAN_UNKNOWN_COLUMN"
        super().__init__(message, code=code, offset=offset, detail=detail, hint=hint)
        self.name = name


class NotPortableError(ExpressionError):
    """An expression may be good Spark SQL, and lies outside the portable subset."""


def syntax_error(message: str, *, offset: int, hint: str = "") -> ExpressionError:
    """Return the error for text that is not a Spark SQL expression."""
    return ExpressionError(message, code="PLAN_EXPRESSION_SYNTAX", offset=offset, hint=hint)


def type_error(message: str, *, offset: int, hint: str = "") -> ExpressionError:
    """Return the error for an operation whose operands do not fit."""
    return ExpressionError(message, code="PLAN_EXPRESSION_TYPE", offset=offset, hint=hint)


def too_deep() -> ExpressionError:
    """Return the error for an expression that nests deeper than can be worked with."""
    return ExpressionError(
        "the expression is nested too deeply",
        code="PLAN_EXPRESSION_DEPTH",
        offset=0,
        detail="About 300 levels can be read; a sum of many terms has a level for each.",
        hint="Put parts of it in parentheses, or compute parts first, under derive or values.",
    )


def not_portable(what: str, *, offset: int, near: str = "") -> NotPortableError:
    """Return the error that asks for Spark's analyser.

    Args:
        what: What lies outside.
        offset: Where it is.
        near: The hint with what may be meant instead; empty where nothing is near.
    """
    spark = "Check it with Spark, or use what docs/expressions.md lists."
    return NotPortableError(
        f"{what} is outside the portable subset",
        code=UNCHECKED,
        offset=offset,
        detail="It was not checked.",
        hint=f"{near.removesuffix('.')}, or check it with Spark." if near else spark,
    )


def unknown_column(
    name: str, known: Iterable[str], *, offset: int, owner: str = ""
) -> ExpressionError:
    """Return the error for a name that the scope, or the struct `owner`, does not have."""
    names = tuple(each for each in known if not each.startswith(("__agg_", "__read_", "__window_")))
    listed = f"Known here are {', '.join(names)}." if names else "No column is known here."
    where = f'"{owner}" has no field' if owner else "there is no column"
    return UnknownColumnError(
        f'{where} "{name}" here',
        name="" if owner else name,
        offset=offset,
        detail=f"Its fields are {', '.join(names)}." if owner else listed,
        hint=nearest_hint(name, names),
    )


def nearest_hint(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return a hint with the name nearest to `name`, or the empty string.

    Example:
        >>> nearest_hint("custmer", ["id", "customer"]), nearest_hint("nope", ["no"])
        ('Use "customer".', '')
    """
    names = [each for each in known if _may_be_meant(name, each)]
    folded = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name, names, 1, cutoff) or difflib.get_close_matches(
        name.lower(), folded, 1, cutoff
    )
    return f'Use "{folded.get(near[0], near[0])}".' if near else ""


def _may_be_meant(name: str, known: str) -> bool:
    """Return whether lengths are near enough: of short words, half the letters are chance."""
    return min(len(name), len(known)) > _SHORT or abs(len(name) - len(known)) <= 1


def refused(what: str, *, offset: int) -> ExpressionError:
    """Return the error for SQL that looks at more than one row."""
    return ExpressionError(
        f"{what} cannot be used in an expression",
        code="PLAN_NOT_A_ROW_EXPRESSION",
        offset=offset,
        detail="An expression computes one value from one row.",
        hint="Declare the other rows as an embed.",
    )


class EvaluationError(JoineryError):
    """An expression has no value for a row, such as a division by zero."""

    code = "EXPRESSION"
