"""The personal columns of relations: which they are, what they are joined by, who may read them.

What is not covered is refused here, so that no way from a record to a disk is left half sealed.

Invariant: a plan with personal columns has a vault, and only products of documents read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from joinery.model.type import PERSONAL, STRING, DataType, Field, is_personal
from joinery.plan.context import Context
from joinery.plan.nodes import DocumentForm, JoinPair, Personal, Product, Relation
from joinery.plan.stream import Stream
from joinery.project.product import PersonalSpec, ProductSpec, RelationSpec
from joinery.project.tree import Path

_SUBJECTS = ("string", "byte", "short", "int", "long")
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
    sealed = tuple(Field(each.name, PERSONAL) if each.name in fields else each for each in columns)
    indexes = tuple((each, index_name(each)) for each in spec.personal.join)
    found = Personal(spec.personal.subject, spec.personal.fields, indexes)
    return found, (*sealed, *(Field(index, STRING) for _, index in indexes))


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
    if kinds.get(context.spec.source_of(spec)) == "postgres":
        message = f"{name} cannot be read from a database's own log yet"
        detail = "Its changes are kept in a spool on the way, in clear."
        context.refuse(_CODE, message, path, key=True, detail=detail)
    if spec.append:
        message = f"{name} cannot be a log of events yet"
        context.refuse(_CODE, message, ("relations", spec.name, "append"))
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
    if spec.key != (personal.subject,):
        message = f'"subject" of relation "{spec.name}" is not its key'
        detail = "Rows whose subject is another column cannot be found for an erasure yet."
        hint = f"Name the only column of the key: {', '.join(spec.key)}."
        context.refuse(_CODE, message, (*path, "subject"), detail=detail, hint=hint)
    elif personal.subject in types and str(types[personal.subject]) not in _SUBJECTS:
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
        elif types[name] != STRING:
            message = f'"{name}" of relation "{spec.name}" is {types[name]}, and only texts can'
            context.refuse(_CODE, f"{message} be personal yet", place, hint="Declare it as string.")
        elif name == spec.position or any(name in each for each in spec.unique):
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
        return JoinPair(indexes[0], indexes[1], STRING)
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
    elif relations and not isinstance(product.form, DocumentForm):
        what = "any form but documents (root)"
    elif relations and isinstance(product.form, DocumentForm):
        what = _uncovered(product.form)
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


def _uncovered(form: DocumentForm) -> str | None:
    for node in form.root.walk():
        if node.as_of is not None:
            return "embeds of versions (as_of)"
        if node.within is not None:
            return "embeds of an interval (within)"
        if node.through is not None:
            return "embeds through another relation (through)"
        if node.keyed and node.relation.personal is not None:
            return "embeds as a map"
    return None


def check_streams(context: Context, streams: Iterable[Stream]) -> None:
    """Refuse streams that read a relation with personal columns."""
    for stream in streams:
        for relation in stream.named_relations:
            if relation.personal is not None:
                message = f'stream "{stream.name}" reads "{relation.name}", which is personal'
                detail = "Streams cannot have personal columns yet."
                context.refuse(_CODE, message, ("streams", stream.name), key=True, detail=detail)
