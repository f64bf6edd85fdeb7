"""Join state in key-value stores and DynamoDB, on servers started here, for solutions.py."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from joinery.dev.dynamodb import dynamodb
from joinery.dev.redis import redis
from joinery.plan.product import Product
from joinery.solutions.key_value.dynamodb import THREADS, ensure_table, open_client
from joinery.solutions.key_value.dynamodb_table import DynamoTable
from joinery.solutions.key_value.memory import MemoryStore
from joinery.solutions.key_value.redis import RedisStore
from joinery.solutions.key_value.rocksdb import RocksDbStore
from joinery.solutions.key_value.state import KeyValueJoinState
from joinery.solutions.price import Prices
from joinery.solutions.single_table.registry import SqliteRegistry, give_slots
from joinery.solutions.single_table.state import SingleTableState, needs_of
from joinery.solutions.stored.state import JoinState

STORES = ("kv-memory", "kv-rocksdb", "kv-redis", "dynamodb")


@contextmanager
def opened(store: str, plan: Product, folder: Path) -> Iterator[JoinState]:
    """Open a store of `STORES` with nothing in it."""
    match store:
        case "kv-memory":
            yield KeyValueJoinState([plan], MemoryStore())
        case "kv-rocksdb":
            yield KeyValueJoinState([plan], RocksDbStore(folder / "rocksdb"))
        case "kv-redis":
            with redis(folder / "redis").started() as server:
                yield KeyValueJoinState([plan], RedisStore(server.address, "bench"))
        case "dynamodb":
            with dynamodb(folder / "dynamodb").started() as server:
                yield in_dynamodb(plan, server.address, folder)


def in_dynamodb(plan: Product, endpoint: str, folder: Path) -> SingleTableState:
    """Return the state in a new table of DynamoDB Local."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        os.environ.setdefault(name, "local")
    client = open_client(endpoint, "us-east-1")
    table = DynamoTable(client, "bench", threads=THREADS)
    slots = give_slots(
        needs_of([plan]),
        SqliteRegistry(folder / "slots.db", "bench"),
        table,
        lambda slots: ensure_table(client, "bench", slots),
    )
    return SingleTableState([plan], table, slots, query="bench", lag_s=0)


def usage_of(state: JoinState) -> dict[str, float]:
    """Return the requests that were made so far, and what they cost in dollars."""
    if not isinstance(state, SingleTableState):
        return {}
    usage = state._table.usage
    return {**usage.snapshot(), "dollars": usage.dollars(Prices())}
