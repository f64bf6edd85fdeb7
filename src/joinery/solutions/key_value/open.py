"""Opens `kv`: the driver over the key-value store that the options name.

A package adds a store by an entry point of the group `joinery.stores` that names a
`StoreFactory`. Invariant: a name means one factory; a package cannot replace a built-in one.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, cast

from joinery.errors import SpecError, needs_extra
from joinery.plan.nodes import Product
from joinery.project.grammar import KEY_VALUE_STORES
from joinery.project.read_solution import STORE_ENTRY_POINTS, store_names
from joinery.solutions.key_value.store import KeyValueStore, StoreFactory
from joinery.solutions.stored.crew import crew_of
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.reading import Task
from joinery.solutions.stored.state import StoreError, StoreSolution

if TYPE_CHECKING:
    from joinery.solutions.choose import SolutionPlace

_DEFAULT = "rocksdb"


class UnknownStoreError(SpecError):
    """No key-value store has this name here."""

    code = "SPEC_UNKNOWN_STORE"


def kv(
    products: Sequence[Product], options: Mapping[str, object], place: SolutionPlace
) -> StoreSolution:
    """Return the solution `kv`; without `store` it keeps a RocksDB in the checkpoint.

    Raises:
        SpecError: No such store is installed, or its options are not what it takes.
        StoreError: The store cannot be used.
    """
    with needs_extra("kv", 'solution "kv" needs the package orjson', StoreError):
        from joinery.solutions.key_value.state import KeyValueJoinState, KeyValueReader
    given = {name: value for name, value in options.items() if name != "processes"}
    store = open_store(str(options.get("store") or _DEFAULT), given, place)
    try:
        state = KeyValueJoinState(products, store, place.owner)
    except BaseException:
        store.close()
        raise
    limit = place.max_document_bytes
    open_ = getattr(store, "reader", None)
    reading = open_ and Task(products, partial(KeyValueReader, products, open_()), limit)
    team = crew_of(reading, options.get("processes"))
    return StoreDriver(products, state, max_document_bytes=limit, team=team)


def store_kinds() -> tuple[str, ...]:
    """Return the names of all key-value stores that are installed."""
    return tuple(sorted(store_names()))


def open_store(kind: str, options: Mapping[str, object], place: SolutionPlace) -> KeyValueStore:
    """Return the store `kind`, opened.

    Raises:
        SpecError: No such store is installed, or its options are not what it takes.
        StoreError: The store cannot be used.
    """
    return _factory(kind)(options, place)


def _factory(kind: str) -> StoreFactory:
    if kind in KEY_VALUE_STORES:
        module = import_module(f"joinery.solutions.key_value.{kind}")
        return cast(StoreFactory, getattr(module, f"{kind}_store"))
    if entry := _added().get(kind):
        return cast(StoreFactory, entry.load())
    known = store_kinds()
    near = difflib.get_close_matches(kind, known, n=1)
    raise UnknownStoreError(
        f'store "{kind}" is not installed',
        detail=f"Installed are {', '.join(known)}.",
        hint=f'Use "{near[0]}".' if near else "",
    )


def _added() -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=STORE_ENTRY_POINTS)}
