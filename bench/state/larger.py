"""Keeps join state that is larger than the memory it may use: `python -m bench.state.larger`.

Accounts of some 4 KB of text that does not compress, each with one owner: all are written, then
some at random are changed. Run it where memory is bounded, page cache and server included:

    systemd-run --scope -p MemoryMax=1000M python -m bench.state.larger --store kv-rocksdb
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import joinery as jn
from bench.state import solutions
from joinery.model.change import Change
from joinery.plan.product import Product
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.state import Batch

SEED = 7
STORES = ("kv-rocksdb", "sqlite", "postgres")


def product() -> Product:
    """Return the plan of accounts with their owners."""
    account = jn.relation(
        "account", key=["id"], fields={"id": "long", "owner": "long", "text": "string"}
    )
    owner = jn.relation("owner", key=["id"], fields={"id": "long", "name": "string"})
    document = jn.document("accounts", account).embed_one(
        "owner", owner, on={"id": "owner"}, fields=["name"]
    )
    return jn.Project("larger", products=[document]).products["accounts"].plan


def change(drawn: random.Random, number: int, position: int) -> Change:
    """Return an account as it stands from `position` on."""
    text = base64.b64encode(drawn.randbytes(3072)).decode()
    row = {"id": number, "owner": number % 1000, "text": text}
    return Change("account", {"id": number}, row, position)


def changes(accounts: int, updates: int) -> Iterator[Change]:
    """Yield all owners, all accounts in random order, then changes of random ones."""
    drawn = random.Random(SEED)
    for each in range(1000):
        yield Change("owner", {"id": each}, {"id": each, "name": f"owner {each}"}, each)
    for at, number in enumerate(drawn.sample(range(accounts), accounts)):
        yield change(drawn, number, 1000 + at)
    for at in range(updates):
        yield change(drawn, drawn.randrange(accounts), 1000 + accounts + at)


def taken(driver: StoreDriver, feed: Iterator[Change], size: int, first: int) -> dict[str, Any]:
    """Apply changes in batches; return their rate and what was sent."""
    number, count, documents, seconds = first, 0, 0, 0.0
    while batch := list(islice(feed, size)):
        begun = time.perf_counter()
        outcome = driver.apply(batch, Batch("bench", number, 1, 1_000_000 * (number + 1)))
        seconds += time.perf_counter() - begun
        documents += sum(len(each.documents) for each in outcome.emitted.values())
        number, count = number + 1, count + len(batch)
    return {"changes": count, "documents": documents, "rate": round(count / seconds)}


def main() -> None:
    """Load, change, and print what it took as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.state.larger", description=__doc__)
    parser.add_argument("--store", choices=STORES, default="kv-rocksdb")
    parser.add_argument("--accounts", type=int, default=300_000)
    parser.add_argument("--updates", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=2_000)
    chosen = parser.parse_args()
    plan = product()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with solutions.opened(solutions.Store(chosen.store, False), plan, place, "") as state:
            driver = StoreDriver([plan], state)
            feed = changes(chosen.accounts, chosen.updates)
            loaded = chosen.accounts + 1000
            load = taken(driver, islice(feed, loaded), chosen.batch, 0)
            update = taken(driver, feed, chosen.batch, loaded)
            state_bytes = sum(each.stat().st_size for each in place.rglob("*") if each.is_file())
            driver.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    told = {"store": chosen.store, "batch": chosen.batch, "load": load, "update": update}
    print(json.dumps({**told, "state_mb": state_bytes // 10**6, "process_peak_mb": peak // 10**6}))


if __name__ == "__main__":
    main()
