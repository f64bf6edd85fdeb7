"""The failure of an expression over one row; callers turn it into null and count it."""

from __future__ import annotations

from joinery.errors import JoineryError


class EvaluationError(JoineryError):
    """An expression has no value for a row, such as a division by zero."""

    code = "EXPRESSION"
