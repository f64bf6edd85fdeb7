"""The cases of products that keep versions."""

from __future__ import annotations

from joinery.testing.conformance.case import Case
from joinery.testing.conformance.history_cases import as_of, known, versions


def history_cases() -> tuple[Case, ...]:
    """Return the cases of slowly changing dimensions."""
    return (*versions.CASES, *known.CASES)


def as_of_cases() -> tuple[Case, ...]:
    """Return the cases of embeds as of a time."""
    return as_of.CASES
