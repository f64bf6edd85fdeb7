"""The column pairs of an embed's `on`: resolved, typed, and the right way round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from joinery.expression.problem import nearest_hint
from joinery.model.type import TIMESTAMP, DataType, is_personal
from joinery.plan.build_personal import blind_pair, joins_personal
from joinery.plan.context import Context
from joinery.plan.join import common_type, comparable
from joinery.plan.node import Through
from joinery.plan.relation import JoinPair, Relation
from joinery.plan.timestamp_hint import timestamp_hint
from joinery.project.mark import Path
from joinery.project.node import NodeSpec
from joinery.project.value import Pairs

Known = tuple[Relation, frozenset[str]]
Relations = Mapping[str, Known]
Row = dict[str, DataType]


@dataclass(frozen=True, slots=True)
class _Asked:
    """Pairs of columns as they are declared.

    Attributes:
        on: Child column and parent column.
        what: Such as `"on" of embed "posts"`.
        path: Where they stand.
        around: What is written before the pairs and after them.
        prefix: What is written before the parent's columns.
    """

    on: Pairs
    what: str
    path: Path
    around: tuple[str, str] = ("on: {", "}")
    prefix: str = ""

    def written(self, pairs: Pairs) -> str:
        told = ", ".join(f"{child}: {self.prefix}{parent}" for child, parent in pairs)
        return told.join(self.around)


def build_pairs(
    context: Context, spec: NodeSpec, path: Path, *, child: Known, parent: Known | None
) -> tuple[JoinPair, ...]:
    """Return the pairs of `spec.on`, or note what is wrong with them.

    Args:
        context: Takes the problems.
        spec: The embed.
        path: Where it is declared.
        child: Its relation, with the columns that could not be built.
        parent: What it is compared with: the node above, or the relation that leads to it; None
            where that is not there.
    """
    if parent is None:
        return ()
    prefix = f"{parent[0].name}." if spec.through else ""
    what = f'"on" of embed "{spec.name}"'
    asked = _Asked(spec.on, what, (*path, "on"), prefix=prefix)
    pairs = _pairs(context, asked, child, parent)
    if pairs and spec.cardinality == "many" and spec.through is None:
        _warn_whole_key(context, asked, child, parent)
    return pairs


def build_through(
    context: Context, spec: NodeSpec, path: Path, *, relations: Relations, parent: Known | None
) -> Through | None:
    """Return the relation that leads to an embed's rows, or note what is wrong with it."""
    assert spec.through is not None
    name, path = spec.through.relation, (*path, "through", spec.through.relation)
    known = relations.get(name)
    if known is None:
        message = f'there is no relation "{name}"'
        context.unknown(
            "PLAN_UNKNOWN_RELATION", message, path, name=name, known=relations, key=True
        )
        return None
    what, around = f'"through" of embed "{spec.name}"', (f"through: {{{name}: {{", "}}")
    asked = _Asked(spec.through.on, what, path, around)
    pairs = () if parent is None else _pairs(context, asked, known, parent)
    return Through(known[0], pairs, spec.through.hot_above)


def _pairs(context: Context, asked: _Asked, child: Known, parent: Known) -> tuple[JoinPair, ...]:
    below, above = _row(child[0]), _row(parent[0])
    pairs = _sound(asked, child, parent)
    swapped = tuple((parent_name, child_name) for child_name, parent_name in pairs)
    if not _fits(pairs, below, above) and _fits(swapped, below, above):
        _refuse_swapped(context, asked, swapped)
        return ()
    found = [
        build_pair(context, (*asked.path, name), (name, other), child[0], parent[0])
        for name, other in pairs
    ]
    return tuple(each for each in found if each is not None)


def _sound(asked: _Asked, child: Known, parent: Known) -> Pairs:
    """Return the pairs of columns that could be built."""
    failed = child[1] | parent[1]
    return tuple(each for each in dict.fromkeys(asked.on) if failed.isdisjoint(each))


def _row(relation: Relation) -> Row:
    return {each.name: each.type for each in relation.row.fields}


def _fits(pairs: Pairs, below: Row, above: Row) -> bool:
    return all(
        child in below and parent in above and _meet(below[child], above[parent])
        for child, parent in pairs
    )


def _meet(left: DataType, right: DataType) -> bool:
    alike = left == right and is_personal(left)
    return alike or common_type(left, right) is not None


def _refuse_swapped(context: Context, asked: _Asked, swapped: Pairs) -> None:
    context.refuse(
        "PLAN_ON_SWAPPED",
        f"the sides of {asked.what} look swapped",
        (*asked.path, swapped[0][1]),
        key=True,
        detail="The child's column comes first, then the parent's.",
        hint=f"Write {asked.written(swapped)}.",
    )


def _warn_whole_key(context: Context, asked: _Asked, child: Known, parent: Known) -> None:
    """Warn of a list that can hold one row at most, where the other way round it could more."""
    columns = {name for name, _ in asked.on}
    swapped = tuple((other, name) for name, other in _sound(asked, child, parent))
    turned, key = {name for name, _ in swapped}, child[0].key
    if not swapped or not columns.issuperset(key) or turned.issuperset(key):
        return
    if not _fits(swapped, _row(child[0]), _row(parent[0])):
        return
    context.refuse(
        "PLAN_ON_SWAPPED",
        f"the sides of {asked.what} may be swapped",
        (*asked.path, asked.on[0][0]),
        key=True,
        detail=f'It compares the whole key of "{child[0].name}", so that one row matches at most.',
        hint=f"Write {asked.written(swapped)}, or make it a one.",
        warning=True,
    )


def build_pair(
    context: Context, path: Path, names: tuple[str, str], child: Relation, parent: Relation
) -> JoinPair | None:
    """Return one pair, a column of `child` and one of `parent`, or note what is wrong with it."""
    known = True
    for name, relation, key in ((names[0], child, True), (names[1], parent, False)):
        if name not in (row := _row(relation)):
            message = f'relation "{relation.name}" has no field "{name}"'
            if name.isidentifier() or nearest_hint(name, row):
                context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=name, known=row, key=key)
            else:
                hint = f'Write derive: {{NAME: {name}}} in "{relation.name}", and NAME here.'
                context.refuse("PLAN_UNKNOWN_FIELD", message, path, key=key, hint=hint)
            known = False
    if not known:
        return None
    if joins_personal(names, child, parent):
        return blind_pair(context, path, names, child, parent)
    left, right = child.type_of(names[0]), parent.type_of(names[1])
    kind = common_type(left, right)
    if kind is None:
        context.refuse(
            "PLAN_TYPE_MISMATCH",
            f'"{names[0]}" of "{child.name}" ({left}) cannot equal'
            f' "{names[1]}" of "{parent.name}" ({right})',
            path,
            key=True,
            detail="Joined columns need one type, or types that widen without loss.",
            hint=_type_hint(left, right),
        )
        return None
    return JoinPair(names[0], names[1], kind)


def _type_hint(left: DataType, right: DataType) -> str:
    if comparable(left) and comparable(right):
        return "Declare one type for both, or derive a column with a cast."
    return "Join on columns of a simple type."


def check_within(
    context: Context, spec: NodeSpec, path: Path, relations: tuple[Relation, Relation]
) -> None:
    """Refuse an interval between rows of which one side has no time.

    Args:
        context: Takes the problems.
        spec: The embed.
        path: Where it is declared.
        relations: Its own, and that of the node above.
    """
    others = {"through": spec.through, "as_of": spec.as_of}
    beside = [name for name, each in others.items() if each is not None]
    if spec.within is not None and beside:
        message = f'embed "{spec.name}" has both "within" and "{beside[0]}"'
        context.refuse("PLAN_WITHIN", message, (*path, "within"), hint="Keep one of them.")
    timeless = [each.name for each in relations if each.time is None]
    if spec.within is not None and timeless:
        message = f'"within" of embed "{spec.name}" needs times, and "{timeless[0]}" has none'
        hint = f'Name its column: "time" of relation "{timeless[0]}".'
        context.refuse("PLAN_WITHIN", message, (*path, "within"), hint=hint)


def check_as_of(
    context: Context, spec: NodeSpec, path: Path, child: Relation, parent: Known
) -> None:
    """Refuse a time whose version cannot be told.

    Args:
        context: Takes the problems.
        spec: The embed.
        path: Where it is declared.
        child: Its relation.
        parent: That of the node above, with the columns that could not be built.
    """
    name, path = spec.as_of, (*path, "as_of")
    if name is None or name in parent[1]:
        return
    what, types = f'"as_of" of embed "{spec.name}"', _row(parent[0])
    if name not in types:
        message = f'relation "{parent[0].name}" has no field "{name}"'
        context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=name, known=types)
    elif types[name] != TIMESTAMP:
        message = f'{what} needs a timestamp, and "{name}" is {types[name]}'
        hint = timestamp_hint(name, types[name])
        context.refuse("PLAN_TYPE_MISMATCH", message, path, hint=hint)
    if child.product is not None:
        message = f'{what} needs the versions of "{child.name}", which is a product'
        hint = 'Embed a product with "history" over the relation, or leave as_of out.'
        context.refuse("PLAN_AS_OF", message, path, hint=hint)
    elif child.time is None:
        message = f'{what} needs to know from when a row is valid, and "{child.name}" has no time'
        hint = f'Name its column: "time" of relation "{child.name}".'
        context.refuse("PLAN_AS_OF", message, path, hint=hint)
