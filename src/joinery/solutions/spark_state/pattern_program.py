"""The node of a kernel program that finds patterns in the rows of a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from joinery.solutions.spark_state.assembler import Address, AggregateColumn
from joinery.solutions.spark_state.group_program import LateProgram

NONE = -1
"""Instead of a place, where there is nothing."""


@dataclass(frozen=True, slots=True)
class StepProgram:
    """A step of the search for a match.

    `take` takes the next row as `variable`, `pass` goes on and where that fails passes over a row,
    `try` goes on and where that fails to `other`.
    """

    step: Literal["take", "pass", "try", "matched", "failed"]
    variable: int = NONE
    next: int = NONE
    other: int = NONE


@dataclass(frozen=True, slots=True)
class TestProgram:
    """What a row must be for a variable: any row where there is neither.

    Attributes:
        column: Which column of what is kept of a row says it.
        assembler: Whose `where` says it, over what is kept of a row, with `reads` as inputs.
    """

    column: int = NONE
    assembler: int = NONE
    reads: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadProgram:
    """A value over the rows of a match, or of the row before the one under test.

    Attributes:
        variable: Whose rows; `NONE` for all of the match.
        argument: The column of what is kept of a row; `NONE` where rows are counted.
        aggregate: Of `aggregate`; None of others.
    """

    read: Literal["first", "last", "prev", "rows", "aggregate"]
    variable: int
    argument: int
    aggregate: AggregateColumn | None


@dataclass(frozen=True, slots=True)
class RuleUse:
    """Which row of a rule a row sees.

    Attributes:
        target: The Rule that keeps it.
        on: Where, over what comes to a Pattern of a row.
    """

    target: int
    on: Address


@dataclass(frozen=True, slots=True)
class RulesProgram:
    """What a Pattern knows of a row beside what comes of it.

    Attributes:
        assembler: What it knows, over what comes of a row, with what the row sees as inputs.
        uses: What a row sees, in the order of the inputs.
    """

    assembler: int
    uses: tuple[RuleUse, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """Remembers a row that gives parameters to a Pattern, and the keys whose rows see it.

    Attributes:
        target: The Pattern.
        place: Which of its rules it is.
        relation: That of the pattern's rows, whose watermark tells which keys are forgotten.
        kept_micros: How far below it a key's last row that sees the rule is then; -1 for never.
    """

    name: str
    level: int
    target: int
    place: int
    relation: int
    kept_micros: int
    kind: Literal["rule"] = "rule"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Remembers the rows of a key in their order, and the matches in them; sends each match.

    Attributes:
        relation: Whose rows they are.
        input: The assembler, over a row as products see it, of what is kept of it: first what rows
            are partitioned by; its order is that of rows of one time, or of all.
        by: How many columns rows are partitioned by.
        time: The column with a row's time; `NONE` where rows have none.
        by_time: Whether rows stand by their times first.
        key: The columns with the key of a row.
        first: Where in `steps` a search begins.
        tests: What a row must be, by variable.
        reads: What tests and fields read of a match.
        absent: The variable that no later row may be; `NONE` for none.
        within_micros: How long after its first row a match may end; -1 for any time.
        past_last: Whether the search goes on behind the last row of a match.
        most_rows: How many rows a search looks at, at most; -1 without a bound.
        most_tests: How many tests of a row a start may need.
        assembler: The object of a match, over its key, with `reads` as inputs.
        late: What becomes of rows that come late; None where nothing tells their time.
        rules: What rows see beside their columns; None for nothing.
    """

    name: str
    level: int
    relation: int
    input: int
    by: int
    time: int
    by_time: bool
    key: tuple[int, ...]
    steps: tuple[StepProgram, ...]
    first: int
    tests: tuple[TestProgram, ...]
    reads: tuple[ReadProgram, ...]
    absent: int
    within_micros: int
    past_last: bool
    most_rows: int
    most_tests: int
    assembler: int
    product: int
    late: LateProgram | None
    rules: RulesProgram | None = None
    kind: Literal["pattern"] = "pattern"
