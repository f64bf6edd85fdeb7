"""The column pairs of a lookup: resolved, typed, the right way round, and the whole key."""

from __future__ import annotations

from collections.abc import Mapping

from joinery.plan.join import common_type, comparable
from joinery.plan.lookup_context import LookupContext, Row
from joinery.plan.nodes import JoinPair
from joinery.spec.product import Pairs


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
    key = set(asked.table.key)
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


def _check_key(asked: LookupContext, pairs: Mapping[str, JoinPair]) -> None:
    if pairs.keys() == set(asked.table.key):
        return
    key = ", ".join(asked.table.key)
    asked.refuse(
        "PLAN_LOOKUP",
        f"{asked.what} compares {', '.join(pairs)}, and its key is {key}",
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
