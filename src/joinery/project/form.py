"""The forms that a product can have: what each declares, and the key that it is declared under.

Beside documents, whose tree is the product's root, a form is over one relation, which its
`word` names in the project file: `aggregate: ORDER`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, assert_never

from joinery.project.value import Pairs
from joinery.project.window import AS_CHANGED, Emit, Window

After = Literal["past_last", "next_row"]


@dataclass(frozen=True, slots=True)
class OrderSpec:
    """One entry of an `order`."""

    expression: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class DocumentSpec:
    """One document a row of the root.

    Attributes:
        emit: Of documents with `within`: when they are sent, and what rows do that come late.
    """

    word: ClassVar[str] = "root"
    emit: Emit = AS_CHANGED


DOCUMENTS = DocumentSpec()


@dataclass(frozen=True, slots=True)
class OutboxSpec:
    """Which columns of an outbox make an event; by default Debezium's names.

    Attributes:
        key: The event's key, so that events of one aggregate keep their order.
        value: The event itself.
        headers: Names of headers and their columns; None for those there are of
            `id` and `eventType`, from the columns `id` and `type`.
    """

    word: ClassVar[str] = "outbox"
    key: str = "aggregateid"
    value: str = "payload"
    headers: Pairs | None = None


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """What is kept of the groups of a relation's rows.

    Attributes:
        by: Names and expressions over a row.
        window: A window, or the name of one of the project.
        values: Names and expressions over the aggregates of a group.
    """

    word: ClassVar[str] = "aggregate"
    by: Pairs = ()
    where: str | None = None
    window: Window | str | None = None
    values: Pairs = ()
    emit: Emit = AS_CHANGED


@dataclass(frozen=True, slots=True)
class SearchSpec:
    """Which stored queries match which documents.

    Attributes:
        queries: The relation with a query in each row.
        query: Its column with the query.
        on: Columns of a query and of a document that must be equal, pair by pair.
        retroactive: Whether a new query finds documents that are there already.
        fields: Names and expressions over both rows.
    """

    word: ClassVar[str] = "search"
    queries: str
    query: str
    on: Pairs = ()
    language: Literal["sql", "lucene"] = "sql"
    retroactive: bool = True
    fields: Pairs = ()


@dataclass(frozen=True, slots=True)
class HistorySpec:
    """What is kept of the versions of a relation's rows.

    Attributes:
        valid: The column with the time from which a version is valid.
        track: The columns in which versions differ; None for all but the key and `valid`.
        known_at: The column with the time at which a change became known, `$log` for the time at
            which its log took it; None where that is not kept.
    """

    word: ClassVar[str] = "history"
    valid: str = ""
    track: tuple[str, ...] | None = None
    known_at: str | None = None


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """A relation whose rows give parameters to the conditions of a pattern.

    Attributes:
        name: Under which conditions name its columns.
        relation: The relation.
        on: Its columns, and those of the pattern's rows.
    """

    name: str
    relation: str
    on: Pairs


@dataclass(frozen=True, slots=True)
class PatternSpec:
    """What is looked for in the rows of a relation, key by key.

    Attributes:
        by: Names and expressions over a row.
        order: How the rows of a key follow one another; empty is by time.
        define: Variables, and what a row must be to be theirs.
        match: The pattern, over variables.
        within_us: How long after its first row a match may end.
        after: Where the search goes on after a match: behind its last row, or its first.
        fields: Names and expressions over a match.
        rules: What gives parameters to conditions.
    """

    word: ClassVar[str] = "pattern"
    match: str
    by: Pairs = ()
    order: tuple[OrderSpec, ...] = ()
    define: Pairs = ()
    within_us: int | None = None
    after: After = "past_last"
    fields: Pairs = ()
    emit: Emit = AS_CHANGED
    rules: tuple[RuleSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class StateSpec:
    """One column of the state that events are folded into.

    Attributes:
        type: Its Spark DDL type.
        initial: The expression of its value before the first event; None for null.
    """

    name: str
    type: str
    initial: str | None = None


MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True)
class FoldSpec:
    """How the events of a log become a state, key by key.

    Attributes:
        by: Names and expressions over an event.
        sequence: The column with an event's number, which counts from 1 in each key.
        kind: The column that says what has happened.
        state: The columns of the state.
        when: What an event of a kind makes of the state: names and expressions.
        wait_us: How long events behind a gap wait for the numbers that are missing.
    """

    word: ClassVar[str] = "fold"
    by: Pairs = ()
    sequence: str = ""
    kind: str = "type"
    state: tuple[StateSpec, ...] = ()
    when: tuple[tuple[str, Pairs], ...] = ()
    wait_us: int = MINUTE_US


FormSpec: TypeAlias = (
    DocumentSpec | OutboxSpec | AggregateSpec | PatternSpec | SearchSpec | FoldSpec | HistorySpec
)
"""What a product may be: a class with the `word` that declares it."""


def relations_beside(form: FormSpec) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the relations that a form reads beside the root's, each with where it names them."""
    match form:
        case SearchSpec():
            return ((form.queries, ("queries",)),)
        case PatternSpec():
            return tuple((each.relation, ("rules", each.name, "one")) for each in form.rules)
        case DocumentSpec() | OutboxSpec() | AggregateSpec() | FoldSpec() | HistorySpec():
            return ()
        case _:
            assert_never(form)
