"""Measures store-backed solutions without Spark: UserProfile through `StoreDriver`, batch by batch.

    python -m bench.state.solutions --store sqlite
    python -m bench.state.solutions --store postgres                  # starts a server of its own
    python -m bench.state.solutions --store postgres --trigger        # rdbms-trigger
    python -m bench.state.solutions --store sqlite --after 200000 --changes 2000 --batch 1

The last one is what is commonly built: an event at a time. Changes are decoded before the clock
starts, and documents are not written to a sink: what is measured is the keeping of join state,
and making the documents' texts from it.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import os
import pstats
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import joinery as jn
from bench.harness.builds import BENCH
from bench.state import key_value
from joinery.dev.postgres import postgres
from joinery.model.change import Change
from joinery.plan.product import Product
from joinery.solutions.key_value.state import KeyValueJoinState, KeyValueReader
from joinery.solutions.relational.postgres import PostgresState, postgres_reader
from joinery.solutions.relational.sqlite import SqliteState, sqlite_reader
from joinery.solutions.stored.crew import Crew, crew_of, processors
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.reading import Task
from joinery.solutions.stored.state import Batch, JoinState
from joinery.solutions.stored.tactic import RowTactic, Tactic
from joinery.solutions.trigger.open import statements_of
from joinery.solutions.trigger.options import TriggerOptions
from joinery.solutions.trigger.postgres import PostgresTriggerState
from joinery.solutions.trigger.sqlite import SqliteTriggerState
from joinery.solutions.trigger.tactic import StatementTactic
from joinery.testing.github import RELATIONS, History
from joinery.testing.memory_state import MemoryState

SCHEMA = f"bench_{time.time_ns()}"
STORES = ("memory", "sqlite", "postgres", *key_value.STORES)
SERVER = {"max_wal_size": "8GB", "shared_buffers": "512MB"}
PROJECT = BENCH / "compare" / "profile.yaml"
KEYS = {
    "user": ("email",),
    "repo": ("owner", "name"),
    "pull_request": ("repo", "repo_owner", "index"),
    "star": ("username", "repo_name", "repo_owner"),
    "payment_info": ("id",),
}
TIMES = ("registered_at", "created_at", "updated_at")


def changes(history: History, count: int) -> Iterator[Change]:
    """Yield the next changes of a history, decoded."""
    for relation, _, before, after, number in history.lines(count):
        row = json.loads(after or before or "{}")
        name = RELATIONS[relation]
        key = {column: row[column] for column in KEYS[name]}
        for column in TIMES:
            if column in row:
                row[column] = datetime.fromisoformat(row[column])
        yield Change(name, key, row if after else None, number)


def product() -> Product:
    """Return the plan of UserProfile."""
    for name in ("BENCH_CHANGES", "BENCH_WORK"):
        os.environ.setdefault(name, "none")
    return jn.load(PROJECT).products["user_profile"].plan


class Store(NamedTuple):
    """Where join state is kept; `trigger` lets the database build documents."""

    name: str
    trigger: bool

    def tactic(self, plan: Product, max_bytes: int | None) -> Tactic:
        """Return how roots and documents are found."""
        if not self.trigger:
            return RowTactic(plan, max_bytes)
        options = TriggerOptions(database=f"{self.name}ql://", schema=SCHEMA)
        return StatementTactic(plan, max_bytes, statements_of(plan, plan.query, options))


@contextmanager
def opened(store: Store, plan: Product, folder: Path, url: str) -> Iterator[JoinState]:
    """Open a store with nothing in it."""
    in_sqlite = SqliteTriggerState if store.trigger else SqliteState
    in_postgres = PostgresTriggerState if store.trigger else PostgresState
    match store.name:
        case "memory":
            yield MemoryState([plan])
        case "sqlite":
            yield in_sqlite([plan], folder / "state.db")
        case "postgres" if url:
            yield in_postgres([plan], url, schema=SCHEMA)
        case "postgres":
            folder.chmod(0o755)
            with postgres(folder / "postgres", settings=SERVER).started() as server:
                yield in_postgres([plan], server.address, schema=SCHEMA)
        case other:
            with key_value.opened(other, plan, folder) as state:
                yield state


def crew_beside(state: JoinState, plan: Product, size: int) -> Crew | None:
    """Return the processes that make documents beside this one, where the store lets them."""
    match state:
        case SqliteTriggerState() | PostgresTriggerState():
            return None
        case SqliteState():
            reader = partial(sqlite_reader, [plan], state._path, plan.query)
        case PostgresState():
            names = {"schema": SCHEMA, "name": plan.query}
            reader = partial(postgres_reader, [plan], state._url, **names)
        case KeyValueJoinState() if hasattr(state._store, "reader"):
            reader = partial(KeyValueReader, [plan], state._store.reader())
        case _:
            return None
    return crew_of(Task([plan], reader), size)


def server_seconds(state: JoinState) -> float:
    """Return the processor time of the server's process for our connection so far."""
    if not isinstance(state, PostgresState):
        return 0.0
    process = state._link.info.backend_pid
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(driver: StoreDriver, feed: Iterator[Change], size: int, first: int) -> dict[str, Any]:
    """Apply all changes in batches and return what it took."""
    number, applied, sent, seconds, cpu = first, 0, 0, 0.0, 0.0
    while batch := list(islice(feed, size)):
        gc.collect()
        clock, processor = time.perf_counter(), time.process_time()
        outcome = driver.apply(batch, Batch("bench", number, 1, 1_000_000 * (number + 1)))
        took, busy = time.perf_counter() - clock, time.process_time() - processor
        number, applied = number + 1, applied + len(batch)
        documents = sum(len(each.documents) for each in outcome.emitted.values())
        seconds, cpu, sent = seconds + took, cpu + busy, sent + documents
        if size > 1000:
            say(f"  batch {number}: {len(batch) / took:,.0f} changes/s, {documents:,} documents")
    return {
        "changes": applied,
        "documents": sent,
        "seconds": round(seconds, 2),
        "processor_seconds": round(cpu, 2),  # of the process that writes
        "rate": round(applied / seconds) if applied else 0,
        "batches": number - first,
    }


def say(line: str) -> None:
    """Tell how it goes."""
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Run what was chosen and print it as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.state.solutions", description=__doc__)
    parser.add_argument("--store", choices=STORES, default="sqlite")
    parser.add_argument("--trigger", action="store_true", help="rdbms-trigger, not rdbms-store")
    parser.add_argument("--url", default="", help="of a PostgreSQL that runs")
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--after", type=int, default=0, help="changes before the clock starts")
    parser.add_argument("--batch", type=int, default=200_000)
    parser.add_argument("--processes", type=int, default=processors(), help="that make documents")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    chosen = parser.parse_args()
    store = Store(chosen.store, chosen.trigger)
    history, plan = History(chosen.changes + chosen.after), product()
    profile = cProfile.Profile() if chosen.profile else nullcontext()
    with (
        tempfile.TemporaryDirectory() as folder,
        opened(store, plan, Path(folder), chosen.url) as state,
    ):
        crew = crew_beside(state, plan, chosen.processes)
        driver = StoreDriver([plan], state, tactic=store.tactic, team=crew)
        before = run(driver, changes(history, chosen.after), 200_000, 0)["batches"]
        server, used = server_seconds(state), key_value.usage_of(state)
        with profile:
            told = run(driver, changes(history, chosen.changes), chosen.batch, before)
        told["server_processor_seconds"] = round(server_seconds(state) - server, 2)
        for name, value in key_value.usage_of(state).items():
            told[name] = round(value - used[name], 6)
        driver.close()
    used = {"batch": chosen.batch, "processes": crew.size if crew else 1}
    print(json.dumps({**store._asdict(), **used, **told}))
    if isinstance(profile, cProfile.Profile):
        pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(35)


if __name__ == "__main__":
    main()
