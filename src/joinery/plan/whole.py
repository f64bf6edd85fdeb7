"""When a table of a store is read at once, its rows or its keys alone: rules of the plan.

A table of at most `limits.batch` rows costs its store no more, read whole, than one request
for keys. It answers for as long as any single answer might, a missing row included. A filter
of all keys stands for those that it lacks for as long as a missing row may. So nothing is older
than declared.
"""

from __future__ import annotations

from joinery.model.type import Atomic
from joinery.plan.step import Lookup
from joinery.project.quantity import duration_text

_PAYS_MS = 300_000


_KINDS = ("postgres", "sqlite")


_COMPARED = tuple(map(Atomic, ("byte", "short", "int", "long", "string")))


def why_not_whole(lookup: Lookup) -> str:
    """Return why a table is never read whole; empty where it is, as long as it is small."""
    return _why_by_keys(lookup) or ("" if whole_ms(lookup) else "its answers are not kept")


def why_no_filter(lookup: Lookup) -> str:
    """Return why there is never a filter of all keys; empty where most may lack a row."""
    if why := _why_by_keys(lookup):
        return why
    if lookup.cache.negative_ms < _PAYS_MS:
        return (
            f"it would have to be rebuilt every {duration_text(lookup.cache.negative_ms)},"
            f" and pays from {duration_text(_PAYS_MS)} (negative)"
        )
    return ""


def filter_ms(lookup: Lookup) -> int:
    """Return for how long a filter of all keys may tell of those that it lacks."""
    return lookup.cache.negative_ms


def _why_by_keys(lookup: Lookup) -> str:
    kind = lookup.store.kind if lookup.store else ""
    if kind not in _KINDS:
        return f"{kind or 'its store'} is queried by keys alone"
    for each in lookup.on:
        type = lookup.table.type_of(each.child)
        if type not in _COMPARED:
            return f'its store compares "{each.child}", which is {type}, in its own way'
    return ""


def whole_ms(lookup: Lookup) -> int:
    """Return for how long a table that was read whole may answer."""
    cache = lookup.cache
    return min(cache.ttl_ms, cache.negative_ms) if cache.size else 0
