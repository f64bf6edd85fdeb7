"""The hand-written cases, by what they are about."""

from __future__ import annotations

from joinery.testing.conformance.case import Case
from joinery.testing.conformance.cases import (
    counted,
    links,
    many,
    nested,
    one,
    order,
    positions,
    roots,
    through,
    through_hot,
    through_nested,
    values,
)


def all_cases() -> tuple[Case, ...]:
    """Return every case, in a fixed order."""
    modules = (roots, positions, many, links, one, nested, order, values, counted)
    return tuple(case for module in modules for case in module.CASES)


def through_cases() -> tuple[Case, ...]:
    """Return the cases of embeds through another relation."""
    return (*through.CASES, *through_hot.CASES, *through_nested.CASES)


def through_aggregate_cases() -> tuple[Case, ...]:
    """Return the cases of aggregates over embeds through another relation."""
    return through_nested.AGGREGATE_CASES
