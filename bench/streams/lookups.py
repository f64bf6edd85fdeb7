"""Measures lookups in PostgreSQL and the flat serving table: `python -m bench.streams.lookups`.

PostgreSQL runs on this machine; a proxy of one process adds 5 ms to each round trip.

- `asker`: the distinct keys of each batch, asked through the cache; no Spark.
- `stream`: the whole: events from files, enriched by `read="database"`, into files.
- `flink`: the same events by Flink SQL's lookup join, its cache on, to nowhere.
- `serving`: the three-table join and the flat table that replaces it, 50 readers.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from examples.coffee_shop.comparison import Postgres, Shop, compare, told

from bench.harness.builds import ROOT
from joinery.artifact import Artifact, fetch
from joinery.dev.postgres import postgres
from joinery.expression.typed import column_expression
from joinery.lookups.asker import Asker
from joinery.lookups.registry import make_asker
from joinery.model.batch import BatchProgress
from joinery.model.lookup import LookupProgress
from joinery.model.type import LONG, STRING, Field
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.plan.step import Lookup
from joinery.project.step import Cache, Limits, StoreRead
from joinery.testing.delay import DelayProxy

PEER = ROOT / "bench/peers/flink_lookup.py"
PARTS = ("serving", "asker", "stream", "flink")
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
        Computed(each.name, column_expression(each.name, each.type)) for each in COLUMNS[1:]
    )
    return Lookup(
        customers,
        (JoinPair("id", "customer_id", LONG),),
        fields,
        read="database",
        cache=Cache(size=200_000, ttl_ms=600_000),
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


def streamed(url: str, events: int, keys: int) -> None:
    """Enrich all events by a stream, files in and files out; Spark's start counts."""
    import joinery as jn

    with tempfile.TemporaryDirectory() as folder:
        write_events(Path(folder, "data", "orders"), events, keys)
        app = jn.App("bench", source="data", format="json", folder=folder)
        app.table("customers", key="id", fields={"id": "long", "name": "string", "tier": "string"})
        orders = app.stream(
            "orders", key="order_id", fields={"order_id": "long", "customer_id": "long"}
        )
        orders.lookup_join(
            "customers",
            on={"id": "customer_id"},
            fields=["name", "tier"],
            read="database",
            store={"postgres": {"url": url}},
            cache={"size": 200_000, "ttl": "10m"},
        ).sink(files={"path": "out"}, name="enriched")
        begun = time.perf_counter()
        batches: list[BatchProgress] = []
        run = app.run(once=True, on_batch=batches.append)
        run.await_termination()
        spent = time.perf_counter() - begun
        written = sum(
            file.read_bytes().count(b'"name":"Customer ')
            for file in Path(folder, "out", "enriched").glob("*.jsonl")
        )
        assert written == events, f"{written} of {events} events found their customer"
        (done,) = run.progress.lookups.values()
        say("stream", events, spent, done)
        for each in batches:
            print(f"  batch {each.batch_id}: {each.seconds:.1f} s {each.durations_ms}", flush=True)


def write_events(place: Path, events: int, keys: int) -> None:
    """Write events as change files, 100,000 each."""
    place.mkdir(parents=True)
    drawn = random.Random(5)
    for start in range(0, events, 100_000):
        lines = (
            f'{{"order_id": {each}, "customer_id": {drawn.randrange(keys)}}}\n'
            for each in range(start, min(events, start + 100_000))
        )
        (place / f"{start:09d}.jsonl").write_text("".join(lines), encoding="ascii")


def peer(url: str, events: int, keys: int) -> None:
    """Let Flink do the same; its start counts, too."""
    jars = fetch(
        "flink-jdbc",
        Artifact("org.apache.flink", "flink-connector-jdbc-core", "4.0.0-2.0"),
        Artifact("org.apache.flink", "flink-connector-jdbc-postgres", "4.0.0-2.0"),
        Artifact("org.postgresql", "postgresql", "42.7.14"),
    )
    parts = urlsplit(url)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "orders")
        write_events(place, events, keys)
        command = [str(ROOT / "bench/.envs/flink/bin/python"), str(PEER)]
        command += ["--input", str(place), "--user", str(parts.username), "--jars"]
        command += [*map(str, jars), "--url"]
        command += [f"jdbc:postgresql://{parts.hostname}:{parts.port}{parts.path}"]
        begun = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - begun
    say("flink", events, seconds, None)


def say(part: str, events: int, seconds: float, done: LookupProgress | None) -> None:
    """Print one figure."""
    asked = ""
    if done is not None:
        share = 100 * done.requests / events
        asked = f"; {done.requests:,} requests ({share:.3f} % of events), {done.misses:,} keys"
    rate = events / seconds
    print(f"{part}: {events:,} events in {seconds:.2f} s, {rate:,.0f} events/s{asked}", flush=True)


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.streams.lookups", description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--orders", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    parts = given.part or list(PARTS)
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
    runs: dict[str, Callable[[str, int, int], None]] = {
        "asker": asked,
        "stream": streamed,
        "flink": peer,
    }
    for part in parts:
        if part in runs:
            with DelayProxy(port, round_trip_s=ROUND_TRIP_S) as proxy:
                runs[part](address.replace(f":{port}", f":{proxy.port}"), events, keys)


if __name__ == "__main__":
    main()
