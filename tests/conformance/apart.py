"""Cases of a few steps in one run and those of more in another.

A run takes as many batches as the longest of its cases has steps: three quarters of all cases would
go through as many again without a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from joinery.testing import conformance
from joinery.testing.conformance import Case, Runner

_FEW = 3


class _Stepwise(Protocol):
    @property
    def steps(self) -> Sequence[object]: ...


T = TypeVar("T", bound=_Stepwise)


def apart(cases: Iterable[T]) -> list[list[T]]:
    """Return the cases of a few steps, and those of more."""
    found: tuple[list[T], list[T]] = [], []
    for each in cases:
        found[len(each.steps) > _FEW].append(each)
    return [part for part in found if part]


def problems_of(runner: Runner, cases: Iterable[Case]) -> dict[str, str]:
    """Run cases from an empty place each time; return what is wrong with each, by its sentence."""
    examined = (conformance.examine(runner, part) for part in apart(cases))
    return {each.case.sentence: each.problem for part in examined for each in part}
