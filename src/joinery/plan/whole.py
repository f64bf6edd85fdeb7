"""Whether a small table of a store is read whole and sent to all tasks: a rule of the plan.

A table of at most `limits.batch` rows costs its store no more, read whole, than one request
for keys. It answers for as long as any single answer might, a missing row included, so
nothing is older than declared.
"""

from __future__ import annotations

from joinery.model.type import Atomic
from joinery.plan.stream import Lookup

_KINDS = ("postgres", "sqlite")
_COMPARED = tuple(map(Atomic, ("byte", "short", "int", "long", "string")))


def why_not_whole(lookup: Lookup) -> str:
    """Return why a table is never read whole; empty where it is, as long as it is small."""
    kind = lookup.store.kind if lookup.store else ""
    if kind not in _KINDS:
        return f"{kind or 'its store'} is asked by keys alone"
    if not whole_ms(lookup):
        return "its answers are not kept"
    for each in lookup.on:
        type = lookup.table.type_of(each.child)
        if type not in _COMPARED:
            return f'its store compares "{each.child}", which is {type}, in its own way'
    return ""


def whole_ms(lookup: Lookup) -> int:
    """Return for how long a table that was read whole may answer."""
    cache = lookup.cache
    return min(cache.ttl_ms, cache.negative_ttl_ms) if cache.rows else 0
