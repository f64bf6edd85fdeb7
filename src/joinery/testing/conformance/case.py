"""A conformance case: a sentence, a project, batches of changes and what each must send.

Invariant: a case tells values literally; nothing in it is computed by Joinery.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from joinery.testing.changes import RowChange
from joinery.testing.driver import Emission


@dataclass(frozen=True, slots=True)
class Step:
    """One batch.

    Attributes:
        changes: In log order.
        emissions: What the sink must receive, in any order of the keys; values as in JSON.
        dead: The root keys whose document must become a dead letter.
        counts: What the case's product and relations must count together of the counters that
            the suite compares; None where the case does not say.
    """

    changes: tuple[RowChange, ...]
    emissions: tuple[Emission, ...] = ()
    dead: tuple[Any, ...] = ()
    counts: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that every solution must do.

    Attributes:
        sentence: What holds.
        project: The `relations` and `products` of a project file; one product.
    """

    sentence: str
    project: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return self.sentence


def case(sentence: str, project: str, *steps: Step) -> Case:
    """Return a case of these batches."""
    return Case(sentence, project, steps)


def when(
    *changes: RowChange,
    then: Iterable[Emission] = (),
    dead: Iterable[Any] = (),
    counts: Mapping[str, int] | None = None,
) -> Step:
    """Return a batch of `changes`, after which exactly `then` is sent."""
    return Step(changes, tuple(then), tuple(dead), counts)
