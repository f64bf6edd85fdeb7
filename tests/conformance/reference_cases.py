"""The cases of all forms of products, which the reference runs as one project."""

from __future__ import annotations

from joinery.testing.conformance import (
    aggregate_cases,
    all_cases,
    as_of_cases,
    clock_cases,
    clock_fold_cases,
    closed_cases,
    closed_reading_cases,
    closed_session_cases,
    closed_within_cases,
    fold_cases,
    function_cases,
    history_cases,
    late_cases,
    pattern_cases,
    reading_cases,
    search_cases,
    session_cases,
    sliding_cases,
    through_aggregate_cases,
    through_cases,
    waiting_pattern_cases,
    within_cases,
)

AGGREGATES = (
    *aggregate_cases(),
    *function_cases(),
    *late_cases(),
    *closed_cases(),
    *session_cases(),
    *closed_session_cases(),
    *sliding_cases(),
    *reading_cases(),
    *clock_cases(),
    *closed_reading_cases(),
    *search_cases(),
)
WITHIN = (*within_cases(), *closed_within_cases())
THROUGH = (*through_cases(), *through_aggregate_cases())
PATTERNS = (*pattern_cases(), *waiting_pattern_cases())
FOLDS = (*fold_cases(), *clock_fold_cases())
VERSIONS = (*history_cases(), *as_of_cases())
CASES = (*all_cases(), *AGGREGATES, *WITHIN, *THROUGH, *VERSIONS, *PATTERNS, *FOLDS)
