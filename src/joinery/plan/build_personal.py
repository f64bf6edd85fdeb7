"""The personal columns of relations: which they are, what they are joined by, who may read them.

What is not covered is refused here, so that no way from a record to a disk is left half sealed.

Invariant: a plan with personal columns has a vault, and only documents, histories and streams show
them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from joinery.model.type import STRING, DataType, Field, Struct, is_personal, opened, sealed
from joinery.plan.aggregate import AggregateForm
from joinery.plan.context import Context
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.join import comparable
from joinery.plan.pattern import PatternForm
from joinery.plan.product import DocumentForm, OutboxForm, Product, Sink
from joinery.plan.relation import Computed, JoinPair, Personal, Relation
from joinery.plan.search import SearchForm
from joinery.plan.shared_topic import may_share
from joinery.plan.step import Filter, Lookup, MapRows, Select, Step, Union, WithColumns
from joinery.plan.stream import Stream
from joinery.plan.timed_step import Join, Rolling, SeenFilter
from joinery.project.captured import CAPTURED
from joinery.project.kinds import SINKS
from joinery.project.mark import Path
from joinery.project.product import ProductSpec
from joinery.project.relation import PersonalSpec, RelationSpec

_INEXACT = ("float", "double")
_SUBJECTS = ("string", "byte", "short", "int", "long")
_SOURCES = ("files", "kafka", *CAPTURED)
_CODE = "PLAN_PERSONAL"
_ANEW = (
    "Leave reveal out; or run joinery run --rebuild after an erasure: it writes all events of the"
    " log again, and removes lines of events that the log no longer has, or that are now left out."
)
_ANEW_IN_TOPIC = (
    "Leave reveal out; or have the topic compacted, and run joinery run --rebuild after an erasure:"
    " it sends all events of the log again, and what was sent before stays until compaction."
)


def build_personal(
    context: Context, spec: RelationSpec, columns: tuple[Field, ...], derived: tuple[Computed, ...]
) -> tuple[Personal | None, tuple[Field, ...], tuple[Computed, ...]]:
    """Return what is personal of a relation, its columns with that sealed, and what it derives.

    What is derived from personal columns is a column like them: it is computed while they are
    clear, and sealed with them.

    Args:
        context: Takes the problems.
        spec: How the relation is declared.
        columns: Those declared, in clear.
        derived: Those computed, over columns in clear.
    """
    if spec.personal is None:
        return None, columns, derived
    before = len(context.problems)
    path: Path = ("relations", spec.name, "personal")
    of_them = _derived_from(spec.personal.fields, derived)
    made = tuple(Field(each.name, each.type) for each in derived if each.name in of_them)
    _check_relation(context, spec, path)
    _check_columns(context, spec, spec.personal, path, columns, made)
    if len(context.problems) > before:
        return None, columns, derived
    fields = (*spec.personal.fields, *(each.name for each in made))
    indexes = tuple((each, index_name(each)) for each in spec.personal.join)
    known_by = dict.fromkeys((*spec.key, spec.personal.subject))
    keys = tuple((each, key_name(each)) for each in known_by if each in fields)
    found = Personal(spec.personal.subject, fields, indexes, keys, _needed_for(of_them, derived))
    shown = tuple(
        Field(each.name, sealed(each.type) if each.name in fields else each.type)
        for each in (*columns, *made)
    )
    beside = tuple(Field(index, STRING) for _, index in (*indexes, *keys))
    rest = tuple(each for each in derived if each.name not in of_them)
    return found, (*shown, *beside), rest


def _derived_from(fields: Iterable[str], derived: Iterable[Computed]) -> frozenset[str]:
    """Return the derived columns that read personal ones, be it by way of others."""
    personal = set(fields)
    for each in derived:
        if not personal.isdisjoint(each.expression.references):
            personal.add(each.name)
    return frozenset(personal.difference(fields))


def _needed_for(names: Collection[str], derived: Sequence[Computed]) -> tuple[Computed, ...]:
    """Return the derived columns of some names with those that they read, in order."""
    needed = set(names)
    for each in reversed(derived):
        if each.name in needed:
            needed |= each.expression.references
    return tuple(each for each in derived if each.name in needed)


def index_name(column: str) -> str:
    """Return the name of the column with the blind index that a column is joined by."""
    return f"{column} (blind index)"


def key_name(column: str) -> str:
    """Return the name of the column with the blind index that rows are known by."""
    return f"{column} (blind key)"


def _check_relation(context: Context, spec: RelationSpec, path: Path) -> None:
    name = f'relation "{spec.name}" with personal columns'
    if context.spec.vault is None:
        hint = 'Write vault: {sqlite: {path: vault.db}, master: "${JOINERY_MASTER_KEY}"}.'
        message = f"{name} needs a vault for their keys"
        context.refuse(_CODE, message, path, key=True, hint=hint)
    kinds = {each.name: each.kind for each in context.spec.sources}
    kind = kinds.get(context.spec.source_of(spec), _SOURCES[0])
    if kind not in _SOURCES:
        message = f"{name} cannot be read from a source of kind {kind} yet"
        detail = "Its changes would be kept in clear on the way."
        context.refuse(_CODE, message, path, key=True, detail=detail)
    for other in context.spec.changelogs:
        if other.name != spec.name and may_share(context.spec, spec, other):
            message = f'{name} reads a topic that relation "{other.name}" reads, too'
            detail = "What that one cannot use is kept as a dead letter, in clear."
            context.refuse(_CODE, message, path, key=True, detail=detail)
    if context.spec.run.real_time:
        message = f"{name} cannot be run in real-time mode yet"
        context.refuse(_CODE, message, ("run", "real_time"))


def _check_columns(
    context: Context,
    spec: RelationSpec,
    personal: PersonalSpec,
    path: Path,
    columns: Sequence[Field],
    made: Sequence[Field],
) -> None:
    types = {each.name: each.type for each in columns}
    joined = types | {each.name: each.type for each in made}
    if personal.subject not in types:
        message = f'relation "{spec.name}" has no field "{personal.subject}"'
        place = (*path, "subject")
        context.unknown("PLAN_UNKNOWN_FIELD", message, place, name=personal.subject, known=types)
    elif str(types[personal.subject]) not in _SUBJECTS:
        message = f'"subject" of relation "{spec.name}" is of type {types[personal.subject]}'
        hint = "Name a text or a whole number."
        context.refuse(_CODE, message, (*path, "subject"), hint=hint)
    for index, name in enumerate(personal.fields):
        place = (*path, "fields", index)
        if name not in types:
            message = f'relation "{spec.name}" has no field "{name}"'
            context.unknown("PLAN_UNKNOWN_FIELD", message, place, name=name, known=types)
        elif name in spec.key and not _has_index(types[name]):
            message = f'"{name}" is the key of relation "{spec.name}", and {types[name]}'
            detail = (
                "A personal key is known by its blind index, and equal values of this type may be"
                " written differently."
            )
            context.refuse(_CODE, message, place, detail=detail)
        elif _tells_rows_apart(spec, name):
            context.refuse(_CODE, _tells_apart(spec, name), place)
        elif taken := {index_name(name), key_name(name)} & types.keys():
            message = f'relation "{spec.name}" has a field "{min(taken)}" already'
            context.refuse("PLAN_DUPLICATE_OUTPUT", message, place)
    for each in made:
        if _tells_rows_apart(spec, each.name):
            place = ("relations", spec.name, "derive", each.name)
            detail = "It is derived from a personal column, which makes it personal."
            context.refuse(_CODE, _tells_apart(spec, each.name), place, key=True, detail=detail)
    known = (*personal.fields, *(each.name for each in made))
    for index, name in enumerate(personal.join):
        place = (*path, "join", index)
        if name not in known:
            message = f'"join" of relation "{spec.name}" names "{name}", which is not personal'
            context.unknown(_CODE, message, place, name=name, known=known)
        elif name in joined and not _has_index(joined[name]):
            message = f'"join" of relation "{spec.name}" names "{name}", which is {joined[name]}'
            detail = "Equal values of this type may be written differently."
            context.refuse(_CODE, message, place, detail=detail)


def _tells_rows_apart(spec: RelationSpec, name: str) -> bool:
    """Return whether rows of a relation are ordered, or told apart, by a column."""
    return name in (spec.position, _time_of(spec)) or any(name in each for each in spec.unique)


def _tells_apart(spec: RelationSpec, name: str) -> str:
    return f'"{name}" is personal, and cannot order or tell apart rows of "{spec.name}"'


def _has_index(kind: DataType) -> bool:
    """Return whether equal values of a type have equal blind indexes."""
    return comparable(kind) and str(kind) not in _INEXACT


def _time_of(spec: RelationSpec) -> str | None:
    return spec.time if isinstance(spec.time, str) else None


def blind_pair(
    context: Context, path: Path, names: tuple[str, str], child: Relation, parent: Relation
) -> JoinPair | None:
    """Return a pair of personal columns, compared by their blind indexes.

    None where neither is personal; or where they cannot be compared, which is noted.
    """
    indexes = [
        None if each.personal is None else each.personal.index_of(name)
        for name, each in zip(names, (child, parent), strict=True)
    ]
    if indexes[0] is not None and indexes[1] is not None:
        kinds = child.type_of(names[0]), parent.type_of(names[1])
        if kinds[0] == kinds[1]:
            return JoinPair(indexes[0], indexes[1], STRING)
        told = " and ".join(str(opened(each)) for each in kinds)
        message = f'"{names[0]}" and "{names[1]}" cannot be joined: they are {told}'
        detail = "Blind indexes are equal only where values of one type are."
        context.refuse(_CODE, message, path, key=True, detail=detail)
        return None
    for name, relation, index in zip(names, (child, parent), indexes, strict=True):
        if index is None:
            message = f'"{names[0]}" and "{names[1]}" cannot be joined'
            what = f'"{name}" of relation "{relation.name}"'
            detail = f"Personal columns are compared by a blind index, and {what} has none."
            hint = f'List "{name}" under fields and join of "personal" of "{relation.name}".'
            context.refuse(_CODE, message, path, key=True, detail=detail, hint=hint)
            break
    return None


def blind_key_pair(
    context: Context, path: Path, names: tuple[str, str], table: Relation, log: Relation
) -> JoinPair | None:
    """Return a pair of which the table's column is of its key, as its rows are known by it.

    None where it cannot be compared, which is noted.
    """
    pair = blind_pair(context, path, names, table, log)
    known_by = table.personal.key_of(names[0]) if table.personal is not None else names[0]
    return None if pair is None else replace(pair, child=known_by)


def joins_personal(names: tuple[str, str], child: Relation, parent: Relation) -> bool:
    """Return whether one of two columns is personal."""
    return any(
        each.personal is not None and name in each.personal.fields
        for name, each in zip(names, (child, parent), strict=True)
    )


def check_product(context: Context, spec: ProductSpec, product: Product) -> None:
    """Refuse a product that reads personal columns and whose form has them not covered."""
    relations = [each for each in product.relations if each.personal is not None]
    reads = [each for each in product.reads if is_personal(each.output) or each.personal_key]
    what = None
    if reads:
        what = f'reading product "{reads[0].name}"'
    elif relations:
        what = _uncovered(product)
    if relations:
        _check_sinks(context, spec, product)
    _check_key_is_told(context, spec, product)
    if what is not None:
        named = relations[0].name if relations else reads[0].name
        message = f'product "{spec.name}" reads personal columns, of "{named}"'
        detail = f"Not supported for them yet: {what}."
        context.refuse(_CODE, message, ("products", spec.name), key=True, detail=detail)


def _check_key_is_told(context: Context, spec: ProductSpec, product: Product) -> None:
    """Refuse a product that does not say that its key is personal, or says so of another."""
    relation = product.form.relation
    if not isinstance(product.form, DocumentForm):
        return
    if relation.has_personal_key and not spec.personal_key:
        message = f'product "{spec.name}" has a personal key, that of "{relation.name}"'
        detail = "Its sinks know documents by the blind index of the key, in place of the key."
        hint = "Say so: personal_key: true."
        path: Path = ("products", spec.name)
        context.refuse(_CODE, message, path, key=True, detail=detail, hint=hint)
    elif spec.personal_key and not relation.has_personal_key:
        message = f'the key of product "{spec.name}", that of "{relation.name}", is not personal'
        context.refuse(_CODE, message, ("products", spec.name, "personal_key"))
    for node in product.root.walk():
        if node.keyed and node.relation.has_personal_key:
            message = f'a map of "{node.relation.name}" would have its personal key as names'
            hint = "Leave out as: map; a list has no names."
            context.refuse(_CODE, message, ("products", spec.name), key=True, hint=hint)


def _check_sinks(context: Context, spec: ProductSpec, product: Product) -> None:
    """Refuse to reveal where what was once written stays."""
    _refuse_keeping(context, f'product "{spec.name}"', ("products", spec.name), product.sinks)
    _check_key_columns(context, spec, product)


def _refuse_keeping(context: Context, owner: str, path: Path, sinks: Sequence[Sink]) -> None:
    for place, sink in _revealing(path, sinks):
        if SINKS.says(sink.kind, "keeps_all"):
            message = f'sink "{sink.kind}" of {owner} cannot reveal personal columns'
            detail = "It keeps all that it was ever sent, so nothing in it can be erased."
            hint = "Use a sink that keeps the newest document of each key, such as postgres."
            context.refuse(_CODE, message, place, detail=detail, hint=hint)


def _revealing(path: Path, sinks: Sequence[Sink]) -> Iterator[tuple[Path, Sink]]:
    """Yield the sinks that are given personal values in clear, with their places."""
    alone: Path = (*path, "sink")
    for index, sink in enumerate(sinks):
        if dict(sink.options).get("reveal") is True:
            yield (*alone, index) if len(sinks) > 1 else alone, sink


def _check_key_columns(context: Context, spec: ProductSpec, product: Product) -> None:
    """Refuse a table whose one column would be a personal key and its blind index."""
    relation, output = product.form.relation, opened(product.output)
    if not isinstance(product.form, DocumentForm) or not isinstance(output, Struct):
        return
    known_by = {name for name in relation.key_names if name not in relation.key}
    both = known_by & {each.name for each in output.fields}
    for sink in product.sinks:
        if both and dict(sink.options).get("mode") == "columns":
            name = min(both)
            message = f'sink "{sink.kind}" of product "{spec.name}" has two columns "{name}"'
            detail = "One is the blind index that a document is known by, the other what it shows."
            hint = f'Show it by another name, {{another: {name}}} in "fields", or leave "mode" out.'
            context.refuse(
                _CODE, message, ("products", spec.name), key=True, detail=detail, hint=hint
            )


def _uncovered(product: Product) -> str | None:
    """Return what of a product an erasure would not reach, or would answer for the seal."""
    match product.form:
        case DocumentForm():
            return None
        case HistoryForm() | PatternForm() if product.form.relation.has_personal_key:
            return "a personal key in this form"
        case HistoryForm():
            return "a history with known_at" if product.form.known is not None else None
        case AggregateForm() | PatternForm():
            shown = is_personal(product.output) or is_personal(product.key)
            return "showing or grouping by them in this form" if shown else None
        case OutboxForm():
            return "an outbox"
        case SearchForm():
            return "search, whose stored conditions may name any column"
        case FoldForm():
            return "fold, which keeps whole events"
        case Stream():
            return None  # told where streams are checked


def check_streams(context: Context, streams: Iterable[Stream]) -> None:
    """Refuse streams with personal columns of which something is not covered."""
    for stream in streams:
        named = [each.name for each in stream.named_relations if each.personal is not None]
        if not named:
            continue
        path: Path = ("streams", stream.name)
        _refuse_keeping(context, f'stream "{stream.name}"', path, stream.sinks)
        _warn_kept(context, stream, path)
        for what in _uncovered_of(stream):
            message = f'stream "{stream.name}" reads personal columns, of "{named[0]}"'
            detail = f"Not supported for them yet: {what}."
            context.refuse(_CODE, message, path, key=True, detail=detail)


def _warn_kept(context: Context, stream: Stream, path: Path) -> None:
    """Warn where lines with values in clear stay as they were sent."""
    for place, sink in _revealing(path, stream.sinks if is_personal(stream.output) else ()):
        if not SINKS.says(sink.kind, "keeps_all"):
            context.refuse(
                _CODE,
                f'sink "{sink.kind}" of stream "{stream.name}" keeps in clear what it was sent',
                place,
                detail="After an erasure, only events that a lookup of the erased row remembers"
                " (on_change) are sent again.",
                hint=_ANEW_IN_TOPIC if sink.kind == "kafka" else _ANEW,
                warning=True,
            )


def _uncovered_of(stream: Stream) -> Iterator[str]:
    """Yield what of a stream an erasure would not reach, or would answer for the seal."""
    if stream.relation.has_personal_key:
        yield f'a log with a personal key, "{stream.relation.name}"'
    for step in stream.steps:
        if what := _uncovered_step(step):
            yield what


def _uncovered_step(step: Step) -> str:
    match step:
        case Rolling():
            return "rolling columns"
        case Join():
            return "a join of two logs"
        case MapRows():
            return f'the function "{step.name}", which would be given sealed values'
        case Union():
            return "a union of streams"
        case Lookup(as_of="event"):
            return f"{step.told} as_of: event"
        case Lookup(table) if table.personal is not None and step.read != "state":
            return f'a lookup of "{table.name}", which has personal columns, with read: {step.read}'
        case Lookup(table) if _is_widened(step):
            why = "the subject of its rows is not their key, which events have in another type"
            return f'a lookup of "{table.name}": {why}'
        case Lookup() | Filter() | Select() | WithColumns() | SeenFilter():
            return ""


def _is_widened(lookup: Lookup) -> bool:
    """Return whether an erasure that finds a row by its subject would not find its lookup."""
    table = lookup.table
    widened = any(pair.type != table.type_of(pair.child) for pair in lookup.on)
    return widened and table.erased_by is not None
