"""Ends a command: tells its errors and problems as a terminal user reads them, with the exit code.

Invariant: an error is one line, and no stack trace is shown unless one was asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from joinery.errors import JoineryError, PlanError, ProjectErrors, SpecError
from joinery.text.sentence import sentence

if TYPE_CHECKING:
    from joinery.plan.check import Problem

DONE, FAILED, WRONG, FOUND = 0, 1, 2, 3
_TOLD = 20  # problems of a project; `joinery check` tells all


def exit_code(error: JoineryError) -> int:
    """Return 2 where the file or the arguments are wrong, else 1."""
    return WRONG if isinstance(error, SpecError | PlanError | ProjectErrors) else FAILED


def tell_error(error: JoineryError, *, file: str = "joinery.yaml") -> int:
    """Write an error to standard error and return its exit code."""
    from joinery.plan.check import problems_of
    from joinery.text.figure import counted_text

    if isinstance(error, ProjectErrors):
        found = problems_of(error.problems, file)
        write_problems(found[:_TOLD], sys.stderr.write)
        if len(found) > _TOLD:
            more = counted_text(len(found) - _TOLD, "more problem")
            sys.stderr.write(f"… {more}: joinery check lists all\n")
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
    parts = [sentence(part) for part in (error.message, error.detail, error.hint) if part]
    return " ".join(" ".join(["error:", *parts, f"[{error.code}]"]).split())


def write_problems(problems: Iterable[Problem], write: object = None) -> None:
    """Write problems as `file:line:column: CODE message` and their hints."""
    put = write if callable(write) else sys.stdout.write
    for problem in problems:
        put(f"{problem}\n")
        if problem.detail:
            put(f"  {problem.detail}\n")
        if problem.hint:
            put(f"  hint: {problem.hint}\n")
