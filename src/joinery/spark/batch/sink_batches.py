"""Makes the batches that the sinks of a query are given."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from joinery.delivery.lease import Lease
from joinery.plan.product import Product
from joinery.sinks.protocol import StagedBatch


class SinkBatches:
    """Makes batches; what all of a product have in common is worked out once.

    Args:
        query: The query's name.
        products: Its products.
        lease: Of the query, whose epoch batches bear.
        retention_ms: How long sinks remember a delete.
    """

    def __init__(
        self, query: str, products: Sequence[Product], *, lease: Lease, retention_ms: int
    ) -> None:
        self._lease = lease
        self.retention_us = retention_ms * 1000
        self._empty = {
            each.name: StagedBatch(
                product=each.name,
                query=query,
                query_id="",
                batch_id=-1,
                files=(),
                key=each.key,
                value=each.output,
                nullable_key=each.nullable_key,
                check=lease.check,
            )
            for each in products
        }

    def of(
        self, product: str, *, query_id: str, batch_id: int, files: tuple[Path, ...] = ()
    ) -> StagedBatch:
        """Return a batch of a product, as of now.

        Args:
            product: Its name.
            query_id: The identity of the checkpoint.
            batch_id: The batch's number.
            files: What was staged of the product.
        """
        return replace(
            self._empty[product],
            query_id=query_id,
            batch_id=batch_id,
            files=files,
            epoch=self._lease.epoch,
            forget_before=round(time.time() * 1_000_000) - self.retention_us,
        )
