"""What `kv` takes: a key-value store, which a package can add, and that store's own options."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from joinery.errors import needs_extra
from joinery.project.kinds import KEY_VALUE_STORES
from joinery.project.option import Chosen, count, kind, options

if TYPE_CHECKING:
    from joinery.plan.product import Product
    from joinery.solutions.choose import SolutionPlace
    from joinery.solutions.key_value.store import KeyValueStore
    from joinery.solutions.stored.state import StoreSolution


@options
class KvOptions:
    """`{kv: {store: rocksdb, path: state}}`; by default a RocksDB in the checkpoint."""

    store: Chosen = kind(
        "The store: rocksdb, redis, dynamodb, memory, or one from a package.",
        KEY_VALUE_STORES,
        default="rocksdb",
    )
    processes: int | None = count(
        "Processes that assemble documents; by default one per processor, up to 4.", default=None
    )

    @property
    def server(self) -> str | None:
        """The kind of server that is paid for by the hour, as prices name it."""
        return "cache" if self.store.name == "redis" else None

    def make(self, products: Sequence[Product], place: SolutionPlace) -> StoreSolution:
        """Return the solution of a query, its store opened.

        Raises:
            SpecError: No such store is installed, or its options are not what it takes.
            StoreError: The store cannot be used.
        """
        from joinery.solutions.stored.state import StoreError

        with needs_extra("kv", 'solution "kv" needs the package orjson', StoreError):
            from joinery.solutions.key_value.state import (
                KeyValueJoinState,
                KeyValueReader,
                PortableKeyValueState,
            )
        from joinery.solutions.key_value.store import ScannableStore, SharedStore
        from joinery.solutions.stored.crew import crew_of
        from joinery.solutions.stored.driver import StoreDriver
        from joinery.solutions.stored.reading import Task

        store: KeyValueStore = self.store.make(place)
        try:
            state_of = (
                PortableKeyValueState if isinstance(store, ScannableStore) else KeyValueJoinState
            )
            state = state_of(products, store, place.owner)
        except BaseException:
            store.close()
            raise
        limit = place.max_document_bytes
        reading = None
        if isinstance(store, SharedStore):
            reading = Task(products, partial(KeyValueReader, products, store.reader()), limit)
        team = crew_of(reading, self.processes)
        return StoreDriver(products, state, max_document_bytes=limit, team=team)
