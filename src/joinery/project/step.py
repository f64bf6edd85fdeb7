"""The steps of a stream as a user declares them, how each is read, and how it is written.

Each step is one class with its keys, from which its reader, its writer, the JSON Schema and the
reference page follow. Names and expressions are still text; `joinery.plan.build_stream` resolves
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from joinery.errors import SpecError
from joinery.project.function import shown_name
from joinery.project.kind import Options, check_package
from joinery.project.kinds import LOOKUP_STORES
from joinery.project.mark import Path
from joinery.project.option import check_options
from joinery.project.part import (
    Part,
    key,
    keys_of,
    names_of,
    nested,
    part,
    part_data,
    read_part,
)
from joinery.project.quantity import duration_ms, duration_text
from joinery.project.reader import Reader
from joinery.project.tree import ListTree, MapTree, Scalar, Tree
from joinery.project.value import (
    COLUMNS,
    DURATION,
    EXPRESSION,
    FIELDS,
    NEW_COLUMNS,
    ON,
    OTHER,
    RATE,
    SOME_FIELDS,
    SOME_NAMES,
    SPAN,
    TEXT,
    WITHIN,
    At,
    Fragment,
    Pairs,
    Value,
    count,
    one_of,
    options_data,
)
from joinery.project.window import WEEK_US, Within

Read = Literal["state", "database", "event"]
AsOf = Literal["processing", "event"]
OnChange = Literal["keep", "re_emit", "correct"]
Late = Literal["hold", "correct"]
Miss = Literal["null", "drop", "dead_letter"]
RowFunction = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]


@part
class Cache(Part):
    """Which answers of a store may be used again."""

    size: int = key(count(), "The most answers to keep.", default=100_000)
    ttl_ms: int = key(DURATION, "How old an answer may be.", default=60_000)
    negative_ms: int = key(
        DURATION, "How long a key without a row is not requested again.", default=10_000
    )


@part
class Limits(Part):
    """What a store is spared, also after a restart with an empty cache; None sets no bound."""

    concurrency: int = key(count(), "The most requests at the same time.", default=4)
    per_second: float | None = key(
        RATE, "The most requests per second; by default unlimited.", default=None
    )
    batch: int = key(count(), "The most keys per request.", default=1000)
    warm_up_ms: int = key(
        DURATION, "How long the rate rises after a start, from a tenth of it.", default=0
    )


@dataclass(frozen=True, slots=True)
class StoreRead:
    """A store that rows are queried from: `kind` such as `postgres`, with its options."""

    kind: str
    options: Options = ()


def _read_store(at: At, tree: Tree) -> StoreRead:
    """Return the store that rows are queried from: `{kind: options}`."""
    reader, part = at.reader, at.part
    entries = reader.entries(tree, part) if isinstance(tree, MapTree) else ()
    if len(entries) != 1:
        reader.shape(tree, part, "a map with one kind", "Write one such as {sqlite: {path: db}}.")
        return StoreRead("")
    entry = entries[0]
    if entry.name not in LOOKUP_STORES:
        message = f'{part} has no kind "{entry.name}"'
        reader.unknown(message, entry.name, LOOKUP_STORES.names(), entry.place)
    check_package(reader, LOOKUP_STORES, entry.name, entry.place)
    if (known := LOOKUP_STORES.known(entry.name)) is not None:
        check_options(reader, entry, f'"{entry.name}" of {part}', known)
    return StoreRead(entry.name, reader.options(entry.value, f'"{entry.name}" of {part}'))


def _store_data(spec: StoreRead) -> dict[str, Any]:
    options = options_data(spec.options)
    return {spec.kind: {name: _function_data(each) for name, each in options.items()}}


_STORE = Value({"$ref": "#/$defs/store"}, _read_store, _store_data)


@dataclass(frozen=True, slots=True)
class Wait:
    """What an event without a row does that waits for one, for so long at the most."""

    wait_ms: int

    def __str__(self) -> str:
        return "wait"


def _read_miss(at: At, tree: Tree) -> Miss | Wait:
    """Return what becomes of an event without a row: a word, null itself, or `wait:5m`."""
    reader, part = at.reader, at.part
    if isinstance(tree, Scalar) and tree.value is None:
        return "null"
    if isinstance(tree, Scalar) and tree.text.startswith("wait"):
        wait_ms = duration_ms(tree.text.removeprefix("wait").removeprefix(":"))
        if wait_ms is None:
            message = f'{part} cannot be "{tree.text}"'
            reader.refuse("SPEC_VALUE", message, tree.mark.value, hint='Write "wait:5m".')
        return Wait(wait_ms or 0)
    if isinstance(tree, MapTree) and [each.name for each in tree.entries] == ["wait"]:
        return Wait(reader.duration_ms(tree.entries[0].value, f'"wait" of {part}'))
    word = reader.word(tree, part, (*get_args(Miss), "wait:5m"))
    return next((each for each in get_args(Miss) if each == word), "null")


_ON_MISS = Value(
    {"anyOf": [{"enum": [*get_args(Miss), None]}, {"type": "string", "pattern": r"^wait:\s*\d"}]},
    _read_miss,
    lambda miss: f"wait:{duration_text(miss.wait_ms)}" if isinstance(miss, Wait) else miss,
)


@part
class LookupSpec(Part):
    """Columns of one row of a table for each event.

    Attributes:
        on: Table column and event column, pair by pair, as in an embed.
        fields: Over the table's row; None means all columns that `on` does not name.
        time: The event's time; by default that of the stream's relation.
        for_ms: How long an event is remembered (`on_change`), or how far it may be behind the
            table (`as_of: event`).
        every_ms: How often corrections are sent (`on_change: correct`).
    """

    word: ClassVar[str] = "lookup"
    about: ClassVar[str] = "Adds columns of the matching row of a table; its keys are below."
    table: str = key(OTHER, "The table to look up: a relation with a key.", name="lookup")
    on: Pairs = key(
        ON,
        "Column of the table: column of the event, for the table's whole key.",
        default=(),
        needed=True,
        hint="Write on: {table column: event column}.",
    )
    fields: Pairs | None = key(
        FIELDS, "The columns to add; by default all that `on` does not name.", default=None
    )
    read: Read = key(
        one_of(get_args(Read)),
        "Where the row is: kept as state, in a store, or in the event already.",
        default="state",
    )
    as_of: AsOf = key(
        one_of(get_args(AsOf)),
        "The current row, or the one that was valid at the event's time.",
        default="processing",
    )
    time: str | None = key(TEXT, "The event's time; by default that of its relation.", default=None)
    late: Late = key(
        one_of(get_args(Late)),
        "Wait for the table's watermark, or send at once and correct later.",
        default="hold",
    )
    on_miss: Miss | Wait = key(
        _ON_MISS,
        "An event without a row: `null`, `drop`, `dead_letter`, or `wait:5m`.",
        default="null",
    )
    on_change: OnChange = key(
        one_of(get_args(OnChange)),
        "What a changed row does to events that were sent before.",
        default="keep",
    )
    for_ms: int | None = key(
        DURATION,
        "How long an event is remembered for a changed row; under `as_of: event`, how far"
        " an event may be behind the table.",
        default=None,
    )
    every_ms: int | None = key(
        DURATION, "How often corrections are sent under `on_change: correct`.", default=None
    )
    where: str | None = key(
        EXPRESSION, "Which events are sent again: a condition over their columns.", default=None
    )
    cache: Cache = key(
        nested(Cache, "cache"), "Which answers of the store may be used again.", default=Cache()
    )
    limits: Limits = key(
        nested(Limits, "limits"), "How fast the store may be queried.", default=Limits()
    )
    store: StoreRead | None = key(
        _STORE, "The store that is queried: a kind with its options.", default=None
    )

    @classmethod
    def check(cls, reader: Reader, parts: Mapping[str, Tree], what: str) -> None:
        """Refuse words that mean nothing without another."""
        values = {name: each.text for name, each in parts.items()}
        if values.get("read") == "event":
            return
        remembers = values.get("on_change") in ("re_emit", "correct")
        versioned, stored = values.get("as_of") == "event", values.get("read") == "database"
        wanted = (
            ("for", remembers or versioned, "on_change: re_emit"),
            ("where", remembers, "on_change: re_emit"),
            ("every", values.get("on_change") == "correct", "on_change: correct"),
            ("late", versioned, "as_of: event"),
            ("time", versioned, "as_of: event"),
            *((name, stored, "read: database") for name in ("cache", "limits", "store")),
        )
        for name, fits, beside in wanted:
            if name in parts and not fits:
                message = f'{what} has "{name}" without {beside}'
                place, hint = parts[name].mark.value, f'Add {beside}, or remove "{name}".'
                reader.refuse("SPEC_VALUE", message, place, hint=hint)
        if remembers and "for" not in parts:
            message = f'{what} needs "for" with on_change: {values["on_change"]}'
            place, hint = parts["on_change"].mark.value, "Write for: 7d."
            reader.refuse("SPEC_MISSING_KEY", message, place, hint=hint)


@part
class FilterSpec(Part):
    """Keeps the events for which `where` is true."""

    word: ClassVar[str] = "filter"
    about: ClassVar[str] = "Keeps the events for which it is true."
    where: str = key(EXPRESSION, about, name="filter")


@part
class WithColumnsSpec(Part):
    """Adds columns, or replaces those of the same name."""

    word: ClassVar[str] = "with_columns"
    about: ClassVar[str] = "Adds columns, or replaces those of the same name."
    fields: Pairs = key(NEW_COLUMNS, about, name="with_columns")


@part
class SelectSpec(Part):
    """Replaces all columns by `fields`."""

    word: ClassVar[str] = "select"
    about: ClassVar[str] = "Replaces all columns by these."
    fields: Pairs = key(SOME_FIELDS, about, name="select")


_MODULE_FUNCTION = r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$"


def _read_function(at: At, tree: Tree) -> str:
    function = at.reader.text(tree, at.part)
    if function and not re.fullmatch(_MODULE_FUNCTION, function):
        message = f'{at.part} needs module:name, not "{function}"'
        at.reader.refuse("SPEC_SHAPE", message, tree.mark.value)
    return function


def _function_data(value: Any) -> Any:
    """Return a value as a file holds it; a function is told by name, or not at all."""
    if not callable(value):
        return value
    raise SpecError(
        f'function "{shown_name(value)}" cannot be written to a project file',
        code="SPEC_FUNCTION",
        detail="A project file names a function as module:name.",
        hint="Define it at the top of a module, and import it from there.",
    )


_FUNCTION = Value(
    {"type": "string", "pattern": _MODULE_FUNCTION, "examples": ["my_steps:score"]},
    _read_function,
    _function_data,
    empty="",
)


@part
class MapSpec(Part):
    """Gives each event to a function, which returns its new columns, or None to drop it.

    Attributes:
        function: `module:name`, or the function itself where it has no such name.
        output: The columns it returns and their Spark DDL types.
    """

    word: ClassVar[str] = "map"
    about: ClassVar[str] = "Passes each event to a function of yours."
    function: str | RowFunction = key(
        _FUNCTION, "Module and function, `module:name`: takes an event, returns one or None."
    )
    output: Pairs = key(COLUMNS, "The columns it returns and their Spark DDL types.")


@part
class UnionSpec(Part):
    """Adds the events of another stream."""

    word: ClassVar[str] = "union"
    about: ClassVar[str] = "Adds the events of another stream of the same columns."
    stream: str = key(OTHER, about, name="union")


@part
class JoinSpec(Part):
    """Makes a pair of each event and each event of another log whose times are near.

    Attributes:
        relation: The other log.
        on: Its column and the event's, compared.
        within: How far its time may be from that of the event.
        fields: What it adds; None for all columns that the event lacks.
        retention_us: How far an event may be below the watermark.
    """

    word: ClassVar[str] = "join"
    about: ClassVar[str] = "Pairs events with those of another log; its keys are below."
    relation: str = key(OTHER, "The other log: a relation with `append: true`.", name="join")
    on: Pairs = key(
        ON,
        "Column of the other log: column of the event.",
        hint="Write on: {its column: event column}.",
    )
    within: Within = key(
        WITHIN,
        "How far the other's time may be from the event's, as `[0s, 30m]`.",
        hint="Write within: [0s, 30m].",
    )
    fields: Pairs | None = key(
        FIELDS, "The columns to add; by default all that the event lacks.", default=None
    )
    retention_us: int = key(
        SPAN, "How far below the watermark an event still counts.", default=WEEK_US
    )


@part
class RollingSpec(Part):
    """Adds columns over the events of the same `by` in the time up to each event.

    Attributes:
        by: Columns of the event.
        over_us: How far back from an event's time, which it has itself, others count.
        retention_us: How far an event may be below the watermark.
    """

    word: ClassVar[str] = "rolling"
    about: ClassVar[str] = "Adds columns over the events of a key in the time up to each event."
    by: tuple[str, ...] = key(SOME_NAMES, "The columns whose values events have in common.")
    over_us: int = key(SPAN, "How far back from an event's time other events count.")
    values: Pairs = key(
        NEW_COLUMNS, "The columns to add, over those events and the columns of the event."
    )
    retention_us: int = key(
        SPAN, "How far below the watermark an event still counts.", default=WEEK_US
    )


StepSpec = (
    LookupSpec
    | FilterSpec
    | WithColumnsSpec
    | SelectSpec
    | MapSpec
    | UnionSpec
    | JoinSpec
    | RollingSpec
)
"""A step: a class with the `word` that declares it, and `about` for the page.

Its keys stand beside the word where one of them is the word itself, else in a map below it.
"""
STEPS: Mapping[str, type[StepSpec]] = {each.word: each for each in get_args(StepSpec)}


def is_flat(kind: type[StepSpec]) -> bool:
    """Return whether a step's keys stand beside its word, and not in a map below it."""
    return kind.word in keys_of(kind)


def read_step(reader: Reader, tree: Tree, what: str, path: Path) -> StepSpec | None:
    """Return the step that a map declares, or None where it is not known which.

    Args:
        reader: Takes the problems.
        tree: `{filter: …}`, `{lookup: …, on: …}` and so on.
        what: The step, for the problems.
        path: Where it is declared.
    """
    if not isinstance(tree, MapTree):
        reader.shape(tree, what, "a map", "Write one such as filter: amount > 0.")
        return None
    found = [kind for word, kind in STEPS.items() if tree.get(word) is not None]
    several = [each for each in found if len(keys_of(each)) > 1 and is_flat(each)]
    if several:
        return read_part(reader, tree, what, several[0], path)
    if len(tree.entries) != 1 or not found:
        _not_one(reader, tree, what)
        return None
    (kind,) = found
    if is_flat(kind):
        return read_part(reader, tree, what, kind, path)
    below = tree.entries[0].value
    return read_part(reader, below, f'"{kind.word}" of {what}', kind, (*path, kind.word))


def _not_one(reader: Reader, tree: MapTree, what: str) -> None:
    """Note a step that is none, or several."""
    for each in tree.entries:
        if each.name not in STEPS:
            message = f'{what} has no key "{each.name}"'
            reader.unknown(message, each.name, tuple(STEPS), each.place)
            return
    names = " and ".join(f'"{each.name}"' for each in tree.entries) or "nothing"
    hint = "Begin each step with a dash of its own."
    reader.refuse("SPEC_SHAPE", f"{what} is {names}", tree.mark.value, hint=hint)


def step_data(spec: StepSpec) -> dict[str, Any]:
    """Return a step as a map.

    Raises:
        SpecError: A step calls a function that has no `module:name`.
    """
    data = part_data(spec)
    return data if is_flat(type(spec)) else {spec.word: data}


def step_fragment(kind: type[StepSpec]) -> Fragment:
    """Return what stands under a step's word, as JSON Schema."""
    below = names_of(kind)[kind.word] if is_flat(kind) else {"type": "object"}
    return {**below, "description": kind.about}


def _read_steps(at: At, tree: Tree) -> tuple[StepSpec, ...]:
    if not isinstance(tree, ListTree):
        at.reader.shape(tree, at.part, "a list", "Begin each step with a dash.")
        return ()
    read = (
        read_step(at.reader, item, f"step {index + 1} of {at.what}", (*at.path, index))
        for index, item in enumerate(tree.items)
    )
    return tuple(step for step in read if step is not None)


STEP_LIST = Value(
    {"type": "array", "items": {"$ref": "#/$defs/step"}},
    _read_steps,
    lambda steps: [step_data(each) for each in steps],
)
