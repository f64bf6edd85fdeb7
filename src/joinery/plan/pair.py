"""The column pairs of an embed's `on`: resolved, typed, and the right way round."""

from __future__ import annotations

from joinery.model.type import DataType
from joinery.plan.context import Context
from joinery.plan.join import common_type, comparable
from joinery.plan.nodes import JoinPair, Relation
from joinery.spec.location import Path
from joinery.spec.product import NodeSpec, Pairs

Known = tuple[Relation, frozenset[str]]
Row = dict[str, DataType]


def build_pairs(
    context: Context, spec: NodeSpec, path: Path, *, child: Known, parent: Known | None
) -> tuple[JoinPair, ...]:
    """Return the pairs of `spec.on`, or note what is wrong with them.

    Args:
        context: Takes the problems.
        spec: The embed.
        path: Where it is declared.
        child: Its relation, with the columns that could not be built.
        parent: That of the node above; None where it is not there.
    """
    if parent is None:
        return ()
    below, above = _row(child[0]), _row(parent[0])
    failed = child[1] | parent[1]
    pairs = tuple(each for each in dict.fromkeys(spec.on) if failed.isdisjoint(each))
    swapped = tuple((parent_name, child_name) for child_name, parent_name in pairs)
    if not _fits(pairs, below, above) and _fits(swapped, below, above):
        _refuse_swapped(context, spec, path, swapped)
        return ()
    _warn_whole_key(context, spec, path, child[0], swapped if _fits(swapped, below, above) else ())
    found = [
        _pair(context, (*path, "on", name), (name, other), (child[0], below), (parent[0], above))
        for name, other in pairs
    ]
    return tuple(each for each in found if each is not None)


def _row(relation: Relation) -> Row:
    return {each.name: each.type for each in relation.row.fields}


def _fits(pairs: Pairs, below: Row, above: Row) -> bool:
    return all(
        child in below and parent in above and common_type(below[child], above[parent]) is not None
        for child, parent in pairs
    )


def _written(pairs: Pairs) -> str:
    return ", ".join(f"{child}: {parent}" for child, parent in pairs)


def _refuse_swapped(context: Context, spec: NodeSpec, path: Path, swapped: Pairs) -> None:
    context.refuse(
        "PLAN_ON_SWAPPED",
        f'the sides of "on" of embed "{spec.name}" look swapped',
        (*path, "on", swapped[0][1]),
        key=True,
        detail="The child's column comes first, then the parent's.",
        hint=f"Write on: {{{_written(swapped)}}}.",
    )


def _warn_whole_key(
    context: Context, spec: NodeSpec, path: Path, child: Relation, swapped: Pairs
) -> None:
    """Warn of a list that can hold one row at most, where the other way round it could more."""
    columns = {name for name, _ in spec.on}
    turned = {name for name, _ in swapped}
    if spec.cardinality != "many" or not swapped or not columns.issuperset(child.key):
        return
    if turned.issuperset(child.key):
        return
    context.refuse(
        "PLAN_ON_SWAPPED",
        f'the sides of "on" of embed "{spec.name}" may be swapped',
        (*path, "on", spec.on[0][0]),
        key=True,
        detail=f'It compares the whole key of "{child.name}", so that one row matches at most.',
        hint=f"Write on: {{{_written(swapped)}}}, or make it a one.",
        warning=True,
    )


def _pair(
    context: Context,
    path: Path,
    names: tuple[str, str],
    child: tuple[Relation, Row],
    parent: tuple[Relation, Row],
) -> JoinPair | None:
    """Return one pair, or note what is wrong with it."""
    known = True
    for name, (relation, row), key in ((names[0], child, True), (names[1], parent, False)):
        if name not in row:
            message = f'relation "{relation.name}" has no field "{name}"'
            context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=name, known=row, key=key)
            known = False
    if not known:
        return None
    left, right = child[1][names[0]], parent[1][names[1]]
    kind = common_type(left, right)
    if kind is None:
        context.refuse(
            "PLAN_TYPE_MISMATCH",
            f'"{names[0]}" of "{child[0].name}" ({left}) cannot equal'
            f' "{names[1]}" of "{parent[0].name}" ({right})',
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
