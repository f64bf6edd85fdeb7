"""The sink suite for a second way of writing to a target, of which the first has every case."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet

from joinery.testing.conformance import SinkCase, sink_cases

# What may go wrong between parts of a batch that are written each for itself. What one part does
# with its documents is what a whole batch does; tables of PostgreSQL in parts have all cases.
BETWEEN_PARTS = frozenset(
    (
        "a document is held under its key, as it was sent",
        "a batch written again by a later run leaves what one writing leaves",
        "a run that has lost its lease makes nothing visible",
        "a run that was replaced, and does not know it, is refused",
        "a sink that notes batches tells the last of a checkpoint",
        "a batch interrupted on its way is whole when it ran again",
        "a batch is seen whole or not at all",
    )
)


def parts_of(cases: Iterable[SinkCase] | None = None) -> list[ParameterSet]:
    """Return the cases of a batch in parts; `make exhaustive` has those of one part."""
    chosen = list(sink_cases() if cases is None else cases)
    assert {each.sentence for each in chosen} >= BETWEEN_PARTS
    return [
        pytest.param(each, id=str(each), marks=_marks(each.sentence not in BETWEEN_PARTS))
        for each in chosen
    ]


def _marks(exhaustive: bool) -> tuple[pytest.MarkDecorator, ...]:
    return (pytest.mark.exhaustive,) if exhaustive else ()
