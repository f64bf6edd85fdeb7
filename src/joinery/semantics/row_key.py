"""A row's key as stores hold it, and back.

Invariant: two keys are the same key exactly when they are equal in Python; so a NaN stands
as text, as in a join value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from joinery.model.change import Key, Row
from joinery.model.type import Atomic, Struct
from joinery.plan.relation import Relation
from joinery.semantics.rows import join_value

_FLOATING = (Atomic("float"), Atomic("double"))


def key_reader(relation: Relation) -> Callable[[Row], Key]:
    """Return the function from a row, or a change's key, to the key."""
    columns = relation.key
    if _floating(relation):
        return lambda row: join_value(row, columns) or ()
    if len(columns) == 1:
        only = columns[0]
        return lambda row: (row[only],)
    return itemgetter(*columns)


def key_values(relation: Relation) -> Callable[[Key], Sequence[Any]]:
    """Return the function from a key to the values of its columns."""
    floating = _floating(relation)
    if not floating:
        return lambda key: key
    return lambda key: [
        math.nan if at in floating and value == "NaN" else value for at, value in enumerate(key)
    ]


def key_row(relation: Relation, key: Key) -> Row:
    """Return a key under the names of its columns."""
    return dict(zip(relation.key_names, key_values(relation)(key), strict=True))


def key_type(relation: Relation) -> Struct:
    """Return the type of the sink's key."""
    return Struct(relation.key_fields())


def _floating(relation: Relation) -> tuple[int, ...]:
    types = [relation.type_of(column) for column in relation.key]
    return tuple(at for at, kind in enumerate(types) if kind in _FLOATING)
