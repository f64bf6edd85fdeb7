"""What the coffee shop declares: two pipelines in one app.

Pipeline A keeps the tables `customers` and `products` current from their topics, in state
and in the database. Pipeline B enriches each order with its customer and its product, and
keeps the flat result in the table `enriched_orders`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import joinery as jn


def declare(
    *,
    source: str,
    database: str,
    folder: Path,
    read: Literal["state", "database"] = "state",
    checkpoint: str = "checkpoint",
    table: str = "enriched_orders",
) -> jn.App:
    """Return the app.

    Args:
        source: `kafka://host:9092`, or a folder.
        database: A URL of PostgreSQL, or a file of SQLite.
        folder: Where relative paths begin.
        read: Where the customer of an order is looked up: `state` or `database`.
        checkpoint: A new one reads the topics from their beginning.
        table: The serving table; a replay writes to another.
    """
    app = jn.App(
        "coffee_shop",
        source=source,
        database=database,
        format="json",
        folder=folder,
        run={"checkpoint": checkpoint, "dead_letters": {"files": {"path": "dead_letters"}}},
    )
    app.table(
        "customers",
        key="id",
        fields={
            "id": "long",
            "name": "string",
            "tier": "string",
            "revision": "int",
            "updated_at": "timestamp",
        },
        database=True,
    )
    app.table(
        "products",
        key="id",
        fields={"id": "long", "name": "string", "category": "string", "price": "decimal(8,2)"},
        database=True,
    )
    orders = app.stream(
        "orders",
        key="order_id",
        fields={
            "order_id": "long",
            "customer_id": "long",
            "product_id": "long",
            "quantity": "int",
            "ordered_at": "timestamp",
        },
    )
    (
        orders.lookup_join(
            "products",
            on={"id": "product_id"},
            fields={"product": "name", "category": "category", "price": "price"},
            on_change="re_emit",
            for_="7d",
        )
        .lookup_join(
            "customers",
            on={"id": "customer_id"},
            fields={"customer": "name", "tier": "tier", "customer_revision": "revision"},
            read=read,
            cache={"ttl": "60s", "negative": "1s"} if read == "database" else None,
        )
        .with_columns(total="quantity * price")
        .sink("database", name=table, correction="corrected")
    )
    return app
