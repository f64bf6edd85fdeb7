"""The forms that a product can have: what each declares, and the key that it is declared under.

Beside documents, whose tree is the product's root, a form is over one relation, which its
`word` names in the project file: `aggregate: ORDER`. Its keys are its fields; the reader, the
writer, the JSON Schema and the reference page follow from them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias, assert_never, get_args

from joinery.project.part import Part, key, part, part_data, read_part
from joinery.project.part import key as keyed  # where a field is named key
from joinery.project.read_window import WINDOW_OR_NAME
from joinery.project.reader import Reader
from joinery.project.tree import Entry, MapTree, Scalar, Tree
from joinery.project.value import (
    ELAPSED,
    EXPRESSION,
    EXPRESSIONS,
    FIELDS,
    FLAG,
    NAMES,
    ON,
    ORDER,
    SPAN,
    TEXT,
    VALUES,
    At,
    OrderSpec,
    Pairs,
    Value,
    elapsed_data,
    is_type,
    one_of,
)
from joinery.project.window import Window

After = Literal["past_last", "next_row"]
Language = Literal["sql", "lucene"]
LOG_TIME_WORD = "$log"


class Form(Part):
    """What a product is made as.

    Attributes:
        word: The key that declares it.
        about: What that key has, for the page.
        hints: By the key of another form, where what that means is written in this one.
        later: Keys that it needs, too, which `plan` asks for.
    """

    __slots__ = ()
    word: ClassVar[str]
    about: ClassVar[str]
    hints: ClassVar[Mapping[str, str]] = {}
    later: ClassVar[tuple[str, ...]] = ()


@part
class DocumentSpec(Form):
    """One document per row of the root."""

    word: ClassVar[str] = "root"
    about: ClassVar[str] = "The relation with one row per document."


DOCUMENTS = DocumentSpec()


def _read_headers(at: At, tree: Tree) -> Pairs:
    entries = at.reader.entries(tree, at.part)
    named = ((each, f'header "{each.name}" of {at.what}') for each in entries)
    return tuple((each.name, at.reader.text(each.value, what)) for each, what in named)


@part
class OutboxSpec(Form):
    """Which columns of an outbox make an event; by default Debezium's names.

    Attributes:
        key: The event's key, so that events of one aggregate keep their order.
        value: The event itself.
        headers: Names of headers and their columns; None for those there are of
            `id` and `eventType`, from the columns `id` and `type`.
    """

    word: ClassVar[str] = "outbox"
    about: ClassVar[str] = "Instead of `root`: the relation whose inserted rows are sent as events."
    hints: ClassVar[Mapping[str, str]] = {"root": "Keep one of them."}
    later: ClassVar[tuple[str, ...]] = ("sink",)
    key: str = keyed(TEXT, "The column with the event's key.", default="aggregateid")
    value: str = keyed(TEXT, "The column with the event itself.", default="payload")
    headers: Pairs | None = keyed(
        Value({"type": "object", "additionalProperties": {"type": "string"}}, _read_headers, dict),
        "Kafka headers and the columns they are taken from.",
        default=None,
    )


@part
class AggregateSpec(Form):
    """What is kept of the groups of a relation's rows.

    Attributes:
        by: Names and expressions over a row.
        window: A window, or the name of one of the project.
        values: Names and expressions over the aggregates of a group.
    """

    word: ClassVar[str] = "aggregate"
    about: ClassVar[str] = "Instead of `root`: the relation whose rows are put into groups."
    hints: ClassVar[Mapping[str, str]] = {"fields": "Write them under by and values."}
    by: Pairs = key(FIELDS, "What its rows are grouped by.", default=())
    where: str | None = key(EXPRESSION, "Only rows for which it is true.", default=None)
    window: Window | str | None = key(
        WINDOW_OR_NAME, "The windows of time that rows are put into.", default=None
    )
    values: Pairs = key(VALUES, "What a group shows.", default=())


_QUERIES_HINT = "Write queries: RELATION, query: its column with the query."


@part
class SearchSpec(Form):
    """Which stored queries match which documents.

    Attributes:
        queries: The relation with a query in each row.
        query: Its column with the query.
        on: Columns of a query and of a document that must be equal, pair by pair.
        retroactive: Whether a new query finds documents that are there already.
        fields: Names and expressions over both rows.
    """

    word: ClassVar[str] = "search"
    about: ClassVar[str] = (
        "Instead of `root`: the relation or product that stored queries are matched with."
    )
    queries: str = key(TEXT, "The relation with a stored query in each row.", hint=_QUERIES_HINT)
    query: str = key(TEXT, "The column of `queries` with the query.", hint=_QUERIES_HINT)
    on: Pairs = key(
        ON,
        "Column of `queries`: column of the documents; a list where names agree.",
        default=(),
    )
    language: Language = key(
        one_of(get_args(Language)),
        "What a query is: a condition, or a query of Lucene.",
        default="sql",
    )
    retroactive: bool = key(FLAG, "A new query finds existing documents.", default=True)
    fields: Pairs = key(FIELDS, "What a match shows.", default=())


def _read_known_at(at: At, tree: Tree) -> str | None:
    """Return the column that tells when a change became known; `true` is the time of the log."""
    if isinstance(tree, Scalar) and isinstance(tree.value, bool):
        return LOG_TIME_WORD if tree.value else None
    return at.reader.text(tree, at.part) or None


_KNOWN_AT = Value(
    {"anyOf": [{"type": "boolean"}, {"type": "string"}]},
    _read_known_at,
    lambda known: True if known == LOG_TIME_WORD else known,
)


@part
class HistorySpec(Form):
    """What is kept of the versions of a relation's rows.

    Attributes:
        valid: The column with the time from which a version is valid.
        track: The columns in which versions differ; None for all but the key and `valid`.
        known_at: The column with the time at which a change became known, `$log` for the time at
            which its log took it; None where that is not kept.
    """

    word: ClassVar[str] = "history"
    about: ClassVar[str] = "Instead of `root`: the relation whose rows' versions are kept."
    hints: ClassVar[Mapping[str, str]] = {"fields": "Write track: [column]."}
    valid: str = key(
        TEXT,
        "The column with the time from which a version is valid.",
        default="",
        needed=True,
        hint="Write valid: COLUMN, the time from which a version is valid.",
    )
    track: tuple[str, ...] | None = key(
        NAMES, "The columns in which versions differ; by default all but `valid`.", default=None
    )
    known_at: str | None = key(
        _KNOWN_AT,
        "The column with the time at which a change became known; `true` is the time at which its"
        " log took it.",
        default=None,
    )


_RULE_HINT = "Write {one: RELATION, on: {its column: the row's}}."


@part
class RuleSpec(Part):
    """A relation whose rows give parameters to the conditions of a pattern.

    Attributes:
        name: Under which conditions name its columns.
        relation: The relation.
        on: Its columns, and those of the pattern's rows.
    """

    name: str
    relation: str = key(TEXT, "The relation whose row is looked up.", name="one", hint=_RULE_HINT)
    on: Pairs = key(
        replace(ON, write=dict),
        "Column of the rule: column of the pattern's row, for the rule's whole key.",
        hint=_RULE_HINT,
    )


def _read_rules(at: At, tree: Tree) -> tuple[RuleSpec, ...]:
    return tuple(_read_rule(at, each) for each in at.reader.entries(tree, at.part))


def _read_rule(at: At, entry: Entry) -> RuleSpec:
    reader, what = at.reader, f'rule "{entry.name}"'
    reader.output_name(entry.name, "a rule", entry.place)
    if not isinstance(entry.value, MapTree):
        reader.shape(entry.value, what, "a map", _RULE_HINT)
        return RuleSpec(entry.name, "", ())
    path = (*at.path, entry.name)
    return read_part(reader, entry.value, what, RuleSpec, path, place=entry.place, name=entry.name)


_RULES = Value(
    {"$ref": "#/$defs/rules"},
    _read_rules,
    lambda rules: {each.name: part_data(each) for each in rules},
)


@part
class PatternSpec(Form):
    """What is looked for in the rows of a relation, key by key.

    Attributes:
        by: Names and expressions over a row.
        order: How the rows of a key follow one another; empty is by time.
        define: Variables, and what a row must be to be theirs.
        match: The pattern, over variables.
        within_us: How long after its first row a match may end.
        after: Where the search goes on after a match: behind its last row, or its first.
        rules: What gives parameters to conditions.
        fields: Names and expressions over a match.
    """

    word: ClassVar[str] = "pattern"
    about: ClassVar[str] = "Instead of `root`: the relation whose rows are searched for matches."
    hints: ClassVar[Mapping[str, str]] = {
        "values": "Write it under fields.",
        "where": "Write it under where of the relation, or under define.",
    }
    by: Pairs = key(FIELDS, "Whose rows make a match.", default=())
    order: tuple[OrderSpec, ...] = key(
        ORDER,
        "The order of rows, `-` in front for descending; by default by time, then by the key.",
        default=(),
    )
    define: Pairs = key(EXPRESSIONS, "Variables, and the condition of each.", default=())
    match: str = key(
        TEXT.told(examples=["F{3,} -> S not P"]),
        "`A B` (the very next row), `A -> B` (a later one), `( )`, `A+`, `A*`, `A?`, `A{2,5}`, a"
        " bar between alternatives, and last `not C`.",
        default="",
        needed=True,
        hint="Write match: A -> B, with the variables under define.",
    )
    within_us: int | None = key(SPAN, "How long after its first row a match may end.", default=None)
    after: After = key(
        one_of(get_args(After)), "Where the search continues after a match.", default="past_last"
    )
    rules: tuple[RuleSpec, ...] = key(
        _RULES, "By name, relations whose rows give parameters to `define`.", default=()
    )
    fields: Pairs = key(FIELDS, "What a match shows.", default=())


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

    @property
    def declared(self) -> str:
        """Its type and its value, as a project file has them."""
        return self.type if self.initial is None else f"{self.type} = {self.initial}"


_STATE_HINT = "Write a type such as long, and its first value after =: long = 0."


def _read_state(at: At, tree: Tree) -> tuple[StateSpec, ...]:
    entries = at.reader.entries(tree, at.part)
    if isinstance(tree, MapTree) and not entries:
        message = f"{at.part} does not name a column"
        at.reader.refuse("SPEC_SHAPE", message, tree.mark.value, hint=_STATE_HINT)
    return tuple(_read_state_column(at.reader, each, at.part) for each in entries)


def _read_state_column(reader: Reader, entry: Entry, what: str) -> StateSpec:
    part = f'column "{entry.name}" of {what}'
    reader.output_name(entry.name, "a column of a state", entry.place)
    if not (isinstance(entry.value, Scalar) and isinstance(entry.value.value, str)):
        reader.shape(entry.value, part, "a type", _STATE_HINT)
        return StateSpec(entry.name, "string")
    declared, equals, value = entry.value.value.partition("=")
    kind, initial = declared.strip(), value.strip()
    if equals and not initial:
        message = f'{part} has nothing after "="'
        reader.refuse("SPEC_VALUE", message, entry.value.mark.value, hint=_STATE_HINT)
    if not is_type(reader, entry.value, kind, part):
        kind = "string"
    return StateSpec(entry.name, kind, initial or None)


def read_when(at: At, tree: Tree) -> tuple[tuple[str, Pairs], ...]:
    """Return what events make of the state, by kind."""
    return tuple(
        (each.name, at.reader.pairs(each.value, f'"{each.name}" of {at.part}'))
        for each in at.reader.entries(tree, at.part)
    )


_STATE = Value(
    {"$ref": "#/$defs/state"},
    _read_state,
    lambda state: {each.name: each.declared for each in state},
)
_WHEN = Value(
    {"$ref": "#/$defs/when"},
    read_when,
    lambda when: {kind: dict(assigned) for kind, assigned in when},
)
MINUTE_US = 60_000_000
_EVENTS = re.compile(r"\s*0*(\d+)\s+events?\s*", re.ASCII)
_MOST_EVENTS = 1_000_000


@dataclass(frozen=True, slots=True)
class WaitTime:
    """Events behind a gap wait so long; 0 for not at all."""

    us: int


@dataclass(frozen=True, slots=True)
class WaitEvents:
    """Events behind a gap wait until there are `count` of them."""

    count: int


FoldWait: TypeAlias = WaitTime | WaitEvents
"""What ends the waiting for numbers that are missing."""


def _read_wait(at: At, tree: Tree) -> FoldWait:
    told = _EVENTS.fullmatch(tree.text) if isinstance(tree, Scalar) else None
    if told is None:
        return WaitTime(at.reader.elapsed_us(tree, at.part))
    count = int(told[1][:8])  # However long it is, they tell whether it is too large.
    if 1 <= count <= _MOST_EVENTS:
        return WaitEvents(count)
    hint = "Write 0s to wait for nothing." if count == 0 else "Write a time, such as 1 day."
    at.reader.shape(tree, at.part, f"a number of events from 1 to {_MOST_EVENTS:,}", hint)
    return WaitEvents(1)


def _wait_data(wait: FoldWait) -> str:
    match wait:
        case WaitTime(us):
            return elapsed_data(us)
        case WaitEvents(count):
            return f"{count} event{'' if count == 1 else 's'}"
        case _:
            assert_never(wait)


_WAIT = Value(
    {"anyOf": [ELAPSED.fragment, {"type": "string", "pattern": r"^\s*\d+\s+events?\s*$"}]},
    _read_wait,
    _wait_data,
    empty=WaitTime(0),
)


@part
class FoldSpec(Form):
    """How the events of a log become a state, key by key.

    Attributes:
        by: Names and expressions over an event.
        sequence: The column with an event's number, which counts from 1 in each key.
        kind: The column that says what has happened.
        state: The columns of the state.
        when: What an event of a kind makes of the state: names and expressions.
        wait: How long events behind a gap wait for the numbers that are missing.
    """

    word: ClassVar[str] = "fold"
    about: ClassVar[str] = "Instead of `root`: the log whose events become a state."
    hints: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("fields", "values"), "Write columns of the state under state."),
        "where": "Write it under where of the relation; what it leaves out is a gap.",
    }
    later: ClassVar[tuple[str, ...]] = ("when",)
    by: Pairs = key(FIELDS, "Whose events have one state.", default=())
    sequence: str = key(
        TEXT,
        "The column with an event's number, from 1 in each key.",
        default="",
        needed=True,
        hint="Write sequence: COLUMN, with the number of an event, from 1.",
    )
    kind: str = key(TEXT, "The column that says what has happened.", default="type")
    state: tuple[StateSpec, ...] = key(
        _STATE,
        "The columns of the state: `decimal(18,2) = 0` begins with a value.",
        default=(),
        needed=True,
        hint="Write state: {balance: decimal(18,2) = 0}, the value in quotes.",
    )
    when: tuple[tuple[str, Pairs], ...] = key(
        _WHEN,
        "By kind of event, what columns of the state become: expressions over the state before,"
        " and over the event (`event.amount`).",
        default=(),
    )
    wait: FoldWait = key(
        _WAIT,
        "How long events wait for numbers missing before theirs, or how many events wait: `100"
        " events`; `0s` does not wait.",
        default=WaitTime(MINUTE_US),
    )


FormSpec: TypeAlias = (
    DocumentSpec | OutboxSpec | AggregateSpec | SearchSpec | HistorySpec | PatternSpec | FoldSpec
)
"""What a product may be."""
FORMS: Mapping[str, type[FormSpec]] = {each.word: each for each in get_args(FormSpec)}
TimedSpec: TypeAlias = DocumentSpec | AggregateSpec | PatternSpec
"""The forms that go by time, and take all keys of `emit`."""


def is_below(kind: type[FormSpec]) -> bool:
    """Return whether the keys of a form are in a map below its word, and not beside it."""
    return kind is OutboxSpec


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
