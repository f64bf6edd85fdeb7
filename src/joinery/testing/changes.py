"""Changes as a test writes them: an operation, a relation, columns by name.

Invariant: an insert tells every column (null where it names none), an update only those
it names.

Whether a value that a test wrote is one of its column's type.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from joinery.errors import JoineryError
from joinery.expression.convert import micros_of
from joinery.model.change import Change, Row
from joinery.model.float_text import single_text
from joinery.model.type import TIMESTAMP, Array, Atomic, DataType, Decimal, Map, Struct, opened
from joinery.plan.relation import Relation
from joinery.project.kinds import FORMATS
from joinery.semantics.read_change import typed

Op = Literal["insert", "update", "delete", "tombstone"]
_BITS = {"byte": 7, "short": 15, "int": 31, "long": 63}
_KINDS: dict[str, type] = {
    "boolean": bool,
    "float": float,
    "double": float,
    "string": str,
    "binary": bytes,
    "timestamp": dt.datetime,
    "timestamp_ntz": dt.datetime,
}


def fits(value: Any, type_: DataType) -> bool:
    """Return whether `value`, null or not, is one of `type_`.

    Example:
        >>> from joinery.model.type import LONG
        >>> fits(7, LONG), fits("7", LONG), fits(2**63, LONG)
        (True, False, False)
    """
    if value is None:
        return True
    match opened(type_):
        case Struct(fields):
            return all(fits(value[field.name], field.type) for field in fields)
        case Array(element):
            return all(fits(each, element) for each in value)
        case Map(key, of):
            return all(fits(name, key) and fits(each, of) for name, each in value.items())
        case Decimal(precision, scale):
            return isinstance(value, decimal.Decimal) and abs(value) < 10 ** (precision - scale)
        case Atomic(name):
            return _atomic(value, name)


def shown(value: Any, type_: DataType) -> Any:
    """Return `value`, one of `type_`, with the numbers that a document shows of it.

    A `float` has 32 bits, and a document has the shortest digits that are the same 32 bits.

    Example:
        >>> shown(0.10000000149011612, Atomic("float"))
        0.1
    """
    if value is None:
        return None
    match opened(type_):
        case Struct(fields):
            return {field.name: shown(value[field.name], field.type) for field in fields}
        case Array(element):
            return [shown(each, element) for each in value]
        case Map(key, of):
            return {shown(name, key): shown(each, of) for name, each in value.items()}
        case Atomic("float"):
            return float(single_text(value))
        case _:
            return value


def _atomic(value: Any, name: str) -> bool:
    if name in _BITS:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and -(2 ** _BITS[name]) <= value < 2 ** _BITS[name]
    if name == "date":
        return isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return isinstance(value, _KINDS[name])


def ended_by(relation: Relation, values: Row) -> Row | None:
    """Return what a flat delete tells beside its key; an event's `before` is the old row."""
    if FORMATS[relation.format].events:
        return None
    return {name: each for name, each in values.items() if name not in relation.key} or None


def position_of(relation: Relation, values: Row) -> int | None:
    """Return the position that a row tells in the column which its relation names for it."""
    told = values.get(relation.position) if relation.position else None
    if isinstance(told, dt.datetime):
        return micros_of(told if told.tzinfo else told.replace(tzinfo=dt.UTC))
    return told


class ChangeError(JoineryError):
    """A test names a relation or a column that is not there, or gives a value of another type."""

    code = "TEST_CHANGE"


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change whose relation is known by name alone.

    Example:
        >>> insert("user", email="a@x", username="a").at(7).position
        7
    """

    op: Op
    relation: str
    columns: Mapping[str, Any]
    position: int | None = None
    partition: int = 0
    snapshot: bool = False
    logged_at: str | None = None

    def at(self, position: int) -> RowChange:
        """Return the change with the source's own position, whatever its columns tell."""
        return replace(self, position=position)

    def within(self, partition: int) -> RowChange:
        """Return the change in another partition of its log; all are in one by default."""
        return replace(self, partition=partition)

    def logged(self, at: str) -> RowChange:
        """Return the change as one that its log took at a time, in ISO 8601."""
        return replace(self, logged_at=at)

    def as_snapshot(self) -> RowChange:
        """Return the change as one that was read from the table itself."""
        return replace(self, snapshot=True)

    def change(self, relation: Relation) -> Change:
        """Return the change of `relation` that this tells, with typed values.

        Raises:
            ChangeError: A column is not declared, a value is not of its column's type, or a
                key column is missing or null.
        """
        values = {name: self._typed(name, value, relation) for name, value in self.columns.items()}
        return Change(
            relation=relation.name,
            key={column: self._key_value(column, values) for column in relation.key_names},
            after=self._after(values, relation),
            position=position_of(relation, values) if self.position is None else self.position,
            tombstone=self.op == "tombstone",
            partition=self.partition,
            snapshot=self.snapshot,
            ended=ended_by(relation, values) if self.op == "delete" else None,
            logged_us=self._logged_us(),
        )

    def _logged_us(self) -> int | None:
        return None if self.logged_at is None else micros_of(typed(self.logged_at, TIMESTAMP))

    def _after(self, values: Mapping[str, Any], relation: Relation) -> Mapping[str, Any] | None:
        if self.op == "insert":
            return {column.name: values.get(column.name) for column in relation.columns}
        return values if self.op == "update" else None

    def _typed(self, name: str, value: Any, relation: Relation) -> Any:
        types = {column.name: column.type for column in relation.columns}
        if name not in types:
            raise ChangeError(
                f'relation "{relation.name}" has no column "{name}"',
                detail=f"Its columns are {', '.join(types)}.",
            )
        return self._fitting(name, value, types[name])

    def _fitting(self, name: str, value: Any, type_: DataType) -> Any:
        try:
            found = typed(value, type_)
            fitting = fits(found, type_)
        except (ArithmeticError, AttributeError, TypeError, ValueError):
            fitting = False
        if not fitting:
            raise ChangeError(
                f'{self.op} of "{self.relation}": "{name}" cannot be {value!r}',
                detail=f"The column is declared {type_}.",
                hint="A source's value of a wrong type is a dead letter, and reaches no product.",
            )
        return found

    def _key_value(self, column: str, values: Mapping[str, Any]) -> Any:
        if values.get(column) is None:
            raise ChangeError(
                f'{self.op} of "{self.relation}" lacks the key column "{column}"',
                hint=f"Add {column}=… to the change.",
            )
        return values[column]


def _told(op: Op, relation: object, columns: Mapping[str, Any]) -> RowChange:
    if isinstance(relation, str):
        return RowChange(op, relation, columns)
    raise ChangeError(
        f"a relation cannot be of type {type(relation).__name__}",
        hint=f'Write {op}("{getattr(relation, "name", "orders")}", …), with its name.',
    )


def insert(relation: str, /, **columns: object) -> RowChange:
    """Tell a whole row; columns that are not named are null."""
    return _told("insert", relation, columns)


def update(relation: str, /, **columns: object) -> RowChange:
    """Tell some columns of a row; the others keep what is stored."""
    return _told("update", relation, columns)


def delete(relation: str, /, **columns: object) -> RowChange:
    """Tell that a row went: its key, and in a flat format what else is told, such as when."""
    return _told("delete", relation, columns)


def tombstone(relation: str, /, **key: object) -> RowChange:
    """Tell a null value under the row's key, as compacted logs hold after a delete."""
    return _told("tombstone", relation, key)


def flat(changes: Iterable[object]) -> Iterator[Change | RowChange]:
    """Yield changes that are given one by one or in lists, in order.

    Raises:
        ChangeError: Something else was given.
    """
    for each in changes:
        if isinstance(each, Change | RowChange):
            yield each
        elif isinstance(each, Iterable) and not isinstance(each, str | Mapping):
            yield from flat(each)
        else:
            raise ChangeError(
                f"an object of type {type(each).__name__} is no change",
                hint="Write insert(RELATION, column=value, …), or the like.",
            )
