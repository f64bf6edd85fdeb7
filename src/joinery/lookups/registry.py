"""The store that a lookup asks, by its kind, and the asker of a lookup as it is planned.

A package adds a kind by an entry point of the group `joinery.lookups` that names its
`LookupOptions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from joinery.expression.typed import Expression
from joinery.lookups.asker import Asker
from joinery.lookups.protocol import LookupStore, LookupTable
from joinery.model.progress import Waiting
from joinery.model.type import Field
from joinery.plan.relation import Relation
from joinery.plan.step import Lookup
from joinery.plan.whole import filter_ms, whole_ms, why_no_filter, why_not_whole
from joinery.project.kinds import LOOKUP_STORES
from joinery.project.option import Target


def make_store(
    kind: str, table: LookupTable, options: Mapping[str, object], folder: Path
) -> LookupStore:
    """Return the store `kind` of a table, not yet opened.

    Raises:
        SpecError: No such store is installed, or its options are not what it takes.
    """
    store: LookupStore = LOOKUP_STORES.make(kind, options, table, folder)
    return store


def table_of(lookup: Lookup) -> LookupTable:
    """Return what a lookup asks its store for: the key, and the columns that it reads.

    Columns that `fields`, derived columns and the table's own `where` read are asked for;
    they are computed from the answer.
    """
    table = lookup.table
    key = tuple(Field(each.child, table.type_of(each.child)) for each in lookup.on)
    wanted = _columns(table, [each.expression for each in lookup.fields])
    columns = tuple(each for each in table.columns if each.name in wanted)
    return LookupTable(table.name, key, columns)


def make_asker(
    lookup: Lookup,
    folder: Path,
    *,
    user: str,
    ended: Callable[[], bool] = lambda: False,
    tell: Callable[[Waiting | None], None] = lambda waiting: None,
) -> Asker:
    """Return the asker of a lookup that reads a database, not yet opened.

    Args:
        lookup: Names its store.
        folder: Where relative paths begin.
        user: The stream, for messages.
        ended: True once the run is to end.
        tell: Called with what is waited for, and None once that is over.

    Raises:
        SpecError: The store is not installed, or its options are not what it takes.
    """
    assert lookup.store is not None  # a plan's lookup that reads a database names its store
    store = make_store(lookup.store.kind, table_of(lookup), dict(lookup.store.options), folder)
    return Asker(
        store,
        lookup.cache,
        lookup.limits,
        user=user,
        ended=ended,
        tell=tell,
        whole_s=0.0 if why_not_whole(lookup) else whole_ms(lookup) / 1000,
        filter_s=0.0 if why_no_filter(lookup) else filter_ms(lookup) / 1000,
    )


def lookup_target(lookup: Lookup, folder: Path) -> Target | None:
    """Return which table a lookup asks for; None where it asks none, or that cannot be told."""
    store = lookup.store
    if lookup.read != "database" or store is None:
        return None
    return LOOKUP_STORES.target(store.kind, dict(store.options), lookup.table.name, folder)


def _columns(table: Relation, expressions: list[Expression]) -> set[str]:
    """Return the declared columns that expressions read, through derived ones too."""
    if table.where is not None:
        expressions = [*expressions, table.where]
    derived = {each.name: each.expression for each in table.derived}
    found: set[str] = set()
    waiting = [name for each in expressions for name in each.references]
    while waiting:
        name = waiting.pop()
        if name in derived:
            waiting += derived[name].references
        found.add(name)
    return found
