"""What differs between the databases that statements are written for.

Invariant: names and texts from a declaration reach a statement only through `quoted` and
`literal`.

A piece of SQL and the condition under which the expression it stands for fails.

Joinery's expressions give null as a whole where a part of them fails, and a part that is not
reached cannot fail. SQL has no such failure, so a piece carries the condition beside it.

Invariant: evaluating `sql` or `fails` never raises, whatever the row holds.

What of an expression is known before it runs: constants, and types that always fit.

Where a statement finds the rows of a relation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from zlib import crc32

from joinery.clients.sql import quoted
from joinery.expression.aggregate import AggregateSql
from joinery.expression.literal import RANGES
from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct
from joinery.plan.relation import Relation
from joinery.solutions.relational.layout import STATE, VISIBLE, rows_name

_LONGEST = 60_000


class UntranslatableError(Exception):
    """What a declaration asks for has no faithful SQL in a dialect; the text says what."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A scalar.

    Attributes:
        sql: Its value, in parentheses where it needs them.
        fails: True, in SQL, where computing it fails; empty where it never does.
    """

    sql: str
    fails: str = ""

    def __post_init__(self) -> None:
        if len(self.sql) + len(self.fails) > _LONGEST:
            raise UntranslatableError("an expression whose statement would be too long")

    def guarded(self) -> str:
        """Return its value, null where it fails."""
        return f"(CASE WHEN {self.fails} THEN NULL ELSE {self.sql} END)" if self.fails else self.sql


def either(*conditions: str) -> str:
    """Return the condition that one of `conditions` holds; empty ones never do."""
    known = [each for each in conditions if each]
    return f"({' OR '.join(known)})" if len(known) > 1 else "".join(known)


def both(first: str, second: str) -> str:
    """Return the condition that both hold; empty where the second never does."""
    return f"({first} AND {second})" if second else ""


def eager(
    arguments: Sequence[Fragment], sql: str, fails: str = "", *, backward: bool = False
) -> Fragment:
    """Return a function over arguments that are looked at in turn until one is null.

    Args:
        arguments: In the order of the call.
        sql: Its value, null where one of the arguments is.
        fails: When the function itself fails; null where one of the arguments is.
        backward: The last argument is looked at first.
    """
    told = fails
    for each in arguments if backward else reversed(arguments):
        told = either(each.fails, both(f"{each.sql} IS NOT NULL", told) if told != fails else told)
    return Fragment(sql, told)


_LONGEST_NAME = 63


def literal(text: str) -> str:
    """Return `text` as a literal of standard SQL."""
    return "'" + text.replace("'", "''") + "'"


def given_name(purpose: str, path: str) -> str:
    """Return the name of the table in which a statement is given its values.

    Example:
        >>> given_name("changed", "user_profile/starred_repos")
        'changed user_profile/starred_repos'
    """
    name = f"{purpose} {path}"
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    return f"{purpose} {crc32(path.encode()):08x}"


class Dialect(AggregateSql, Protocol):
    """Values as a database holds them, each function where it means the same.

    Methods raise `UntranslatableError` for what cannot be said faithfully.
    """

    join: str
    """The join that begins at what a statement is given."""

    def view(self, name: str, select: str) -> tuple[str, ...]:
        """Return the statements that make a view, or put it in place of its like."""

    def text(self, sql: str) -> str:
        """Return a JSON value, of the database's own type, as text."""

    def constant(self, value: Any, kind: DataType) -> str:
        """Return a constant."""

    def json(self, sql: str, kind: DataType) -> str:
        """Return the JSON text of a value, the text `null` for null."""

    def plain(self, sql: str, kind: DataType) -> str:
        """Return the text of a value as a key of a map shows it."""

    def sortable(self, sql: str, kind: DataType) -> str:
        """Return a value so that it compares as documents compare it."""

    def same(self, left: str, right: str) -> str:
        """Return the equality under which null equals null."""

    def joinable(self, left: DataType, right: DataType) -> None:
        """Refuse two columns whose stored values may differ where the values are equal."""

    def joined(self, alias: str, table: str, pick: Pick, key: tuple[str, ...]) -> str:
        """Return the join that adds the first row of `table` that a condition picks, or none.

        Args:
            alias: Of the row that is added.
            table: Where it is, quoted; `key` are the columns of its key.
            pick: The candidates.
            key: See above.
        """

    def gathered(self, texts: str, sign: str) -> str:
        """Return the texts of a column, in the order of their rows, with a sign between."""

    def convert(self, value: Fragment, source: DataType, target: DataType) -> Fragment:
        """Return a cast."""

    def arithmetic(
        self, function: str, arguments: list[Fragment], operand: DataType, result: DataType
    ) -> Fragment:
        """Return `+ - * / % div -x abs` over numbers of one type."""

    def extreme(self, function: str, values: list[str], kind: DataType) -> str:
        """Return `greatest` or `least` of values, nulls skipped."""

    def call(self, function: str, arguments: list[str], constants: list[Any]) -> str:
        """Return a function that never fails and is null where an argument is.

        Args:
            function: As `expression/functions.py` names it.
            arguments: Their SQL.
            constants: Their values where they are constants, else None.
        """


class Pick(Protocol):
    """Which row of a table a `one` embed shows."""

    alias: str

    def rest(self) -> str:
        """Return `FROM …` up to `LIMIT 1`, over rows named `alias`."""


def unquoted_decimal(value: Any, kind: Decimal) -> str:
    """Return the digits of a decimal with its scale."""
    return format(value, f".{kind.scale}f")


def plain_json(kind: DataType) -> bool:
    """Return whether the JSON text of a list or an object stands in its cell as documents show it.

    Example:
        >>> from joinery.model.type import LONG, TIMESTAMP
        >>> plain_json(Array(LONG)), plain_json(Array(TIMESTAMP))
        (True, False)
    """
    match kind:
        case Array(element):
            return plain_json(element)
        case Struct(fields):
            return all(plain_json(each.type) for each in fields)
        case Atomic(name):
            return name in ("string", "boolean", "byte", "short", "int", "long")
        case Decimal() | Map():
            return False


def narrower(source: DataType, target: DataType) -> bool:
    """Return whether a whole number of one type may not fit the other."""
    return RANGES[str(source)] > RANGES[str(target)]


def starts_and_rest(constants: list[Any]) -> bool:
    """Return whether a substring starts at a constant from 1 and has a constant length, if any."""
    start, rest = constants[1], constants[2:]
    return (
        isinstance(start, int)
        and start >= 1
        and all(isinstance(each, int) and each >= 0 for each in rest)
    )


def glob(pattern: str) -> str | None:
    """Return the pattern of SQLite's `GLOB` that matches what `like` matches, None for escapes.

    Example:
        >>> glob("a%_*")
        'a*?[*]'
    """
    if "\\" in pattern:
        return None
    signs = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
    return "".join(signs.get(each, each) for each in pattern)


class Layout(Protocol):
    """The tables of some relations; a column has the name that the relation gives it."""

    def table(self, relation: Relation) -> str:
        """Return the table of a relation, quoted."""

    def exists(self, alias: str) -> str:
        """Return the condition that products see the row under `alias`, which is quoted."""


@dataclass(frozen=True, slots=True)
class QueryLayout:
    """The tables that a store keeps for one query.

    Attributes:
        query: Leads their names.
        schema: Where they are; empty for the first of the search path.
    """

    query: str
    schema: str = ""

    def table(self, relation: Relation) -> str:
        """Return the table of a relation, quoted."""
        return self.named(rows_name(self.query, relation.name))

    def own(self, purpose: str) -> str:
        """Return something else of the query's, quoted."""
        return self.named(f"{self.query}__{purpose}")

    def named(self, name: str) -> str:
        """Return a name beside those of the query, quoted."""
        return f"{quoted(self.schema)}.{quoted(name)}" if self.schema else quoted(name)

    def exists(self, alias: str) -> str:
        """Return the condition that products see the row under `alias`, which is quoted."""
        return f"{alias}.{STATE} = {VISIBLE}"
