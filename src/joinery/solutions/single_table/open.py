"""Opens `dynamodb`: the driver over one table, whose slots a registry remembers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from joinery.errors import SpecError, needs_extra
from joinery.model.change import Change
from joinery.plan.nodes import Product
from joinery.solutions.price import Prices
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.state import Batch, BatchResult, StoreError, StoreSolution

if TYPE_CHECKING:
    from joinery.solutions.choose import SolutionPlace
    from joinery.solutions.key_value.dynamodb_table import DynamoTable

REGISTRY_FILE = "slots.db"
_log = logging.getLogger(__name__)


class DynamoSolution:
    """A driver whose batches also tell the requests they made, and what those cost."""

    def __init__(self, driver: StoreDriver, table: DynamoTable, product: str) -> None:
        self._driver = driver
        self._table = table
        self._product = product

    def apply(self, changes: Sequence[Change], batch: Batch) -> BatchResult:
        """Apply a batch, or tell again what it sent if it was acknowledged before."""
        before = self._table.usage.snapshot()
        outcome = self._driver.apply(changes, batch)
        used = self._table.usage.since(before)
        counted = {name: ceil(each) for name, each in used.items() if each}
        counters = dict(outcome.counters)
        counters[self._product] = {**counters.get(self._product, {}), **counted}
        return replace(outcome, counters=counters)

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted before a time."""
        self._driver.forget(before_us)

    def close(self) -> None:
        """Close the table, and log what was used."""
        usage = self._table.usage
        facts = {**usage.snapshot(), "dollars": round(usage.dollars(Prices()), 6)}
        _log.info("capacity of dynamodb used", extra=facts)
        self._driver.close()


def dynamodb(
    products: Sequence[Product], options: Mapping[str, object], place: SolutionPlace
) -> StoreSolution:
    """Return the solution `dynamodb`.

    Raises:
        SpecError: A relation needs too many slots, or an option is not what it takes.
        StoreError: The table or the registry cannot be used.
    """
    message = 'solution "dynamodb" needs packages that are not installed'
    with needs_extra("dynamodb", message, StoreError):
        from joinery.solutions.key_value.dynamodb import (
            THREADS,
            ensure_table,
            open_client,
            table_stands,
        )
        from joinery.solutions.key_value.dynamodb_table import DynamoTable
        from joinery.solutions.single_table.registry import give_slots, open_registry
        from joinery.solutions.single_table.state import (
            LAG_S,
            SingleTableState,
            check_owner,
            needs_of,
        )
    name = str(options.get("table") or f"joinery-{place.query}")
    client = open_client(str(options.get("endpoint") or ""), str(options.get("region") or ""))
    registry = open_registry(str(options.get("registry") or ""), name, place.folder / REGISTRY_FILE)
    needs = needs_of(products)
    table = DynamoTable(client, name, threads=THREADS)
    try:
        if table_stands(client, name):
            check_owner(products, table, place.query, place.owner)
        slots = give_slots(needs, registry, table, lambda slots: ensure_table(client, name, slots))
    except BaseException:
        table.close()
        raise
    state = SingleTableState(
        products,
        table,
        slots,
        query=place.query,
        shards=_whole(options, "shards", 1),
        lag_s=float(_whole(options, "index_lag", int(LAG_S), least=0)),
        owner=place.owner,
    )
    driver = StoreDriver(products, state, max_document_bytes=place.max_document_bytes)
    return DynamoSolution(driver, table, products[0].name)


def _whole(options: Mapping[str, object], name: str, default: int, *, least: int = 1) -> int:
    value = options.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise SpecError(
            f'option "{name}" of "dynamodb" is not a whole number from {least}', code="SPEC_VALUE"
        )
    return value
