"""What `dynamodb` takes: one table, and the registry that remembers what its slots mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from joinery.errors import needs_extra
from joinery.project.option import count, options, text

if TYPE_CHECKING:
    from joinery.plan.product import Product
    from joinery.solutions.choose import SolutionPlace
    from joinery.solutions.stored.state import StoreSolution

_REGISTRY_FILE = "slots.db"


@options
class DynamoOptions:
    """`{dynamodb: {table: documents, region: eu-central-1}}`."""

    table: str = text("The table; by default `joinery-<query>`.", default="")
    endpoint: str = text("The address of DynamoDB; by default the region's own.", default="")
    region: str = text("The region; by default that of the environment.", default="")
    registry: str = text(
        "The database of the slot registry; by default an SQLite file next to the checkpoint.",
        default="",
        secret=True,
    )
    shards: int = count("Number of partition keys that each relation is spread over.", default=1)
    index_lag: int = count("Seconds that an index may lag behind.", minimum=0, default=5)

    def make(self, products: Sequence[Product], place: SolutionPlace) -> StoreSolution:
        """Return the solution of a query, its table and registry ready.

        Raises:
            SpecError: A relation needs too many slots.
            StoreError: The table or the registry cannot be used.
        """
        from joinery.solutions.stored.state import StoreError

        message = 'solution "dynamodb" needs packages that are not installed'
        with needs_extra("dynamodb", message, StoreError):
            from joinery.solutions.key_value.dynamodb import (
                THREADS,
                ensure_table,
                open_client,
                table_exists,
            )
            from joinery.solutions.key_value.dynamodb_table import DynamoTable
            from joinery.solutions.single_table.state import (
                DynamoSolution,
                SingleTableState,
                check_owner,
                needs_of,
            )
        from joinery.solutions.single_table.registry import give_slots, open_registry
        from joinery.solutions.stored.driver import StoreDriver

        name = self.table or f"joinery-{place.query}"
        client = open_client(self.endpoint, self.region)
        file = place.folder / _REGISTRY_FILE
        registry = open_registry(self.registry, name, file, place.project)
        needs = needs_of(products)
        table = DynamoTable(client, name, threads=THREADS)
        try:
            if table_exists(client, name):
                check_owner(products, table, place.query, place.owner)
            slots = give_slots(needs, registry, table, lambda new: ensure_table(client, name, new))
        except BaseException:
            table.close()
            raise
        state = SingleTableState(
            products,
            table,
            slots,
            query=place.query,
            shards=self.shards,
            lag_s=float(self.index_lag),
            owner=place.owner,
        )
        driver = StoreDriver(products, state, max_document_bytes=place.max_document_bytes)
        return DynamoSolution(driver, table, products[0].name)
