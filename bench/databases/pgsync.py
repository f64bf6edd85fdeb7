"""Joinery beside PGSync, PostgreSQL to OpenSearch: `python -m bench.databases.pgsync`.

The tables and documents are those of PGSync's example `book` (`books.py`). Each side in turn gets
a copy of the same database and an index of its own, alone on the machine but for PostgreSQL,
OpenSearch and Redis, and is timed by the same looks at its index:

- `first`: from the start of its commands until as many documents are found as there are books.
- `titles`: one table is written, a thousand rows a transaction, until the documents are equal to
  what SQL tells. `mixed`: rows of four kinds in random order, ten a transaction.
- `lag`: from the return of a commit until the document shows it, read by its id, one look each
  20 ms, beside a load of commits at random moments; the first seconds do not count (`--warm`).

After each part all documents that it altered, and at the end all there are, are compared.
Processor seconds are those of the side with the three servers.

PGSync needs the decoder `test_decoding`, which the wheel's PostgreSQL lacks: `--postgres` names
the programs of another, such as Debian's (package `postgresql`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from bench.databases.books import Changes, Document, Link, documents, fill, plain
from bench.databases.chain import Probes
from bench.databases.pgsync_sides import SIDES, Joinery, Place, Process, Side
from bench.harness.builds import BENCH
from bench.kafka.latency import percentiles, wait
from joinery.dev.http import ask
from joinery.dev.opensearch import opensearch
from joinery.dev.postgres import postgres
from joinery.dev.redis import redis
from joinery.dev.service import Service

DEBIAN = Path("/usr/lib/postgresql")
PAGE = 250
LOOK_S = 0.2
STALLED_S = 60.0
PROBES = 500
_TEMPLATE = "books"


class Index:
    """The documents as OpenSearch shows them.

    Args:
        home: The URL of the index.
    """

    def __init__(self, home: str) -> None:
        self._home = home

    def count(self) -> int:
        """Return how many documents a search finds; 0 before there is an index."""
        try:
            told: Any = ask(f"{self._home}/_count")
        except OSError:
            return 0
        return int(told["count"])

    def read(self, ids: list[str]) -> dict[str, Document]:
        """Return some documents as they are, by id."""
        told: Any = ask(f"{self._home}/_mget", method="POST", body={"ids": ids}, within_s=60)
        return {each["_id"]: each["_source"] for each in told["docs"] if each.get("found")}

    def titles(self, ids: list[str]) -> dict[str, str]:
        """Return the titles of some documents, by id."""
        return {id: each["book_title"] for id, each in self.read(ids).items()}


@dataclass(slots=True)
class Waiting:
    """Waits until documents are equal to what SQL tells; the last that is expected first.

    Attributes:
        index: Where they are.
        expected: By id.
        differing: Those that never were, once waited for.
    """

    index: Index
    expected: Mapping[str, Document]
    differing: list[str] = field(default_factory=list)

    def run(self) -> float:
        """Return when the last became equal; give up once none did for a while."""
        left, moved_at = list(self.expected), time.monotonic()
        equal_at = moved_at
        while left:
            page, looked_at = left[-PAGE:], time.monotonic()
            unequal = self._unequal(page)
            left[-PAGE:] = unequal
            if len(unequal) < len(page):
                moved_at = looked_at
            if unequal and looked_at - moved_at > STALLED_S:
                self.differing = [each for each in left if self._unequal([each])]
                return moved_at
            if unequal:
                time.sleep(LOOK_S)
                equal_at = time.monotonic()
        return equal_at

    def _unequal(self, ids: list[str]) -> list[str]:
        found = self.index.read(ids)
        return [id for id in ids if id not in found or plain(found[id]) != self.expected[id]]


@dataclass(frozen=True, slots=True)
class Turn:
    """One side at work."""

    place: Place
    link: Link
    run: Process
    chosen: argparse.Namespace

    def processor_s(self) -> float:
        """Return the processor seconds so far, the servers' among them."""
        return self.place.processor_s(self.run.pid)

    @property
    def index(self) -> Index:
        """Its index."""
        return Index(f"{self.place.opensearch}/{self.place.index}")

    def rate(self, write: Callable[[Changes], None], changes: int) -> dict[str, Any]:
        """Write changes, wait for all documents, and return how many a second that was."""
        made = Changes(self.link, self.chosen.books)
        began_at, before = time.monotonic(), self.processor_s()
        write(made)
        written_at = time.monotonic()
        waiting = Waiting(self.index, made.altered())
        took = waiting.run() - began_at
        return {
            "changes": changes,
            "documents": len(waiting.expected),
            "written_s": round(written_at - began_at, 2),
            "took_s": round(took, 2),
            "changes_a_second": round(changes / took, 1),
            "documents_a_second": round(len(waiting.expected) / took, 1),
            "processor_s": round(self.processor_s() - before, 1),
            "differing": len(waiting.differing),
        }

    def lag(self, load: float) -> dict[str, Any]:
        """Time commits beside a load, given in commits per second."""
        ended, probes = threading.Event(), Probes(self.index.titles)
        looking = threading.Thread(target=probes.run, args=(ended,))
        loading = threading.Thread(target=self._load, args=(load, ended))
        looking.start()
        loading.start()
        try:
            self._probe(probes, self.chosen.warm)
            wait(lambda: not probes.waiting, self.run, self.place.log)
            probes.took.clear()
            sent = self._probe(probes, self.chosen.seconds)
        finally:
            ended.set()
            loading.join()
            looking.join()
        return {
            "load_a_second": load,
            "probes": sent,
            "lost": probes.waiting,
            "ms": percentiles(probes.took) if probes.took else None,
        }

    def _probe(self, probes: Probes, seconds: float) -> int:
        """Commit titles for so long; return how many."""
        drawn, count, began_at = random.Random(1), 0, time.monotonic()
        made = Changes(self.link, self.chosen.books)
        while time.monotonic() - began_at < seconds:
            book, title = count % PROBES + 1, f"probe {count} of {began_at}"
            made.title(book, title)
            probes.expect(str(book), title)
            count += 1
            time.sleep(drawn.uniform(0, 2 / self.chosen.probes))
        return count

    def _load(self, load: float, ended: threading.Event) -> None:
        drawn = random.Random(2)
        with closing(psycopg.connect(_url(self.place), autocommit=True)) as link:
            made = Changes(link, self.chosen.books)
            while load and not ended.wait(drawn.expovariate(load)):
                made.rate(drawn.randrange(PROBES + 1, self.chosen.books), drawn.randrange(50))

    def all_differing(self) -> int:
        """Return how many documents of all differ from what SQL tells."""
        waiting = Waiting(self.index, documents(self.link))
        waiting.run()
        return len(waiting.differing)


def _url(place: Place) -> str:
    return f"{place.server}/{place.database}"


def measure(side: Side, place: Place, chosen: argparse.Namespace) -> dict[str, Any]:
    """Let a side fill its index and follow changes, and return what was measured."""
    with closing(psycopg.connect(_url(place), autocommit=True)) as link:
        began_at, before = time.monotonic(), place.processor_s()
        with side.running(place) as run:
            turn = Turn(place, link, run, chosen)
            wait(lambda: turn.index.count() >= chosen.books, run, place.log)
            first = time.monotonic() - began_at
            wait(lambda: side.follows(place), run, place.log)
            told: dict[str, Any] = {"side": side.version(), "first_s": round(first, 1)}
            told["first_documents_a_second"] = round(chosen.books / first)
            told["first_processor_s"] = round(turn.processor_s() - before, 1)
            told["first_differing"] = turn.all_differing()
            say({side.name: told})
            for part in chosen.parts:
                told[part] = _part(part, turn)
                say({side.name: {part: told[part]}})
            told["differing"] = turn.all_differing()
        told["load_average"] = os.getloadavg()[0]
    return told


def _part(part: str, turn: Turn) -> Any:
    chosen = turn.chosen
    if part == "titles":
        write = partial(Changes.titles, changes=chosen.titles, a_commit=1000)
        return turn.rate(write, chosen.titles)
    if part == "mixed":
        write = partial(Changes.mixed, changes=chosen.mixed, a_commit=10)
        return turn.rate(write, chosen.mixed)
    return [turn.lag(each) for each in chosen.load]


def say(told: Mapping[str, Any]) -> None:
    """Print a line of JSON."""
    print(json.dumps(told), flush=True)


@dataclass(frozen=True, slots=True)
class World:
    """The servers that all sides use in turn."""

    postgres: Service
    opensearch: Service
    redis: Service
    work: Path

    def make(self, books: int) -> int:
        """Make the database that each side gets a copy of; return how many rows it has."""
        self._order(f"create database {_TEMPLATE}")
        with closing(psycopg.connect(f"{self._server}/{_TEMPLATE}", autocommit=True)) as link:
            return fill(link, books)

    @contextmanager
    def place(self, name: str) -> Iterator[Place]:
        """Give a side its place, and remove that afterwards."""
        name = name.replace("-", "_")
        folder = self.work / name
        folder.mkdir()
        self._order(f"create database {name} template {_TEMPLATE}")
        self._order("checkpoint")
        slots = partial(self._slots, name)
        try:
            yield Place(
                server=self._server,
                database=name,
                opensearch=self.opensearch.address,
                index=name,
                redis=self.redis.address,
                folder=folder,
                slots=lambda: len(slots()),
                servers=self._servers,
            )
        finally:
            for each in slots():
                self._order(f"select pg_drop_replication_slot('{each}')")
            self._order(f"drop database {name} with (force)")
            ask(f"{self.opensearch.address}/{name}", method="DELETE")

    @property
    def _server(self) -> str:
        return self.postgres.address.rpartition("/")[0]

    @property
    def _servers(self) -> tuple[int, ...]:
        pids = (each.pid for each in (self.postgres, self.opensearch, self.redis))
        return tuple(each for each in pids if each is not None)

    def _order(self, statement: str) -> None:
        with closing(psycopg.connect(self.postgres.address, autocommit=True)) as link:
            link.execute(statement.encode())

    def _slots(self, database: str) -> list[str]:
        with closing(psycopg.connect(self.postgres.address, autocommit=True)) as link:
            slots = "select slot_name from pg_replication_slots where database = %s"
            return [name for (name,) in link.execute(slots, (database,)).fetchall()]


def decoding() -> Path | None:
    """Return the newest programs of Debian's whose server has the decoder, where there are any."""
    found = [each.parent.parent for each in DEBIAN.glob("*/lib/test_decoding.so")]
    return max(found, key=lambda each: int(each.name)) / "bin" if found else None


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.databases.pgsync", description=__doc__)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parts = ("titles", "mixed", "lag")
    parser.add_argument("--parts", nargs="*", choices=parts, default=parts)
    parser.add_argument("--books", type=int, default=100_000)
    parser.add_argument("--titles", type=int, default=50_000, help="changes of one table")
    parser.add_argument("--mixed", type=int, default=5_000, help="changes of four kinds")
    parser.add_argument("--load", type=float, nargs="*", default=[5.0, 50.0], help="a second")
    parser.add_argument("--probes", type=float, default=5.0, help="timed commits a second")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each load")
    parser.add_argument("--warm", type=float, default=15.0, help="seconds before a load counts")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--postgres", type=Path, default=decoding(), help="programs of a server")
    parser.add_argument("--set", action="append", default=[], help="of Joinery: dotted.key=value")
    parser.add_argument("--setting", action="append", default=[], help="of PGSync: NAME=value")
    chosen = parser.parse_args()
    if chosen.postgres is None:
        parser.error(f"no server below {DEBIAN} has test_decoding: install one, or --postgres BIN")
    return chosen


def main() -> int:
    """Measure the sides in turn, and print a line of JSON for each."""
    chosen = options()
    work = BENCH / ".runs" / "pgsync"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    given = dict(each.split("=", 1) for each in chosen.setting)
    made = [SIDES[name] for name in chosen.sides]
    sides: list[Side] = [
        each(tuple(chosen.set)) if issubclass(each, Joinery) else each(given) for each in made
    ]
    for each in sides:
        each.install()
    with (
        postgres(work / "postgres", home=chosen.postgres).started() as database,
        opensearch(work / "opensearch").started() as search,
        redis(work / "redis").started() as queue,
    ):
        world = World(database, search, queue, work)
        say({"books": chosen.books, "rows": world.make(chosen.books)})
        for number in range(chosen.rounds):
            for each in sides:
                with world.place(f"{each.name}_{number}") as place:
                    say({each.name: measure(each, place, chosen)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
