"""The hand-written cases of streams, by what they are about."""

from __future__ import annotations

from joinery.testing.conformance.stream_case import StreamCase
from joinery.testing.conformance.stream_cases import (
    chained,
    changed,
    combined,
    current,
    joined,
    missed,
    placed,
    repeated,
    rolling,
    seen,
    step,
    stored,
    versioned,
)


def stream_cases() -> tuple[StreamCase, ...]:
    """Return every case, in a fixed order."""
    modules = (
        step,
        placed,
        repeated,
        current,
        missed,
        changed,
        versioned,
        stored,
        rolling,
        seen,
        joined,
        chained,
        combined,
    )
    return tuple(case for module in modules for case in module.CASES)
