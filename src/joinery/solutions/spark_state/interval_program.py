"""What a kernel program tells of rows that intervals compare in time."""

from __future__ import annotations

from dataclasses import dataclass

from joinery.solutions.spark_state.group_program import LateProgram


@dataclass(frozen=True, slots=True)
class Judged:
    """Which rows of a relation come late for one product with intervals.

    Attributes:
        product: Its place.
        late: When a row is late, and what becomes of it.
        before_micros: How long before its time a row may be waited for; -1 for not at all.
        after_micros: The same after it.
        counts_micros: A change of a row is too late once the watermark is so long past its time;
            -1 where none is.
        forgotten_micros: A row is forgotten to a change of it so long past its time.
        time_columns: The decoded columns that the time is made of; a change that leaves one out
            does not tell it.
    """

    product: int
    late: LateProgram
    before_micros: int
    after_micros: int
    counts_micros: int
    forgotten_micros: int
    time_columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """How long rows are kept after their times.

    Attributes:
        logs: The relations by the least of whose watermarks they are forgotten.
        micros: Those of the node itself: a Retract's, a Fold's own, an Interval's parents.
        child_micros: Their children; 0 where the node keeps none.
    """

    logs: tuple[int, ...]
    micros: int
    child_micros: int
