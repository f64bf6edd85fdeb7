"""Embeds from Python: related relations as values, and the documents that they are added to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

from joinery.errors import SpecError, suggesting, suggesting_methods
from joinery.project.argument import (
    RelationLike,
    caller,
    check_name,
    declared_by,
    given,
    map_given,
    relation_name,
)
from joinery.project.node import NodeSpec, read_embed
from joinery.project.product import ProductSpec
from joinery.project.read import raise_all
from joinery.project.reader import Reader
from joinery.project.relation import RelationSpec
from joinery.project.tree import Entry, tree_of
from joinery.project.typing import Columns, Fields, HotMap, Interval, Overflow, Shape

Through: TypeAlias = "Mapping[str, Columns] | Mapping[RelationSpec, Columns]"


@suggesting_methods
class _Parent(ABC):
    """What embeds can be added to; each call returns a new one."""

    __slots__ = ()

    def embed_one(
        self,
        name: str,
        relation: RelationLike | Embed,
        *,
        on: Columns | None = None,
        fields: Fields | None = None,
        values: Mapping[str, str] | None = None,
        where: str | None = None,
        order: Sequence[str] | None = None,
        within: Interval | None = None,
        as_of: str | None = None,
        hidden: bool = False,
        embed: Mapping[str, Embed] | None = None,
    ) -> Self:
        """Return this with one more to-one embed.

        Args:
            name: The field that it becomes.
            relation: What is embedded; or a finished `jn.one`, with no further argument.
            on: As for `jn.one`; required unless `relation` is finished.
            fields: As for `jn.one`.
            values: As for `jn.one`.
            where: As for `jn.one`.
            order: As for `jn.one`.
            within: As for `jn.one`.
            as_of: As for `jn.one`.
            hidden: As for `jn.one`.
            embed: As for `jn.one`.

        Raises:
            JoineryError: An argument is refused, or there is an embed of the name already.

        Example:
            >>> import joinery as jn
            >>> order = jn.document("order", "order")
            >>> order = order.embed_one("buyer", "user", on={"id": "user_id"})
            >>> order.spec.root.embed[0].cardinality
            'one'
        """
        parts = _shown(fields, values, where, hidden, embed)
        edge = {"on": on, "order": order, "within": within, "as_of": as_of}
        made = _embed("one", relation, {**edge, **parts}, name)
        return self._with(name, made)

    def embed_many(
        self,
        name: str,
        relation: RelationLike | Embed,
        *,
        on: Columns | None = None,
        fields: Fields | None = None,
        values: Mapping[str, str] | None = None,
        where: str | None = None,
        order: Sequence[str] | None = None,
        limit: int | None = None,
        overflow: Overflow | None = None,
        as_: Shape | None = None,
        within: Interval | None = None,
        as_of: str | None = None,
        through: Through | None = None,
        hot: HotMap | None = None,
        hidden: bool = False,
        embed: Mapping[str, Embed] | None = None,
    ) -> Self:
        """Return this with one more to-many embed.

        Args:
            name: The field that it becomes.
            relation: What is embedded; or a finished `jn.many`, with no further argument.
            on: As for `jn.many`; required unless `relation` is finished.
            fields: As for `jn.many`.
            values: As for `jn.many`.
            where: As for `jn.many`.
            order: As for `jn.many`.
            limit: As for `jn.many`.
            overflow: As for `jn.many`.
            as_: As for `jn.many`.
            within: As for `jn.many`.
            as_of: As for `jn.many`.
            through: As for `jn.many`.
            hot: As for `jn.many`.
            hidden: As for `jn.many`.
            embed: As for `jn.many`.

        Raises:
            JoineryError: An argument is refused, or there is an embed of the name already.

        Example:
            >>> import joinery as jn
            >>> user = jn.document("user", "user")
            >>> user = user.embed_many("stars", "star", on={"user_id": "id"})
            >>> user.spec.root.embed[0].cardinality
            'many'
        """
        parts = _shown(fields, values, where, hidden, embed)
        window = {"order": order, "limit": limit, "overflow": overflow, "as": as_}
        edge = {"on": on, "through": through, "hot": hot, "within": within, "as_of": as_of}
        return self._with(name, _embed("many", relation, {**edge, **window, **parts}, name))

    @abstractmethod
    def _with(self, name: str, embed: Embed) -> Self: ...


@dataclass(frozen=True, slots=True)
class Embed(_Parent):
    """A related relation to embed, still without a name.

    Attributes:
        spec: What it declares.
        relations: The relations that it and what it embeds were given as objects.
    """

    spec: NodeSpec
    relations: tuple[RelationSpec, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.spec.cardinality} {self.spec.relation}>"

    def _with(self, name: str, embed: Embed) -> Self:
        spec = _attached(self.spec, name, embed)
        return replace(self, spec=spec, relations=self.relations + embed.relations)


@dataclass(frozen=True, slots=True)
class Document(_Parent):
    """A product under construction; every method returns a new one.

    Attributes:
        spec: What it declares so far.
        relations: The relations that were given as objects.
    """

    spec: ProductSpec
    relations: tuple[RelationSpec, ...] = ()

    def __repr__(self) -> str:
        return f"<product {self.spec.name} of {self.spec.root.relation}>"

    def _with(self, name: str, embed: Embed) -> Self:
        spec = replace(self.spec, root=_attached(self.spec.root, name, embed))
        return replace(self, spec=spec, relations=self.relations + embed.relations)


@suggesting
def one(
    relation: RelationLike,
    *,
    on: Columns,
    fields: Fields | None = None,
    values: Mapping[str, str] | None = None,
    where: str | None = None,
    order: Sequence[str] | None = None,
    within: Interval | None = None,
    as_of: str | None = None,
    hidden: bool = False,
    embed: Mapping[str, Embed] | None = None,
) -> Embed:
    """Return a to-one embed: an object, or null where nothing matches.

    Args:
        relation: What is embedded: a relation, or a product of the same group.
        on: Child column to parent column; a list where the names agree.
        fields: What of the row is shown; None is all columns.
        values: Further fields by name, computed from fields and embeds.
        where: Only rows for which it is true.
        order: Which of several rows is taken: the first, `-` in front for descending.
        within: How far its time may be from that of the row above, such as `["0s", "30m"]`.
        as_of: The column of the row above with the time whose version is embedded; None is the row
            as it is.
        hidden: Usable in expressions, but not part of the document.
        embed: Embeds below it, by name.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> one("repo", on={"id": "repo_id"}, fields=["name"]).spec.on
        (('id', 'repo_id'),)
    """
    parts = _shown(fields, values, where, hidden, embed)
    edge = {"on": on, "order": order, "within": within, "as_of": as_of}
    return _embed("one", relation, {**edge, **parts})


@suggesting
def many(
    relation: RelationLike,
    *,
    on: Columns,
    fields: Fields | None = None,
    values: Mapping[str, str] | None = None,
    where: str | None = None,
    order: Sequence[str] | None = None,
    limit: int | None = None,
    overflow: Overflow | None = None,
    as_: Shape | None = None,
    within: Interval | None = None,
    as_of: str | None = None,
    through: Through | None = None,
    hot: HotMap | None = None,
    hidden: bool = False,
    embed: Mapping[str, Embed] | None = None,
) -> Embed:
    """Return a to-many embed: a list, or a map by the child's key.

    Args:
        relation: What is embedded: a relation, or a product of the same group.
        on: Child column to parent column; a list where the names agree.
        fields: What of each row is shown; None is all columns.
        values: Further fields by name, computed from fields and embeds.
        where: Only rows for which it is true.
        order: What the list is sorted by, `-` in front for descending; then by the key.
        limit: How many rows are kept, in that order.
        overflow: Above `limit`: count all in `<name>_total`, or refuse the document.
        as_: A list, or a map from the row's key to the row.
        within: How far its time may be from that of the row above, such as `["0s", "30m"]`.
        as_of: The column of the row above with the time whose version is embedded; None is the row
            as it is.
        through: The relation whose rows lead to the embedded ones, with its columns and the
            parent's: `{follow: {"follower_id": "id"}}`; `on` then compares with columns of it:
            `{"author_id": "follow.followee_id"}`.
        hot: With `through`: `{"above": 100_000}` leaves out what more rows of it name.
        hidden: Usable in expressions, but not part of the document.
        embed: Embeds below it, by name.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> many("star", on={"user_id": "id"}, order=["-at"], limit=3).spec.limit
        3
    """
    parts = _shown(fields, values, where, hidden, embed)
    window = {"order": order, "limit": limit, "overflow": overflow, "as": as_}
    edge = {"on": on, "through": through, "hot": hot, "within": within, "as_of": as_of}
    return _embed("many", relation, {**edge, **window, **parts})


def with_embeds(document: Document, embeds: object) -> Document:
    """Return a document with more embeds, by name, as a call was given them.

    Raises:
        JoineryError: They are not embeds, or there is one of a name already.
    """
    for name, each in embeds_given(embeds).items():
        document = document._with(name, each)
    return document


def embeds_given(given: object) -> dict[str, Embed]:
    """Return embeds by name, as a call was given them.

    Raises:
        SpecError: They are not a map, or one is not an embed.
    """
    named: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {}
    told = named.values() if isinstance(given, Mapping | None) else (given,)
    wrong = [each for each in told if not isinstance(each, Embed)]
    if wrong:
        raise SpecError(
            "embeds are jn.one(…) or jn.many(…) by name, not an object of"
            f" type {type(wrong[0]).__name__}",
            code="SPEC_SHAPE",
            hint='Write {"name": jn.many(RELATION, on=…)}.',
        )
    return named


def objects_of(relation: RelationLike) -> tuple[RelationSpec, ...]:
    """Return the relations that come along with a relation or a product.

    Raises:
        SpecError: It is neither.
    """
    if isinstance(relation, str):
        return ()
    if isinstance(relation, Document):
        return relation.relations
    spec = declared_by(relation)
    return (spec,) if isinstance(spec, RelationSpec) else ()


def _shown(
    fields: Fields | None,
    values: Mapping[str, str] | None,
    where: str | None,
    hidden: bool,
    embed: Mapping[str, Embed] | None,
) -> dict[str, object]:
    shown = {"fields": fields, "values": values, "where": where}
    return {**shown, "hidden": hidden or None, "embed": embed}


def _embed(
    cardinality: Literal["one", "many"],
    relation: RelationLike | Embed,
    parts: Mapping[str, object],
    name: str = "",
) -> Embed:
    """Return an embed; in messages it goes by its name, else by its relation's."""
    check_name(name, "an embed")
    told = given(parts)
    if isinstance(relation, Embed):
        if told or relation.spec.cardinality != cardinality:
            raise SpecError(
                f'a finished embed cannot be given as a "{cardinality}" with further parts',
                code="SPEC_VALUE",
                hint=f"Use embed_{relation.spec.cardinality} with its name alone.",
            )
        return relation
    below = embeds_given(told.pop("embed", {}))
    through = map_given(told.pop("through", None), "through")
    if through:
        told["through"] = {relation_name(each): on for each, on in through.items()}
    reader = Reader()
    called = name or relation_name(relation)
    entry = Entry(called, tree_of({cardinality: relation_name(relation), **told}))
    spec = read_embed(reader, entry, ("embed",))
    raise_all(tuple(reader.problems))
    objects = (each for one in (relation, *through) for each in objects_of(one))
    made = Embed(replace(spec, declared_at=caller()), tuple(objects))
    for each, embed in below.items():
        made = made._with(each, embed)
    return made


def _attached(parent: NodeSpec, name: str, embed: Embed) -> NodeSpec:
    """Return `parent` with one more embed; a name is there once."""
    reader = Reader()
    reader.output_name(name, "an embed", None)
    raise_all(tuple(reader.problems))
    if name in {each.name for each in parent.embed}:
        raise SpecError(f'there is already an embed "{name}"', code="SPEC_DUPLICATE_KEY")
    return replace(parent, embed=(*parent.embed, replace(embed.spec, name=name)))
