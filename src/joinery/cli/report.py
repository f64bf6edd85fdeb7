"""Tells errors and problems the way a terminal user reads them, with the exit code.

Invariant: an error is one line, and no stack trace is shown unless one was asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from joinery.errors import JoineryError, PlanError, ProjectErrors, SpecError
from joinery.model.warning import RunWarning
from joinery.plan.check import Problem, problems_of

DONE, FAILED, WRONG, FOUND = 0, 1, 2, 3


def exit_code(error: JoineryError) -> int:
    """Return 2 where the file or the arguments are wrong, else 1."""
    return WRONG if isinstance(error, SpecError | PlanError | ProjectErrors) else FAILED


def tell_error(error: JoineryError, *, file: str = "joinery.yaml") -> int:
    """Write an error to standard error and return its exit code."""
    if isinstance(error, ProjectErrors):
        write_problems(problems_of(error.problems, file), sys.stderr.write)
    elif error.location is not None:
        write_problems(problems_of([error], file), sys.stderr.write)
    else:
        sys.stderr.write(f"{one_line(error)}\n")
    return exit_code(error)


def one_line(error: JoineryError) -> str:
    """Return why, what was kept and what to do, as one line.

    Example:
        >>> one_line(JoineryError("the disk is full", detail="Batch 3 is kept.", hint="Free it."))
        'error: the disk is full. Batch 3 is kept. Free it. [JOINERY]'
    """
    parts = [_sentence(part) for part in (error.message, error.detail, error.hint) if part]
    return " ".join(" ".join(["error:", *parts, f"[{error.code}]"]).split())


def write_warning(warning: RunWarning) -> None:
    """Write a warning to standard error: what and where, facts, what to do."""
    sys.stderr.write(f"warning: {warning}\n")
    sys.stderr.flush()


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def write_problems(problems: Iterable[Problem], write: object = None) -> None:
    """Write problems as `file:line:column: CODE message` and their hints."""
    put = write if callable(write) else sys.stdout.write
    for problem in problems:
        put(f"{problem}\n")
        if problem.detail:
            put(f"  {problem.detail}\n")
        if problem.hint:
            put(f"  hint: {problem.hint}\n")
