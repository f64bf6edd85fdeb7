"""The rows that exist at one moment, found by the values of any of their columns.

Invariant: `matching` is SQL equality: null equals nothing, NaN equals NaN, and numbers of
different widths are equal when their values are.

An expression over a row, which gives null where it fails, so that the failure is counted.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Protocol

from joinery.expression.convert import micros_of
from joinery.expression.evaluate import compile_typed, never_fails, typed_expression
from joinery.expression.problem import EvaluationError
from joinery.expression.typed import Expression
from joinery.model.change import Row
from joinery.model.type import Atomic
from joinery.plan.relation import Relation

JoinValue = tuple[Any, ...]
"""What a row joins on; see `join_value`."""
_FLOATING = (Atomic("float"), Atomic("double"))


class Matching(Protocol):
    """Where rows are looked up."""

    def matching(
        self, relation: str, columns: tuple[str, ...], value: JoinValue | None
    ) -> Sequence[Row]:
        """Return the rows of `relation` whose `columns` equal `value`; None matches nothing."""


class Rows:
    """Rows by relation, with an index on each set of columns that was asked for."""

    def __init__(
        self,
        rows: Mapping[str, Sequence[Row]],
        versions: Mapping[str, Sequence[Sequence[tuple[int, Row | None]]]] = MappingProxyType({}),
        roots: Mapping[str, Sequence[Row]] = MappingProxyType({}),
    ) -> None:
        self._rows, self._versions, self._roots = rows, versions, roots
        self._indexes: dict[tuple[str, tuple[str, ...]], dict[JoinValue, list[Row]]] = {}

    def of(self, relation: str) -> Sequence[Row]:
        """Return all rows of `relation`."""
        return self._rows.get(relation, ())

    def roots(self, relation: str) -> Sequence[Row]:
        """Return those of `relation` that documents are made of, one a key."""
        return self._roots.get(relation, self.of(relation))

    def valid(
        self, relation: str, columns: tuple[str, ...], value: JoinValue | None, at_us: int
    ) -> Sequence[Row]:
        """Return the matching rows of `relation` as they were valid at a time, one a key."""
        then = (_at(versions, at_us) for versions in self._versions[relation])
        rows = (row for row in then if row is not None)
        return [] if value is None else [row for row in rows if join_value(row, columns) == value]

    def matching(
        self, relation: str, columns: tuple[str, ...], value: JoinValue | None
    ) -> Sequence[Row]:
        """Return the rows of `relation` whose `columns` equal `value`; None matches nothing."""
        if value is None:
            return ()
        if (relation, columns) not in self._indexes:
            self._indexes[relation, columns] = _index(self.of(relation), columns)
        return self._indexes[relation, columns].get(value, ())


YEARS = range(1001, 9000)
"""Years whose times tell when a row happened: others stand for something, such as never; and so no
window leaves the years that documents can show. The kernel has them in `EventTime`."""


def _at(versions: Sequence[tuple[int, Row | None]], at_us: int) -> Row | None:
    """Return the row that was valid at a time, of versions in the order of theirs."""
    begun = [row for since_us, row in versions if since_us <= at_us]
    return begun[-1] if begun else None


def time_of(row: Row, column: str | None) -> int | None:
    """Return a row's time in microseconds since 1970; None also where it tells none.

    A time outside the years 1001 to 8999, such as 9999-12-31 for never, tells none.
    """
    moment = None if column is None else row[column]
    return None if moment is None or moment.year not in YEARS else micros_of(moment)


def join_value(row: Row, columns: Iterable[str]) -> JoinValue | None:
    """Return what `row` joins on, None where one of the columns is null.

    Example:
        >>> join_value({"a": 1, "b": 2}, ["b", "a"]), join_value({"a": None}, ["a"])
        ((2, 1), None)
    """
    value = tuple(_comparable(row[column]) for column in columns)
    return None if None in value else value


def values_reader(columns: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function from a row to the values of some columns."""
    if len(columns) == 1:
        only = columns[0]
        return lambda row: (row[only],)
    return itemgetter(*columns)


def join_reader(relation: Relation, columns: Sequence[str]) -> Callable[[Row], JoinValue | None]:
    """Return `join_value` over the columns of a relation, the faster where none is a float."""
    if any(relation.type_of(column) in _FLOATING for column in columns):
        return lambda row: join_value(row, columns)
    if len(columns) == 1:
        only = columns[0]
        return lambda row: None if (value := row[only]) is None else (value,)
    read = itemgetter(*columns)
    return lambda row: None if None in (value := read(row)) else value


def _index(rows: Iterable[Row], columns: tuple[str, ...]) -> dict[JoinValue, list[Row]]:
    index: dict[JoinValue, list[Row]] = defaultdict(list)
    for row in rows:
        value = join_value(row, columns)
        if value is not None:
            index[value].append(row)
    return dict(index)


def equal_value(value: Any) -> Any:
    """Return one value for all that are one key: NaN is the same object, zero has no sign."""
    if isinstance(value, float):
        return math.nan if math.isnan(value) else value + 0.0
    return value


def _comparable(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


Evaluate = Callable[[Mapping[str, Any]], Any]


@dataclass(slots=True)
class Findings:
    """What an evaluation of documents met on its way, in this batch and in the one before.

    Attributes:
        failures: How many expressions failed, and gave null.
        multiple: The `one` embeds, by path and join value, with several matching rows.
        limited: The starts of a pattern that were given up, by key; or keys of groups in which a
            value counts too many different ones.
        before: What was found in the batch before; None in the first.
    """

    failures: int = 0
    multiple: set[tuple[str, tuple[Any, ...]]] = field(default_factory=set)
    limited: set[tuple[Any, ...]] = field(default_factory=set)
    before: Findings | None = None

    def news(self) -> Counter[str]:
        """Return the counters of what this batch was the first to find, and end it."""
        before = self.before or Findings()
        news = self._since(before)
        self.end_batch()
        return news

    def end_batch(self) -> None:
        """Begin another batch, to which what was found until now is nothing new."""
        self.before = self.taken()

    def taken(self) -> Findings:
        """Return what was found, and start over."""
        found = Findings(self.failures, set(self.multiple), set(self.limited))
        self.failures = 0
        self.multiple.clear()
        self.limited.clear()
        return found

    def newly(self, limited: set[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
        """Return those of `limited` that the batch before did not find."""
        return limited if self.before is None else limited - self.before.limited

    def _since(self, before: Findings) -> Counter[str]:
        return +Counter(
            expression_errors=max(0, self.failures - before.failures),
            multiple_matches=len(self.multiple - before.multiple),
            instance_limit=len(self.limited - before.limited),
        )


def guarded(expression: Expression, findings: Findings) -> Evaluate:
    """Compile `expression` so that a failure gives null and is found."""
    typed = typed_expression(expression)
    evaluate = compile_typed(typed)
    if never_fails(typed):
        return evaluate

    def value_of(names: Mapping[str, Any]) -> Any:
        try:
            return evaluate(names)
        except EvaluationError:
            findings.failures += 1
            return None

    return value_of
