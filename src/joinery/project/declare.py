"""The same declarations from Python: relations, documents and embeds as values.

Each call reads its arguments as the file's reader would, so that both doors accept and
refuse the same, and lead to equal specs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from joinery.errors import SpecError
from joinery.project.product import NodeSpec, ProductSpec, RelationSpec
from joinery.project.read import raise_all, read_relation
from joinery.project.read_node import read_embed, read_product
from joinery.project.reader import Reader
from joinery.project.tree import Entry, tree_of

Columns = Sequence[str] | Mapping[str, str]
Fields = Sequence[str | Mapping[str, str]] | Mapping[str, str]
RelationLike = RelationSpec | str


@dataclass(frozen=True, slots=True)
class Embed:
    """A related relation to embed, still without a name.

    Attributes:
        spec: What it declares.
        relations: The relations that it and what it embeds were given as objects.
    """

    spec: NodeSpec
    relations: tuple[RelationSpec, ...] = ()

    def embed_one(self, name: str, relation: RelationLike | Embed, **parts: Any) -> Embed:
        """Return this embed with a to-one embed below it; see `one` for the parts."""
        return self._with(name, _embed("one", relation, parts, name))

    def embed_many(self, name: str, relation: RelationLike | Embed, **parts: Any) -> Embed:
        """Return this embed with a to-many embed below it; see `many` for the parts."""
        return self._with(name, _embed("many", relation, parts, name))

    def _with(self, name: str, embed: Embed) -> Embed:
        return Embed(_attached(self.spec, name, embed), self.relations + embed.relations)


@dataclass(frozen=True, slots=True)
class Document:
    """A product under construction; every method returns a new one.

    Attributes:
        spec: What it declares so far.
        relations: The relations that were given as objects.
    """

    spec: ProductSpec
    relations: tuple[RelationSpec, ...] = ()

    def embed_one(self, name: str, relation: RelationLike | Embed, **parts: Any) -> Document:
        """Return this document with a to-one embed; see `one` for the parts."""
        return self._with(name, _embed("one", relation, parts, name))

    def embed_many(self, name: str, relation: RelationLike | Embed, **parts: Any) -> Document:
        """Return this document with a to-many embed; see `many` for the parts."""
        return self._with(name, _embed("many", relation, parts, name))

    def _with(self, name: str, embed: Embed) -> Document:
        root = _attached(self.spec.root, name, embed)
        return Document(replace(self.spec, root=root), self.relations + embed.relations)


def relation(
    name: str, *, key: str | Sequence[str], fields: Mapping[str, str], **parts: Any
) -> RelationSpec:
    """Return a relation.

    Args:
        name: Its name, and its topic unless `topic` says otherwise.
        key: The primary key's columns, in order, or the one that it has.
        fields: The columns and their Spark DDL types.
        **parts: `topic`, `source`, `format`, `derive`, `position`, `time_unit`, `images`,
            `unique` and `where`, as in a project file.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> relation("user", key=["email"], fields={"email": "string", "id": "long"}).key
        ('email',)
    """
    reader = Reader()
    keys = [key] if isinstance(key, str) else key
    entry = Entry(name, tree_of({"key": keys, "fields": fields, **_given(parts)}))
    spec = read_relation(reader, entry, ("relations", name))
    raise_all(tuple(reader.problems))
    return spec


def document(
    name: str,
    root: RelationLike,
    *,
    fields: Fields | None = None,
    embed: Mapping[str, Embed] | None = None,
    **parts: Any,
) -> Document:
    """Return a product of one document a row of `root`.

    Args:
        name: The product's name.
        root: The relation with one row a document.
        fields: What of the row is shown; None is all columns.
        embed: Embeds by name; `embed_one` and `embed_many` add more.
        **parts: `values`, `where`, `sink`, `group`, `solution`, `emit` and `ready`, as in
            a project file.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> user = relation("user", key=["id"], fields={"id": "long"})
        >>> star = relation("star", key=["id"], fields={"id": "long", "user_id": "long"})
        >>> profile = document("profile", user).embed_many("stars", star, on={"user_id": "id"})
        >>> [each.name for each in profile.spec.root.embed]
        ['stars']
    """
    reader = Reader()
    data = {"root": _name(root), **_given({"fields": fields, **parts})}
    spec = read_product(reader, Entry(name, tree_of(data)), ("products", name))
    raise_all(tuple(reader.problems))
    made = Document(spec, _objects(root))
    for each, below in (embed or {}).items():
        made = made._with(each, below)
    return made


def outbox(name: str, relation: RelationLike, *, sink: Any, **parts: Any) -> Document:
    """Return a product that sends the inserted rows of `relation` as events.

    Args:
        name: The product's name.
        relation: The outbox.
        sink: `{"kafka": {"topic": "outbox.event.{aggregatetype}"}}`, columns in braces.
        **parts: `key`, `value` and `headers`, as in a project file.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> made = outbox("events", "outbox", sink={"kafka": {"topic": "{type}"}}, key="id")
        >>> made.spec.outbox.key
        'id'
    """
    reader = Reader()
    data = {"outbox": {"relation": _name(relation), **_given(parts)}, "sink": sink}
    spec = read_product(reader, Entry(name, tree_of(data)), ("products", name))
    raise_all(tuple(reader.problems))
    return Document(spec, _objects(relation))


def one(relation: RelationLike, *, on: Columns, **parts: Any) -> Embed:
    """Return a to-one embed: an object, or null where nothing matches.

    Args:
        relation: What is embedded.
        on: Child column to parent column; a list where the names agree.
        **parts: `fields`, `values`, `where`, `order`, `hidden` and `embed`, as in a
            project file.

    Raises:
        ProjectErrors: With every problem.
    """
    return _embed("one", relation, {"on": on, **parts})


def many(relation: RelationLike, *, on: Columns, **parts: Any) -> Embed:
    """Return a to-many embed: a list, or a map by the child's key.

    Args:
        relation: What is embedded.
        on: Child column to parent column; a list where the names agree.
        **parts: Those of `one`, and `limit`, `overflow` and `as_` ("list" or "map").

    Raises:
        ProjectErrors: With every problem.
    """
    return _embed("many", relation, {"on": on, **parts})


def _embed(
    cardinality: str, relation: RelationLike | Embed, parts: Mapping[str, Any], name: str = ""
) -> Embed:
    """Return an embed; in messages it goes by its name, else by its relation's."""
    if isinstance(relation, Embed):
        if parts or relation.spec.cardinality != cardinality:
            raise SpecError(
                f'a finished embed cannot be given as a "{cardinality}" with further parts',
                code="SPEC_VALUE",
                hint=f"Use embed_{relation.spec.cardinality} with its name alone.",
            )
        return relation
    given = _given(parts)
    below = given.pop("embed", {})
    if "as_" in given:
        given["as"] = given.pop("as_")
    reader = Reader()
    called = name or _name(relation)
    entry = Entry(called, tree_of({cardinality: _name(relation), **given}))
    spec = read_embed(reader, entry, ("embed",))
    raise_all(tuple(reader.problems))
    made = Embed(spec, _objects(relation))
    for each, embed in below.items():
        made = made._with(each, embed)
    return made


def _attached(parent: NodeSpec, name: str, embed: Embed) -> NodeSpec:
    """Return `parent` with one more embed; a name is there once."""
    if name in {each.name for each in parent.embed}:
        raise SpecError(f'there is an embed "{name}" already', code="SPEC_DUPLICATE_KEY")
    return replace(parent, embed=(*parent.embed, replace(embed.spec, name=name)))


def _given(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parts.items() if value is not None}


def _name(relation: RelationLike) -> str:
    return relation.name if isinstance(relation, RelationSpec) else relation


def _objects(relation: RelationLike) -> tuple[RelationSpec, ...]:
    return (relation,) if isinstance(relation, RelationSpec) else ()
