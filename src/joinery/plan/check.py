"""Every problem and warning of a project at once, as rows for people and programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from joinery.errors import JoineryError, Location
from joinery.expression.expression import Analyser
from joinery.plan.build import examine
from joinery.plan.sound import sound_parts
from joinery.project.load import load_parts

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem at its place; `file` is as the user named it."""

    file: str
    line: int
    column: int
    code: str
    message: str
    hint: str = ""
    severity: Severity = "error"
    detail: str = ""

    def __str__(self) -> str:
        kind = "warning: " if self.severity == "warning" else ""
        return f"{self.file}:{self.line}:{self.column}: {self.code} {kind}{self.message}"


def check(
    path: str | Path, analyser: Analyser | None = None, *, settings: Iterable[str] = ()
) -> list[Problem]:
    """Return what is wrong with a project file or folder, in file order.

    Args:
        path: The file, or a folder of them.
        analyser: Types expressions outside the portable subset. It is asked only where
            there is one, so that it may start Spark when first asked.
        settings: Replacements such as `run.trigger=1s`.
    """
    spec, unread = load_parts(path, settings=settings)
    found = problems_of(unread, str(path))
    if spec is not None:
        _, problems, warnings = examine(sound_parts(spec, unread), analyser)
        found += problems_of(problems, str(path)) + problems_of(warnings, str(path), "warning")
    return sorted(found, key=lambda each: (each.file, each.line, each.column))


def problems_of(
    errors: Iterable[JoineryError], file: str, severity: Severity = "error"
) -> list[Problem]:
    """Return errors as rows; one without a place stands at the start of `file`."""
    return [_problem(error, error.location or Location(file), severity) for error in errors]


def _problem(error: JoineryError, place: Location, severity: Severity) -> Problem:
    return Problem(
        file=place.file,
        line=place.line,
        column=place.column,
        code=error.code,
        message=error.message,
        hint=error.hint,
        severity=severity,
        detail=error.detail,
    )
