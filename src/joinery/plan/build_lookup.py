"""From a lookup's spec to a lookup of the plan: its table, its fields, its times, its store.

Switches that exclude one another are refused, each with the reason.

Invariant: `on` covers the table's key, in the key's order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from joinery.expression.typed import Expression
from joinery.model.type import TIMESTAMP, DataType, Field, is_personal
from joinery.plan.build_personal import blind_key_pair
from joinery.plan.context import Context
from joinery.plan.join import common_type, comparable
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.plan.step import Lookup
from joinery.plan.timestamp_hint import timestamp_hint
from joinery.project.mark import Path
from joinery.project.step import LookupSpec, StoreRead, Wait
from joinery.project.stream import WatermarkSpec
from joinery.project.value import Pairs

Row = dict[str, DataType]


@dataclass(frozen=True, slots=True)
class Events:
    """The events that a lookup is given.

    Attributes:
        stream: The stream's name.
        relation: Where they come from.
        columns: What they have.
        lost: Columns whose own problem is noted.
        standing: Those that are as in the log; of these alone an event has blind indexes.
    """

    stream: str
    relation: Relation
    columns: tuple[Field, ...]
    lost: Collection[str] = ()
    standing: Collection[str] = ()

    @property
    def row(self) -> Row:
        """The types of their columns."""
        return {each.name: each.type for each in self.columns}


@dataclass(frozen=True, slots=True)
class LookupContext:
    """One lookup under construction, whose table is there.

    Attributes:
        context: Takes the problems.
        path: Where it is declared.
        lost: Columns of the table whose own problem is noted.
    """

    context: Context
    spec: LookupSpec
    path: Path
    events: Events
    table: Relation
    lost: Collection[str] = ()

    @property
    def what(self) -> str:
        """The lookup, for messages."""
        return f'the lookup of "{self.table.name}"'

    @property
    def row(self) -> Row:
        """The types of the table's columns."""
        return {each.name: each.type for each in self.table.row.fields}

    def refuse(self, code: str, message: str, word: str, *, detail: str = "", hint: str) -> None:
        """Note a problem of the switch `word`."""
        self.context.refuse(code, message, (*self.path, word), detail=detail, hint=hint)


def build_on(asked: LookupContext) -> tuple[JoinPair, ...]:
    """Return the pairs in the order of the table's key, or note what is wrong with them."""
    table = asked.row
    failed = {*asked.lost, *asked.events.lost}
    pairs = tuple(each for each in dict.fromkeys(asked.spec.on) if failed.isdisjoint(each))
    swapped = tuple((event, column) for column, event in pairs)
    if _look_swapped(asked, pairs, swapped, table):
        return ()
    found = [_pair(asked, column, event, table) for column, event in pairs]
    made = {each.child: each for each in found if each is not None}
    if len(pairs) == len(asked.spec.on) and all(found):
        _check_key(asked, made)
    return tuple(made[name] for name in asked.table.key if name in made)


def _look_swapped(asked: LookupContext, pairs: Pairs, swapped: Pairs, table: Row) -> bool:
    """Refuse pairs that only fit the other way round, or so alone meet the key."""
    event = asked.events.row
    named = _there(swapped, table, event) and not _there(pairs, table, event)
    key = set(asked.table.key_names)
    meant = _columns(swapped) == key != _columns(pairs)
    turned = _fits(swapped, table, event) and (meant or not _fits(pairs, table, event))
    if not (named or turned):
        return False
    written = ", ".join(f"{column}: {name}" for column, name in swapped)
    asked.context.refuse(
        "PLAN_ON_SWAPPED",
        f'the sides of "on" of {asked.what} look swapped',
        (*asked.path, "on", pairs[0][0]),
        key=True,
        detail="The table's column comes first, then the event's.",
        hint=f"Write on: {{{written}}}.",
    )
    return True


def _pair(asked: LookupContext, column: str, event: str, table: Row) -> JoinPair | None:
    path, row = (*asked.path, "on", column), asked.events.row
    if column not in table:
        message = f'relation "{asked.table.name}" has no field "{column}"'
        asked.context.unknown(
            "PLAN_UNKNOWN_FIELD", message, path, name=column, known=table, key=True
        )
    if event not in row:
        message = f'the events of "{asked.events.stream}" have no column "{event}" here'
        asked.context.unknown("PLAN_UNKNOWN_COLUMN", message, path, name=event, known=row)
    if column not in table or event not in row:
        return None
    if is_personal(table[column]) or is_personal(row[event]):
        return _blind_pair(asked, column, event, path)
    kind = common_type(table[column], row[event])
    if kind is None:
        simple = comparable(table[column]) and comparable(row[event])
        asked.context.refuse(
            "PLAN_TYPE_MISMATCH",
            f'"{column}" of "{asked.table.name}" ({table[column]}) cannot equal'
            f' "{event}" of the event ({row[event]})',
            path,
            key=True,
            detail="Joined columns need one type, or types that widen without loss.",
            hint="Cast one of them, as with_columns: {id: cast(id as long)}."
            if simple
            else "Join on columns of a simple type.",
        )
        return None
    return JoinPair(column, event, kind)


def _blind_pair(asked: LookupContext, column: str, event: str, path: Path) -> JoinPair | None:
    """Return a pair of personal columns, compared by blind indexes, or note why there is none."""
    events = asked.events
    if event not in events.standing:
        asked.context.refuse(
            "PLAN_PERSONAL",
            f'{asked.what} cannot compare "{event}" of the event with "{column}"',
            path,
            key=True,
            detail="Personal columns are compared by blind indexes, and an event has them only for"
            " the columns of its log, until a step replaces the column, or select all of them.",
            hint=f'Put the lookup before the step that gives "{event}", and compare a column of'
            f' "{events.relation.name}".',
        )
        return None
    return blind_key_pair(asked.context, path, (column, event), asked.table, events.relation)


def _check_key(asked: LookupContext, pairs: Mapping[str, JoinPair]) -> None:
    if pairs.keys() == set(asked.table.key):
        return
    key, compared = ", ".join(asked.table.key_names), ", ".join(name for name, _ in asked.spec.on)
    asked.refuse(
        "PLAN_LOOKUP",
        f"{asked.what} compares {compared}, and its key is {key}",
        "on",
        detail="A lookup finds one row, so it compares the whole key and nothing else.",
        hint=f"Join on {key}, or make it a product with an embed.",
    )


def _columns(pairs: Pairs) -> set[str]:
    return {column for column, _ in pairs}


def _there(pairs: Pairs, table: Row, event: Row) -> bool:
    return bool(pairs) and all(column in table and name in event for column, name in pairs)


def _fits(pairs: Pairs, table: Row, event: Row) -> bool:
    return _there(pairs, table, event) and all(
        common_type(table[column], event[name]) is not None for column, name in pairs
    )


def check_switches(asked: LookupContext) -> None:
    """Refuse switches that cannot stand together."""
    for word, holds, reason, hint in _exclusions(asked.spec):
        if holds:
            value = getattr(asked.spec, word)
            message = f'{asked.what} cannot have "{word}: {value}" here'
            asked.refuse("PLAN_LOOKUP", message, word, detail=reason, hint=hint)


def _exclusions(spec: LookupSpec) -> tuple[tuple[str, bool, str, str], ...]:
    """Return, for each switch that may not stand here, whether it does, why, and what to do."""
    stored, past = spec.read == "database", spec.as_of == "event"
    corrected = past and spec.late == "correct"
    return (
        ("as_of", stored and past, "A store has only the current row.", "Use read: state."),
        (
            "on_change",
            stored and spec.on_change != "keep",
            "A store does not report when a row changes.",
            "Use read: state.",
        ),
        (
            "on_miss",
            stored and isinstance(spec.on_miss, Wait),
            "A store does not report when a row arrives.",
            "Use read: state, or on_miss: dead_letter and replay.",
        ),
        (
            "on_change",
            not stored and past and spec.on_change != "keep",
            "A version that comes later is not valid at the event's time.",
            "Use late: correct for versions that come late.",
        ),
        (
            "on_miss",
            not stored and past and isinstance(spec.on_miss, Wait),
            "An event already waits for the table's watermark.",
            "Use late: hold, and on_miss: null, drop or dead_letter.",
        ),
        (
            "on_miss",
            not stored and corrected and spec.on_miss in ("drop", "dead_letter"),
            "A late version may give the event a row, or take it away again.",
            "Use on_miss: null, or late: hold.",
        ),
    )


Relations = Mapping[str, tuple[Relation, frozenset[str]]]


def build_lookup(
    context: Context, spec: LookupSpec, path: Path, events: Events, relations: Relations
) -> Lookup | None:
    """Return the lookup, or None where its table is not there or cannot be asked."""
    found = relations.get(spec.table)
    if found is None:
        if spec.table:
            known = [name for name, (each, _) in relations.items() if not each.append]
            context.no_relation((*path, "lookup"), spec.table, known)
        return None
    table, lost = found
    if table.append:
        message = f'a lookup needs a table, and "{table.name}" is a log of events'
        hint = f'Remove append: true of relation "{table.name}", and give it a key.'
        context.refuse("PLAN_LOOKUP", message, (*path, "lookup"), hint=hint)
        return None
    return _Parts(LookupContext(context, spec, path, events, table, lost)).build()


class _Parts:
    """Builds the parts of a lookup whose table is there."""

    def __init__(self, asked: LookupContext) -> None:
        self.asked, self.what = asked, asked.what
        self.context, self.spec, self.path = asked.context, asked.spec, asked.path
        self.events, self.table, self.lost = asked.events, asked.table, asked.lost

    def build(self) -> Lookup | None:
        spec, before = self.spec, len(self.context.problems)
        pairs = build_on(self.asked)
        fields = self.fields()
        if spec.read == "event":
            self.check_in_event(fields)
            return Lookup(self.table, pairs, fields, read="event")
        self.warn_replaced(fields)
        check_switches(self.asked)
        self.check_where(fields)
        made = Lookup(
            table=self.table,
            on=pairs,
            fields=fields,
            read=spec.read,
            on_miss="wait" if isinstance(spec.on_miss, Wait) else spec.on_miss,
            wait_ms=spec.on_miss.wait_ms if isinstance(spec.on_miss, Wait) else None,
            on_change=spec.on_change,
            for_ms=spec.for_ms if spec.on_change != "keep" else None,
            every_ms=self.every_ms(),
            where=self.where(fields),
            cache=spec.cache,
            limits=spec.limits,
            store=self.store(),
        )
        self.check_portable(made)
        made = self.versioned(made) if spec.as_of == "event" else made
        broken = len(self.context.problems) > before and not fields and spec.fields is None
        return None if broken else made

    def fields(self) -> tuple[Computed, ...]:
        scope = self.asked.row
        joined = {column for column, _ in self.spec.on}
        pairs = self.spec.fields
        if pairs is None:
            pairs = tuple((name, name) for name in scope if name not in joined)
        made: dict[str, Computed] = {}
        for name, text in pairs:
            computed = self.field(name, text, scope)
            if computed and name in made:
                message = f'field "{name}" of {self.what} appears twice'
                path = (*self.path, "fields", name)
                self.context.refuse("PLAN_DUPLICATE_OUTPUT", message, path, key=True)
            elif computed:
                made[name] = computed
        return tuple(made.values())

    def field(self, name: str, text: str, scope: Row) -> Computed | None:
        path = (*self.path, "fields", name)
        if name == text and name not in scope and name not in self.lost:
            message = f'relation "{self.table.name}" has no field "{name}"'
            self.context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=name, known=scope)
            return None
        found = self.context.expression(text, path, scope, failed=self.lost)
        if found is None:
            return None
        if "void" in str(found[0].type):
            hint = "Cast the null, as cast(null as string)."
            self.context.refuse("PLAN_TYPE_MISMATCH", f'"{name}" has no type', path, hint=hint)
        return Computed(name, found[0])

    def where(self, fields: tuple[Computed, ...]) -> Expression | None:
        if self.spec.where is None:
            return None
        scope = self.events.row | {each.name: each.expression.type for each in fields}
        lost = {*self.events.lost, *(name for name, _ in self.spec.fields or ())} - scope.keys()
        return self.context.condition(self.spec.where, (*self.path, "where"), scope, lost)

    def check_where(self, fields: tuple[Computed, ...]) -> None:
        """Refuse to choose which events are sent again where an erasure has to reach them all."""
        shown = [each.name for each in fields if is_personal(each.expression.type)]
        if self.spec.where is not None and shown:
            message = f'{self.what} cannot have "where" and the personal field "{shown[0]}"'
            detail = "An event that where keeps back would keep the value after an erasure."
            hint = "Leave where out, or name fields that are not personal."
            self.asked.refuse("PLAN_PERSONAL", message, "where", detail=detail, hint=hint)

    def check_in_event(self, fields: tuple[Computed, ...]) -> None:
        """Check that the event has each field already, under its name and of its type."""
        row = self.events.row
        for each in fields:
            path = (*self.path, "fields", each.name)
            if each.name in self.events.lost:
                continue
            if each.name not in row:
                message = f'the events of "{self.events.stream}" have no column "{each.name}" here'
                self.context.unknown(
                    "PLAN_UNKNOWN_COLUMN", message, path, name=each.name, known=row
                )
            elif row[each.name] != each.expression.type:
                message = f'"{each.name}" is {row[each.name]} in the event'
                detail = f'The table "{self.table.name}" makes it {each.expression.type}.'
                self.context.refuse("PLAN_TYPE_MISMATCH", message, path, detail=detail)

    def warn_replaced(self, fields: tuple[Computed, ...]) -> None:
        for each in fields:
            if each.name in self.events.row:
                message = f'{self.what} replaces the column "{each.name}" of the event'
                path = (*self.path, "fields", each.name)
                hint = "Give the field another name, or read: event to keep what the event has."
                self.context.refuse("PLAN_DUPLICATE_OUTPUT", message, path, hint=hint, warning=True)

    def every_ms(self) -> int | None:
        if self.spec.on_change != "correct":
            return None
        return 3_600_000 if self.spec.every_ms is None else self.spec.every_ms

    def store(self) -> StoreRead | None:
        if self.spec.read == "database" and self.spec.store is None:
            message = f'{self.what} reads a database and names no "store"'
            hint = "Write store: {sqlite: {path: app.db}} next to it."
            self.asked.refuse("PLAN_LOOKUP", message, "read", hint=hint)
        store = self.spec.store
        options = dict(store.options) if store else {}
        if store and isinstance(options.get("path"), str):
            options["path"] = str(self.context.spec.path_of(str(options["path"])))
            return StoreRead(store.kind, tuple(options.items()))
        return store

    def check_portable(self, made: Lookup) -> None:
        """Refuse what only Spark can evaluate where the answers of a store are computed."""
        table = made.table
        parts = [*(each.expression for each in made.fields), table.where]
        parts += [each.expression for each in table.derived]
        for each in parts if made.read == "database" else ():
            if each is not None and not each.portable:
                message = f'"{each.sql}" cannot be computed from the answer of a store'
                detail = "It uses Spark functions outside the portable subset."
                hint = "Use what docs/expressions.md lists, or compute it in a later step."
                self.asked.refuse("PLAN_NOT_PORTABLE", message, "fields", detail=detail, hint=hint)

    def versioned(self, made: Lookup) -> Lookup:
        """Return `made` as a lookup of the version that was valid at the event's time."""
        time = self.spec.time or self.events.relation.time
        valid_from = self.table.time
        if valid_from is None:
            self.asked.refuse(
                "PLAN_LOOKUP",
                f'"{self.table.name}" has no history to look up as of the event\'s time',
                "as_of",
                detail="A table with a history names the column from which a version is valid.",
                hint=f'Write time: COLUMN under relation "{self.table.name}".',
            )
        self.check_event_time(time)
        watermark = self.table.watermark or WatermarkSpec()
        return replace(
            made,
            as_of="event",
            event_time=time,
            valid_from=valid_from,
            max_delay_ms=watermark.delay_ms,
            idle_ms=watermark.idle_ms,
            history_ms=self.spec.for_ms,
            late=self.spec.late,
        )

    def check_event_time(self, time: str | None) -> None:
        row, word = self.events.row, "time" if self.spec.time else "as_of"
        if time is None:
            name = self.events.relation.name
            hint = f'Write time: COLUMN under relation "{name}", or next to as_of.'
            self.asked.refuse(
                "PLAN_LOOKUP", f"{self.what} needs the event's time", "as_of", hint=hint
            )
        elif time not in row and time not in self.events.lost:
            message = f'the events of "{self.events.stream}" have no column "{time}" here'
            self.context.unknown(
                "PLAN_UNKNOWN_COLUMN", message, (*self.path, word), name=time, known=row
            )
        elif time in row and row[time] != TIMESTAMP:
            message = f'"{time}" of the event needs a timestamp, and is {row[time]}'
            how = "Compute one first, as with_columns"
            hint = timestamp_hint(time, row[time], how=how)
            self.asked.refuse("PLAN_TYPE_MISMATCH", message, word, hint=hint)
