"""The cases of embeds of an interval, by when their documents are sent."""

from __future__ import annotations

from joinery.testing.conformance.case import Case
from joinery.testing.conformance.within_cases import changed, closed, late


def within_cases() -> tuple[Case, ...]:
    """Return the cases of documents that are sent after each change."""
    return changed.CASES


def closed_within_cases() -> tuple[Case, ...]:
    """Return the cases of documents that are sent once nothing more can happen in time.

    Those of rows that come late are among them.
    """
    return closed.CASES + late.CASES
