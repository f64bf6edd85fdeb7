"""What a changed project means for the checkpoint of one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from joinery.errors import RunError
from joinery.solutions.spark_state.fingerprint import Fingerprint
from joinery.spark.source.again import LogAgain

Outcome = Literal["unchanged", "new", "carried", "rebuilt", "left"]
ProductChange = Literal["unchanged", "changed", "added", "removed"]


class ApplyError(RunError):
    """The state of a checkpoint cannot be kept for the project as it is now."""

    code = "RUN_APPLY"


@dataclass(frozen=True, slots=True)
class QueryChange:
    """What the project as it is now means for the checkpoint of one query.

    Attributes:
        query: Its name.
        outcome: `unchanged`: a run goes on; `new`: there is no checkpoint; `carried`: its state
            fits once it is applied; `rebuilt`: it does not; `left`: the project has no such query.
        products: What became of each, those of the project first, in its order.
        why: What changed, and what keeps state from being carried over, in words.
        relations: What a rebuild reads again.
        documents: How many the last run of the query sent; None where that is not known.
        noted: What is to be noted of the checkpoint where its state is carried over.
        hindrance: What is in the way of that for now; None where nothing is.
        unbuilt: The products that were added to it and that its next run is to build.
        again: What the next run reads again to build what was added.
        taken_back: The products of which something was applied that is not built, and will not be.
        new_sinks: Products that stay, with targets that were not there when they were sent.
    """

    query: str
    outcome: Outcome
    products: Mapping[str, ProductChange]
    why: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    documents: int | None = None
    noted: Fingerprint | None = None
    hindrance: RunError | None = None
    unbuilt: tuple[str, ...] = ()
    again: tuple[LogAgain, ...] = ()
    taken_back: tuple[str, ...] = ()
    new_sinks: tuple[tuple[str, str], ...] = ()
