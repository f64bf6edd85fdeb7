"""Measures lookups in PostgreSQL and the flat serving table: `python bench/lookups.py`.

PostgreSQL runs on this machine; a proxy of one process adds 5 ms to each round trip.

- `asker`: the distinct keys of each batch, asked through the cache; no Spark.
- `join`: the same with Spark: events of a batch in, enriched events out, to nowhere.
- `serving`: the three-table join and the flat table that replaces it, 50 readers.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from examples.coffee_shop.comparison import Postgres, Shop, compare, told  # noqa: E402

from joinery.connect.lookup.asker import Asker  # noqa: E402
from joinery.connect.lookup.make import make_asker  # noqa: E402
from joinery.model.lookup import LookupProgress  # noqa: E402
from joinery.model.type import LONG, STRING, Field  # noqa: E402
from joinery.plan.nodes import Computed, Expression, JoinPair, Relation  # noqa: E402
from joinery.plan.stream import Cache, Limits, Lookup, StoreRead  # noqa: E402
from joinery.stack.postgres import postgres  # noqa: E402
from joinery.testing.delay import DelayProxy  # noqa: E402

BATCH = 200_000
ROUND_TRIP_S = 0.005
COLUMNS = (Field("id", LONG), Field("name", STRING), Field("tier", STRING))
FILL = (
    "CREATE TABLE customers (id bigint PRIMARY KEY, name text, tier text)",
    "INSERT INTO customers SELECT n, 'Customer ' || n,"
    " (ARRAY['guest', 'regular', 'gold'])[1 + n % 3] FROM generate_series(0, {keys} - 1) n",
    "ANALYZE customers",
)


def lookup_in(url: str) -> Lookup:
    """Return the lookup of a customer's name and tier."""
    customers = Relation("customers", "s", "customers", "json", ("id",), COLUMNS)
    fields = tuple(
        Computed(each.name, Expression(each.name, each.type, frozenset({each.name})))
        for each in COLUMNS[1:]
    )
    return Lookup(
        customers,
        (JoinPair("id", "customer_id", LONG),),
        fields,
        read="database",
        cache=Cache(rows=200_000, ttl_ms=600_000),
        limits=Limits(),
        store=StoreRead("postgres", (("url", url),)),
    )


def batches(events: int, keys: int) -> Iterator[list[int]]:
    """Yield the customer of each event, batch by batch."""
    drawn = random.Random(5)
    for start in range(0, events, BATCH):
        yield [drawn.randrange(keys) for _ in range(min(BATCH, events - start))]


@contextmanager
def opened(lookup: Lookup) -> Iterator[Asker]:
    """Open an asker for the length of a block."""
    asker = make_asker(lookup, ROOT, user="bench")
    asker.open()
    try:
        yield asker
    finally:
        asker.close()


def asked(url: str, events: int, keys: int) -> None:
    """Ask for all batches without Spark."""
    drawn = [[(key,) for key in batch] for batch in batches(events, keys)]
    with opened(lookup_in(url)) as asker:
        begun = time.perf_counter()
        for batch in drawn:
            answers = asker.ask(batch)
            assert len(answers) <= keys
        say("asker", events, time.perf_counter() - begun, asker.progress())


def joined(url: str, events: int, keys: int) -> None:
    """Enrich all batches in Spark, and count what comes out."""
    from joinery.spark.session import open_session
    from joinery.spark.stream_ask import FOUND, StoreLookup

    with tempfile.TemporaryDirectory() as folder, opened(lookup_in(url)) as asker:
        spark = open_session("bench", log=Path(folder, "spark.log"), master="local[2]")
        lookup = StoreLookup(lookup_in(url), asker)
        customer = f"cast(pmod(hash(id), {keys}) AS bigint) AS customer_id"
        frames = [
            spark.range(start, min(events, start + BATCH), numPartitions=2).selectExpr(
                "id AS order_id", customer
            )
            for start in range(0, events, BATCH)
        ]
        begun = time.perf_counter()
        found = 0
        for frame in frames:
            found += lookup.join(frame).where(FOUND).count()
        say("join", events, time.perf_counter() - begun, asker.progress())
        assert found == events, f"{found} of {events} events found their customer"
        spark.stop()


def say(part: str, events: int, seconds: float, done: LookupProgress) -> None:
    """Print one figure."""
    share = 100 * done.requests / events
    print(
        f"{part}: {events:,} events in {seconds:.2f} s, {events / seconds:,.0f} events/s;"
        f" {done.requests:,} requests ({share:.3f} % of events), {done.misses:,} keys asked",
        flush=True,
    )


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=("asker", "join", "serving"))
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--orders", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    parts = given.part or ["asker", "join", "serving"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with postgres(Path(folder, "postgres")).started() as service:
            if "serving" in parts:
                shop = Shop(orders=given.orders, customers=given.orders // 20, products=400)
                database = Postgres(service.address)
                for each in compare(database, shop, readers=50, seconds=given.seconds):
                    print(told(each), flush=True)
            _lookups(service.address, parts, given.events, given.keys)


def _lookups(address: str, parts: list[str], events: int, keys: int) -> None:
    import psycopg

    port = urlsplit(address).port
    assert port is not None
    with psycopg.connect(address, autocommit=True) as database:
        for statement in FILL:
            database.execute(statement.format(keys=keys))
    runs: dict[str, Callable[[str, int, int], None]] = {"asker": asked, "join": joined}
    for part in parts:
        if part in runs:
            with DelayProxy(port, round_trip_s=ROUND_TRIP_S) as proxy:
                runs[part](address.replace(f":{port}", f":{proxy.port}"), events, keys)


if __name__ == "__main__":
    main()
