"""The contracts of a project: of each product its documents, of each stream its events.

An outbox has none: what it sends is as the application wrote it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import reduce

from joinery.contract.contract import (
    Contract,
    Entries,
    Items,
    Member,
    Object,
    Personal,
    Scalar,
    Value,
)
from joinery.contract.never_null import filled_members, filled_outputs
from joinery.contract.origin import origin_of
from joinery.expression.typed import Apply, Constant, Read
from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct, is_personal, opened
from joinery.plan.node import Node
from joinery.plan.product import DocumentForm, OutboxForm, Plan, Product
from joinery.plan.relation import Computed, Relation
from joinery.plan.step import standing_after
from joinery.plan.stream import Stream, outputs_of
from joinery.project.mark import Path
from joinery.project.product import ProjectSpec


def contracts_of(spec: ProjectSpec, plan: Plan) -> tuple[Contract, ...]:
    """Return the contracts of a project, in the order of its file.

    Args:
        spec: The project.
        plan: Its plan.
    """
    fresh = {each.name: each.expect.fresh_ms for each in spec.products if each.expect}
    sending = (each for each in outputs_of(plan) if not isinstance(each.form, OutboxForm))
    return tuple(_Derivation(each).contract(fresh.get(each.name)) for each in sending)


class _Derivation:
    """Derives the contract of one product."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self.origin = origin_of(product.form)
        section = "streams" if isinstance(product.form, Stream) else "products"
        self.path: Path = (section, product.name)
        sinks = [dict(each.options).get("reveal") is True for each in product.sinks]
        self.personal: Personal = "revealed" if sinks and all(sinks) else "withheld"

    def contract(self, fresh_ms: int | None) -> Contract:
        return Contract(
            name=self.product.name,
            key=self.key(),
            value=self.value(),
            fresh_ms=fresh_ms,
            shows_key=_shows_key(self.product),
            description=self.origin.told,
            path=self.path,
            key_path=self.key_path(),
        )

    def key(self) -> Object:
        """Return the key; what it has of a relation's key is null where that may be."""
        nullable = self.product.nullable_key
        whole = not any(each.nullable_key for each in self.product.form.relations)
        return Object(
            tuple(
                Member(each.name, self.typed(each.type, each.name in nullable, whole=whole))
                for each in self.product.key.fields
            )
        )

    def key_path(self) -> Path:
        relation = self.product.form.relation
        if self.origin.keyed and relation.product is None:
            return ("relations", relation.name, "key")
        return (*self.path, "by") if self.origin.by else self.path

    def value(self) -> Object:
        form = self.product.form
        if isinstance(form, DocumentForm):
            return self.object(form.root, self.path)
        filled = filled_outputs(form)
        # A stream may show another value under the name of a column of its key.
        shown = () if isinstance(form, Stream) else self.key().members
        keys = {each.name: each.value for each in shown}
        words = {each.name: each for each in self.origin.by}
        members = []
        for each in form.output.fields:
            value = keys.get(each.name) or self.typed(each.type, each.name not in filled)
            told = _source(words.get(each.name), form.relation)
            path = (*self.path, *self.origin.place_of(each.name))
            members.append(Member(each.name, value, told, path))
        return Object(tuple(members))

    def object(self, node: Node, path: Path) -> Object:
        """Return the object of a node that is declared at `path`."""
        filled = filled_members(node)
        return Object(tuple(self.members(node, path, filled)))

    def members(self, node: Node, path: Path, filled: Collection[str]) -> Iterator[Member]:
        values = {each.name for each in node.values}
        for name, named in node.shown:
            nullable = name not in filled
            match named:
                case Node():
                    below = (*path, "embed", named.name)
                    yield Member(name, self.embed(named, below, nullable), _rows(named), below)
                case Computed():
                    where = (*path, "values" if name in values else "fields", name)
                    told = _source(named, None if name in values else node.relation, node)
                    yield Member(name, self.typed(named.type, nullable), told, where)
                case _:
                    yield Member(name, self.typed(named.type, nullable), "", path)

    def embed(self, node: Node, path: Path, nullable: bool) -> Value:
        shown = self.object(node, path)
        if node.cardinality == "one":
            return Value(shown, nullable)
        row = Value(shown, nullable=False)
        return Value(Entries(Atomic("string"), row) if node.keyed else Items(row), nullable)

    def typed(self, kind: DataType, nullable: bool = True, *, whole: bool = False) -> Value:
        """Return a value of a type, of which nothing is known but whether it may be null.

        Args:
            kind: Its type, as the plan has it.
            nullable: Whether it may be.
            whole: Whether the fields of an object never are.
        """
        if isinstance(kind, Atomic) and is_personal(kind):
            return Value(self.typed(opened(kind)).shape, nullable=True, personal=self.personal)
        match kind:
            case Atomic() | Decimal():
                return Value(Scalar(kind), nullable)
            case Array(element):
                return Value(Items(self.typed(element)), nullable)
            case Map(key, of):
                return Value(Entries(opened(key), self.typed(of)), nullable)
            case Struct(fields):
                made = (Member(each.name, self.typed(each.type, not whole)) for each in fields)
                return Value(Object(tuple(made)), nullable)


def _shows_key(product: Product) -> bool:
    """Return whether the columns of a key stand in the document as they are."""
    names = {each.name for each in product.key.fields}
    match product.form:
        case DocumentForm(root):
            kept = {each.name for each in root.fields if each.kept}
            return names <= kept and not root.relation.has_personal_key
        case Stream() as stream:
            columns = frozenset(each.name for each in stream.columns)
            steps = stream.steps
            return names <= reduce(lambda left, each: standing_after(each, left), steps, columns)
        case _:
            return True


def _rows(embed: Node) -> str:
    """Return what rows an embed shows."""
    if embed.cardinality == "one":
        return f"The row of {embed.relation.name} that matches; null where none does."
    most = "" if embed.limit is None else f" {embed.limit} at most."
    return f"The rows of {embed.relation.name} that match; empty where none do.{most}"


def _source(computed: Computed | None, relation: Relation | None, node: Node | None = None) -> str:
    """Return the column that a field shows; nothing where it is an expression of several.

    Args:
        computed: The field.
        relation: Whose columns it reads; None where the names that it reads are no columns.
        node: Whose `one` embeds it reads.
    """
    ones = {e.name: e for e in node.embeds if e.cardinality == "one"} if node else {}
    match computed.expression.typed if computed else None:
        case Read(name) if relation is not None and name not in ones:
            return f"Column {name} of {relation.name}."
        case Apply("field", (Read(name), Constant(column))) if name in ones:
            other = ones[name].relation.name
            return f"Column {column} of {other}; null where no row of {other} matches."
        case _:
            return ""
