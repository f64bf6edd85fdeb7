"""Opens `kv`: the driver over the key-value store that the options name.

A package adds a store by an entry point of the group `joinery.stores` that names its
`StoreOptions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from joinery.errors import needs_extra
from joinery.plan.nodes import Product
from joinery.project.kinds import KEY_VALUE_STORES
from joinery.solutions.key_value.store import KeyValueStore, ScannableStore, SharedStore
from joinery.solutions.stored.crew import crew_of
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.reading import Task
from joinery.solutions.stored.state import StoreError, StoreSolution

if TYPE_CHECKING:
    from joinery.solutions.choose import SolutionPlace

_DEFAULT = "rocksdb"


def kv(
    products: Sequence[Product], options: Mapping[str, object], place: SolutionPlace
) -> StoreSolution:
    """Return the solution `kv`; without `store` it keeps a RocksDB in the checkpoint.

    Raises:
        SpecError: No such store is installed, or its options are not what it takes.
        StoreError: The store cannot be used.
    """
    with needs_extra("kv", 'solution "kv" needs the package orjson', StoreError):
        from joinery.solutions.key_value.state import (
            KeyValueJoinState,
            KeyValueReader,
            PortableKeyValueState,
        )
    given = {name: value for name, value in options.items() if name != "processes"}
    store = open_store(str(options.get("store") or _DEFAULT), given, place)
    try:
        kind = PortableKeyValueState if isinstance(store, ScannableStore) else KeyValueJoinState
        state = kind(products, store, place.owner)
    except BaseException:
        store.close()
        raise
    limit = place.max_document_bytes
    reading = None
    if isinstance(store, SharedStore):
        reading = Task(products, partial(KeyValueReader, products, store.reader()), limit)
    team = crew_of(reading, options.get("processes"))
    return StoreDriver(products, state, max_document_bytes=limit, team=team)


def open_store(kind: str, options: Mapping[str, object], place: SolutionPlace) -> KeyValueStore:
    """Return the store `kind`, opened.

    Raises:
        SpecError: No such store is installed, or its options are not what it takes.
        StoreError: The store cannot be used.
    """
    own = {name: value for name, value in options.items() if name != "store"}
    store: KeyValueStore = KEY_VALUE_STORES.make(kind, own, place)
    return store
