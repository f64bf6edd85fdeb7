"""The cases of products that aggregate, by what a solution must be able to do for them."""

from __future__ import annotations

from joinery.testing.conformance.aggregate_cases import (
    changed,
    clocks,
    closed,
    functions,
    late,
    reading,
    reading_forms,
    reading_windows,
    session,
)
from joinery.testing.conformance.case import Case


def aggregate_cases() -> tuple[Case, ...]:
    """Return the cases of groups and windows that are sent after each change."""
    return changed.CASES


def function_cases() -> tuple[Case, ...]:
    """Return the cases of functions that groups have and embeds have not."""
    return functions.CASES


def late_cases() -> tuple[Case, ...]:
    """Return the cases of rows below the watermark."""
    return late.CASES


def closed_cases() -> tuple[Case, ...]:
    """Return the cases of windows that are sent once they are closed."""
    return closed.CASES


def session_cases() -> tuple[Case, ...]:
    """Return the cases of sessions that are sent after each change."""
    return session.CASES


def closed_session_cases() -> tuple[Case, ...]:
    """Return the cases of sessions that are sent once they are closed."""
    return session.CLOSED_CASES


def sliding_cases() -> tuple[Case, ...]:
    """Return the cases of sliding windows."""
    return session.SLIDING_CASES


def reading_cases() -> tuple[Case, ...]:
    """Return the cases of products that read others as relations."""
    return (*reading.CASES, *reading_forms.CASES, *reading_windows.CASES)


def closed_reading_cases() -> tuple[Case, ...]:
    """Return those of windows that close or slide, over groups or read by others."""
    return reading_windows.CLOSED


def clock_cases() -> tuple[Case, ...]:
    """Return the cases of times that three clocks tell."""
    return clocks.CASES
