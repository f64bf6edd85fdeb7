"""Groups in a store: which rows are in which, and what a group shows of them.

A store keeps, beside the rows of a relation, a membership for each group that a row is in. So a
group is a root like another one, `stored_root`: its memberships lead to its rows. It is known by
the text of the sink's key, which is never null where a column of it may be.

Limits: a group that a batch touches is read whole. Windows are never forgotten, as no watermark
is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from joinery.expression.typed import Expression, column_expression
from joinery.model.change import Key, Row
from joinery.model.type import STRING, Field
from joinery.plan.aggregate import AggregateForm
from joinery.plan.node import Node
from joinery.plan.product import Product
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.semantics.document import Built, judged
from joinery.semantics.groups import Groups
from joinery.semantics.render import renderer
from joinery.semantics.row_key import key_reader, key_row, key_type
from joinery.semantics.rows import Findings, join_reader
from joinery.solutions.stored.fold import Find
from joinery.solutions.stored.state import JoinState
from joinery.solutions.stored.tactic import Image, seen_by

GROUP = "joinery_group"
"""The column with the text of a group's key."""


def stored_root(product: Product) -> Node:
    """Return the tree whose rows a store keeps and joins for a product; its root is never kept."""
    if not isinstance(product.form, AggregateForm):
        return product.root
    form, key = product.form, Field(GROUP, STRING)
    rows = Node("row", f"{product.name}/row", "one", form.relation, _same(form.relation))
    member = Node(
        "member",
        f"{product.name}/member",
        "many",
        _own(f"{product.name}.members", (key, *_key_fields(form.relation))),
        (JoinPair(GROUP, GROUP, STRING),),
        embeds=(_with_fields(rows, form),),
    )
    groups = _own(f"{product.name}.groups", (key,))
    return Node(product.name, product.name, "root", groups, embeds=(member,))


def stored_relations(product: Product) -> tuple[Relation, ...]:
    """Return the relations whose rows a store keeps for a product."""
    if isinstance(product.form, AggregateForm):
        return (stored_root(product).embeds[0].relation, *product.relations)
    return product.relations


def key_text(product: Product) -> Callable[[Key], str]:
    """Return the function from what a store knows a root by to the text of the sink's key."""
    if isinstance(product.form, AggregateForm):
        return lambda key: str(key[0])
    relation = product.root.relation
    text = renderer(key_type(relation))
    return lambda key: text(key_row(relation, key))


def _own(name: str, columns: tuple[Field, ...]) -> Relation:
    """Return a relation of the store's own: its name has a point, so no project has it."""
    key = tuple(each.name for each in columns)
    return Relation(name, source="", topic="", format="", key=key, columns=columns)


def _key_fields(relation: Relation) -> tuple[Field, ...]:
    return tuple(Field(each, relation.type_of(each)) for each in relation.key)


def _same(relation: Relation) -> tuple[JoinPair, ...]:
    return tuple(JoinPair(each.name, each.name, each.type) for each in _key_fields(relation))


def _with_fields(rows: Node, form: AggregateForm) -> Node:
    """Return the node of a group's rows, with all that the group reads of them."""
    asked: list[Expression] = [each.expression for each in form.by]
    asked += [form.where] if form.where is not None else []
    for each in form.aggregates:
        asked += [one for one in (each.argument, each.filter) if one is not None]
    names = {name for each in asked for name in each.references}
    if form.relation.time is not None:
        names.add(form.relation.time)
    return replace(rows, fields=tuple(_column(form.relation, each) for each in sorted(names)))


def _column(relation: Relation, name: str) -> Computed:
    return Computed(name, column_expression(name, relation.type_of(name)))


class GroupTactic:
    """Finds the groups of changed rows, and sums groups up from their rows.

    Args:
        product: Whose groups they are.
        form: What it aggregates.
        max_bytes: Above it a group's document fails; None sets no bound.
    """

    def __init__(self, product: Product, form: AggregateForm, max_bytes: int | None) -> None:
        self._form, self._max_bytes = form, max_bytes
        (member,) = stored_root(product).embeds
        (rows,) = member.embeds
        self.members = member.relation
        self._relation = form.relation
        self._seen = seen_by(rows)
        self._key_of = key_reader(form.relation)
        self._row_value = join_reader(form.relation, form.relation.key)
        self._names = [each.name for each in product.key.fields]
        self._key_text = renderer(product.key)
        self._text = renderer(product.output)
        self._findings, self._placing = Findings(), Findings()
        self._places = Groups(form, Findings(), placed=self._placing)
        self._began = 0
        self._made: dict[Key, None] = {}

    def memberships(self, images: Mapping[str, Sequence[Image]]) -> Iterator[Image]:
        """Yield the memberships that changed rows had and have; one that stays is both."""
        for old, new in images.get(self._relation.name, ()):
            if old is not None and new is not None and self._seen(old) == self._seen(new):
                continue
            before, failed = self._groups_of(old)
            after, fails = self._groups_of(new)
            self._began += max(0, fails - failed)
            for text in dict.fromkeys(chain(before, after)):
                row = {**self._keys(old, new), GROUP: text}
                yield row if text in before else None, row if text in after else None

    def roots(self, images: Mapping[str, Sequence[Image]], state: JoinState) -> set[Key]:
        """Return the groups with a membership among `images`."""
        found = chain.from_iterable(images.get(self.members.name, ()))
        return {(row[GROUP],) for row in found if row is not None}

    def documents(self, keys: Sequence[Key], state: JoinState) -> Mapping[Key, Built]:
        """Return what groups show; one without rows is left out."""
        self._made.update(dict.fromkeys(keys))
        return {
            key: judged(self._text(value), {}, max_bytes=self._max_bytes)
            for key, value in self._shown(keys, state.matching)
        }

    def counters(self, now: Find, before: Callable[[], Find]) -> Counter[str]:
        """Return the expressions that began to fail since the last call."""
        began, keys = self._began, list(self._made)
        self._began = 0
        self._made.clear()
        if self._findings.taken().failures:
            began += max(0, self._failures(keys, now) - self._failures(keys, before()))
        return +Counter(expression_errors=began)

    def _failures(self, keys: Sequence[Key], find: Find) -> int:
        for _ in self._shown(keys, find):
            pass
        return self._findings.taken().failures

    def _shown(self, keys: Sequence[Key], find: Find) -> Iterator[tuple[Key, Row]]:
        """Yield the value of each group that has rows."""
        members = find(self.members.name, (GROUP,), keys)
        wanted = {join for each in members if (join := self._row_value(each)) is not None}
        groups = Groups(self._form, self._findings, placed=Findings())
        for row in find(self._relation.name, self._relation.key, wanted):
            for slot in groups.slots_of(row):
                groups.put(slot, self._key_of(row), row)
        asked = set(keys)
        for sink_key, _, value in groups.shown(None):
            if (known := (self._sink_key(sink_key),)) in asked:
                yield known, value()

    def _groups_of(self, row: Row | None) -> tuple[dict[str, None], int]:
        """Return the groups of a row, and how many expressions failed over it."""
        if row is None:
            return {}, 0
        slots = self._places.slots_of(row)
        texts = dict.fromkeys(self._sink_key(self._places.key_of(each)) for each in slots)
        return texts, self._placing.taken().failures

    def _keys(self, old: Row | None, new: Row | None) -> Row:
        row = new if new is not None else old
        assert row is not None  # one of the two images is there
        return {each: row[each] for each in self._relation.key}

    def _sink_key(self, key: Key) -> str:
        return self._key_text(dict(zip(self._names, key, strict=True)))
