"""The personal columns of relations: which they are, what they are joined by, who may read them.

What is not covered is refused here, so that no way from a record to a disk is left half sealed.

Invariant: a plan with personal columns has a vault, and only documents and histories show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from joinery.model.type import STRING, DataType, Decimal, Field, is_personal, opened, sealed
from joinery.plan.aggregate import AggregateForm
from joinery.plan.context import Context
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.nodes import (
    DocumentForm,
    JoinPair,
    OutboxForm,
    Personal,
    Product,
    Relation,
)
from joinery.plan.pattern import PatternForm
from joinery.plan.search import SearchForm
from joinery.plan.stream import Stream
from joinery.project.product import ProductSpec
from joinery.project.relation import PersonalSpec, RelationSpec
from joinery.project.tree import Path

_SEALABLE = ("string", "boolean", "byte", "short", "int", "long", "date", "timestamp")
_SUBJECTS = ("string", "byte", "short", "int", "long")
_SOURCES = ("files", "kafka", "postgres")
_CODE = "PLAN_PERSONAL"
_KEEPING = ("files", "console")


def build_personal(
    context: Context, spec: RelationSpec, columns: tuple[Field, ...]
) -> tuple[Personal | None, tuple[Field, ...]]:
    """Return the personal columns of a relation, and its columns with theirs sealed."""
    if spec.personal is None:
        return None, columns
    before = len(context.problems)
    path: Path = ("relations", spec.name, "personal")
    _check_relation(context, spec, path)
    _check_columns(context, spec, spec.personal, path, {each.name: each.type for each in columns})
    if len(context.problems) > before:
        return None, columns
    fields = set(spec.personal.fields)
    types = {each.name: sealed(each.type) for each in columns if each.name in fields}
    hidden = tuple(Field(each.name, types.get(each.name, each.type)) for each in columns)
    indexes = tuple((each, index_name(each)) for each in spec.personal.join)
    found = Personal(spec.personal.subject, spec.personal.fields, indexes)
    return found, (*hidden, *(Field(index, STRING) for _, index in indexes))


def index_name(column: str) -> str:
    """Return the name of the column with the blind index of a column."""
    return f"{column} (blind index)"


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
        detail = "Its changes would be kept on the way in clear."
        context.refuse(_CODE, message, path, key=True, detail=detail)
    for other in context.spec.changelogs:
        same = (other.topic or other.name) == (spec.topic or spec.name)
        if other.name != spec.name and same:
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
    types: Mapping[str, DataType],
) -> None:
    if personal.subject not in types:
        message = f'relation "{spec.name}" has no field "{personal.subject}"'
        place = (*path, "subject")
        context.unknown("PLAN_UNKNOWN_FIELD", message, place, name=personal.subject, known=types)
    elif personal.subject in personal.fields:
        message = f'"{personal.subject}" says whose the columns of "{spec.name}" are'
        hint = "Take it out of fields: a person is erased by this column, so it stays in clear."
        context.refuse(_CODE, message, (*path, "subject"), hint=hint)
    elif str(types[personal.subject]) not in _SUBJECTS:
        message = f'"subject" of relation "{spec.name}" is of type {types[personal.subject]}'
        hint = "Name a text or a whole number."
        context.refuse(_CODE, message, (*path, "subject"), hint=hint)
    for index, name in enumerate(personal.fields):
        place = (*path, "fields", index)
        if name not in types:
            message = f'relation "{spec.name}" has no field "{name}"'
            context.unknown("PLAN_UNKNOWN_FIELD", message, place, name=name, known=types)
        elif name in spec.key:
            message = f'"{name}" is the key of relation "{spec.name}", which cannot be personal yet'
            hint = "Use a key that says nothing of a person, such as a number."
            context.refuse(_CODE, message, place, hint=hint)
        elif not (isinstance(types[name], Decimal) or str(types[name]) in _SEALABLE):
            message = (
                f'"{name}" of relation "{spec.name}" is {types[name]}, which is not sealed yet'
            )
            hint = f"Declare it as string, or one of {', '.join(_SEALABLE[1:])}, decimal."
            context.refuse(_CODE, message, place, hint=hint)
        elif name in (spec.position, _time_of(spec)) or any(name in each for each in spec.unique):
            message = f'"{name}" is personal, and cannot order or tell apart rows of "{spec.name}"'
            context.refuse(_CODE, message, place)
        elif index_name(name) in types:
            message = f'relation "{spec.name}" has a field "{index_name(name)}" already'
            context.refuse("PLAN_DUPLICATE_OUTPUT", message, place)
    for index, name in enumerate(personal.join):
        if name not in personal.fields:
            message = f'"join" of relation "{spec.name}" names "{name}", which is not personal'
            context.unknown(
                _CODE, message, (*path, "join", index), name=name, known=personal.fields
            )


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


def joins_personal(names: tuple[str, str], child: Relation, parent: Relation) -> bool:
    """Return whether one of two columns is personal."""
    return any(
        each.personal is not None and name in each.personal.fields
        for name, each in zip(names, (child, parent), strict=True)
    )


def check_product(context: Context, spec: ProductSpec, product: Product) -> None:
    """Refuse a product that reads personal columns and whose form has them not covered."""
    relations = [each for each in product.relations if each.personal is not None]
    reads = [each for each in product.reads if is_personal(each.output)]
    what = None
    if reads:
        what = f'reading product "{reads[0].name}"'
    elif relations:
        what = _uncovered(product)
    if relations:
        _check_sinks(context, spec, product)
    if what is not None:
        named = relations[0].name if relations else reads[0].name
        message = f'product "{spec.name}" reads personal columns, of "{named}"'
        detail = f"Not there yet for them: {what}."
        context.refuse(_CODE, message, ("products", spec.name), key=True, detail=detail)


def _check_sinks(context: Context, spec: ProductSpec, product: Product) -> None:
    """Refuse to reveal where what was once written stays."""
    for index, sink in enumerate(product.sinks):
        if dict(sink.options).get("reveal") is True and sink.kind in _KEEPING:
            alone: Path = ("products", spec.name, "sink")
            path = (*alone, index) if len(product.sinks) > 1 else alone
            message = f'sink "{sink.kind}" of product "{spec.name}" cannot reveal personal columns'
            detail = "It keeps all that it was ever sent, so nothing in it can be erased."
            hint = "Use a sink that keeps the newest document of each key, such as postgres."
            context.refuse(_CODE, message, path, detail=detail, hint=hint)


def _uncovered(product: Product) -> str | None:
    """Return what of a product an erasure would not reach, or would answer for the seal."""
    match product.form:
        case DocumentForm():
            return None
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
    """Refuse streams that read a relation with personal columns."""
    for stream in streams:
        for relation in stream.named_relations:
            if relation.personal is not None:
                message = f'stream "{stream.name}" reads "{relation.name}", which is personal'
                detail = "Streams cannot have personal columns yet."
                context.refuse(_CODE, message, ("streams", stream.name), key=True, detail=detail)
