"""Stored queries beside OpenSearch's percolator: the rows `search-…` of `make bench`.

Both sides hold the same queries and take the same listings, on the same two cores. Joinery runs on
and is given files: the queries, then listings, then 1,000 more queries at a time. OpenSearch is
asked by as many clients as there are cores, with several listings a request; the best number of
them is found first. In the first round the matches of some listings are compared with a plain
computation.
"""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.compare.contenders import (
    TIMEOUT_S,
    Contender,
    ContenderError,
    Joinery,
    Percolator,
    batches_of,
)
from bench.compare.search_rows import Query, Row, listing, notice, query, text_query
from bench.harness import figures

BATCH, ADDED, ROUNDS = 100_000, 1_000, 5
STANDING = 200_000
COMPARED = 200
SIZES = (1, 10, 100, 500)
CLIENTS = 2
MOST_HITS = 10_000
PROJECT = """\
name: searches
sources: {{changes: {{files: {{path: "{data}"}}}}}}
defaults: {{source: changes, format: json}}
relations:
  listing: {{key: [id], fields: {{{fields}}}}}
  saved: {{key: [id], fields: {{id: long, condition: string}}}}
products:
  hits: {{search: listing, queries: saved, query: condition, language: {language},
    sink: {{files: {{path: "{out}"}}}}}}
run: {{checkpoint: "{out}/checkpoint", max_rows_per_batch: {batch}}}
"""
Told = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Searched:
    """What is searched, and by which queries.

    Attributes:
        document: Makes the row of an id, and `query` the query.
        fields: The columns of a row, as a project has them, and `mappings` as OpenSearch has.
    """

    document: Callable[[int], Row]
    query: Callable[[int], Query]
    language: str
    fields: str
    mappings: Row


CONDITIONS = Searched(
    listing,
    query,
    "sql",
    "id: long, city: string, kind: string, price: int, rooms: int, area: double",
    {
        "city": {"type": "keyword"},
        "kind": {"type": "keyword"},
        "price": {"type": "integer"},
        "rooms": {"type": "integer"},
        "area": {"type": "double"},
    },
)
TEXTS = Searched(
    notice,
    text_query,
    "lucene",
    "id: long, title: string, body: string, price: int",
    {"title": {"type": "text"}, "body": {"type": "text"}, "price": {"type": "integer"}},
)


def run(
    side: Contender, searched: Searched, queries: int, *, documents: int, work: Path, compare: bool
) -> Told:
    """Let a side match documents with stored queries; return its figures.

    Raises:
        ContenderError: It did not come to its end, or its matches are wrong.
    """
    match side:
        case Joinery():
            told, found = _joinery(side, searched, queries, documents, work)
        case Percolator():
            told, found = _percolator(searched, queries, work)
        case _:
            raise ContenderError(f"{side.name} has no stored queries")
    if compare and (wanted := expected(searched, queries)) != found:
        both = len(wanted & found)
        raise ContenderError(
            f"{len(found)} matches, {len(wanted)} are right, {both} of them are in"
        )
    return told


def expected(searched: Searched, queries: int) -> set[tuple[int, int]]:
    """Return the matches of the first documents with the queries that are there first, plainly."""
    made = [searched.query(id) for id in range(queries)]
    rows = [searched.document(id) for id in range(COMPARED)]
    return {(id, row["id"]) for id, each in enumerate(made) for row in rows if each.holds(row)}


# Joinery


@dataclass(slots=True)
class Running:
    """A run that goes on, and the folder that it reads."""

    process: subprocess.Popen[bytes]
    data: Path
    log: Path
    rows: int = 0
    files: int = field(default=0)

    def give(self, relation: str, rows: Iterator[Row]) -> list[Row]:
        """Write a file and wait until it was read; return the batches that took."""
        before = len(self.batches())
        folder = self.data / relation
        folder.mkdir(parents=True, exist_ok=True)
        self.files += 1
        aside = folder / f".{self.files:04d}.part"
        with aside.open("w", encoding="utf-8") as out:
            for row in rows:
                out.write(json.dumps(row) + "\n")
                self.rows += 1
        aside.rename(folder / f"{self.files:04d}.jsonl")
        end = time.monotonic() + TIMEOUT_S
        while sum(each["rows"] for each in self.batches()) < self.rows:
            if self.process.poll() is not None or time.monotonic() > end:
                raise ContenderError(self.log.with_suffix(".err").read_text()[-2000:])
            time.sleep(0.1)
        return [each for each in self.batches()[before:] if each["rows"]]

    def batches(self) -> list[Row]:
        """Return the batches so far."""
        return batches_of(self.log)


@contextmanager
def _started(side: Joinery, searched: Searched, work: Path) -> Iterator[Running]:
    project, data, log = work / "joinery.yaml", work / "data", work / "joinery.log"
    text = PROJECT.format(
        data=data, out=work, batch=BATCH, fields=searched.fields, language=searched.language
    )
    project.write_text(text, encoding="utf-8")
    for relation in ("listing", "saved"):
        (data / relation).mkdir(parents=True)
    command = [str(side.build.joinery), "run", str(project), "--master", f"local[{CLIENTS}]"]
    with log.open("wb") as out, log.with_suffix(".err").open("wb") as err:
        process = subprocess.Popen([*command, *side.options()], stdout=out, stderr=err, cwd=work)
        try:
            yield Running(process, data, log)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def _joinery(
    side: Joinery, searched: Searched, queries: int, documents: int, work: Path
) -> tuple[Told, set[tuple[int, int]]]:
    with _started(side, searched, work) as running:
        loaded = running.give("saved", _saved(searched, range(queries)))
        running.give("listing", map(searched.document, range(STANDING)))
        found = {each for each in _hits(work / "hits") if each[1] < COMPARED}
        added = [
            sum(
                each["seconds"]
                for each in running.give("saved", _saved(searched, range(at, at + ADDED)))
            )
            for at in range(queries, queries + ROUNDS * ADDED, ADDED)
        ]
        before = sum(1 for _ in _lines(work / "hits"))
        taken = running.give(
            "listing", map(searched.document, range(STANDING, STANDING + documents))
        )
    seconds = sum(each["seconds"] for each in loaded)
    told = {
        "rate": round(figures.steady_rate(taken) or 0),
        "matches": round((sum(1 for _ in _lines(work / "hits")) - before) / documents, 1),
        "added_s": round(statistics.median(added), 2),
        "loaded_s": round(seconds, 1),
    }
    return told, found


def _saved(searched: Searched, ids: Sequence[int]) -> Iterator[Row]:
    return ({"id": id, "condition": searched.query(id).text} for id in ids)


def _lines(folder: Path) -> Iterator[str]:
    for file in sorted(folder.glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            yield from lines


def _hits(folder: Path) -> Iterator[tuple[int, int]]:
    for line in _lines(folder):
        key = json.loads(line)["key"]
        yield key["query"]["id"], key["document"]["id"]


# OpenSearch


def _percolator(searched: Searched, queries: int, work: Path) -> tuple[Told, set[tuple[int, int]]]:
    from opensearchpy import OpenSearch, helpers

    from joinery.dev.opensearch import opensearch

    def store(ids: Sequence[int]) -> float:
        begun = time.monotonic()
        made = (
            {
                "_index": "saved",
                "_id": id,
                "query": {"bool": {"filter": searched.query(id).percolate}},
            }
            for id in ids
        )
        helpers.bulk(client, made, chunk_size=2_000)
        client.indices.refresh(index="saved")
        return time.monotonic() - begun

    with opensearch(work / "opensearch", heap="2g").started() as server:
        client = OpenSearch(server.address, timeout=300, maxsize=CLIENTS)
        body = {
            "settings": SETTINGS,
            "mappings": {"properties": {"query": {"type": "percolator"}, **searched.mappings}},
        }
        client.indices.create(index="saved", body=body)
        loaded = store(range(queries))
        client.indices.forcemerge(index="saved", max_num_segments=1)
        asked = Percolating(client, searched)
        found = asked.matches(range(COMPARED))
        rates = {size: asked.rate(size, seconds=3.0) for size in SIZES}
        best = max(rates, key=lambda size: rates[size])
        rate = asked.rate(best, seconds=10.0)
        added = [
            store(range(at, at + ADDED)) for at in range(queries, queries + ROUNDS * ADDED, ADDED)
        ]
    told = {
        "rate": round(rate, 1),
        "size": best,
        "added_s": round(statistics.median(added), 2),
        "loaded_s": round(loaded, 1),
    }
    return told, found


SETTINGS = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"}


@dataclass(frozen=True, slots=True)
class Percolating:
    """Asks which stored queries match listings, some at a time, without scores and sources."""

    client: Any
    searched: Searched

    def matches(self, ids: Sequence[int]) -> set[tuple[int, int]]:
        """Return the pairs of query and listing."""
        asked = {
            "percolate": {"field": "query", "documents": [self.searched.document(id) for id in ids]}
        }
        answer = self.client.search(
            index="saved",
            body={
                "query": {"constant_score": {"filter": asked}},
                "size": MOST_HITS,
                "_source": False,
                "track_total_hits": False,
            },
        )
        hits = answer["hits"]["hits"]
        if len(hits) == MOST_HITS:
            raise ContenderError(f"a request had more than {MOST_HITS} matches")
        return {
            (int(hit["_id"]), ids[slot])
            for hit in hits
            for slot in hit["fields"]["_percolator_document_slot"]
        }

    def rate(self, size: int, *, seconds: float) -> float:
        """Return listings per second, given how many go into a request."""
        begun = time.monotonic()

        def ask(client: int) -> int:
            done, at = 0, client * 10_000_000
            while time.monotonic() - begun < seconds:
                self.matches(range(at + done, at + done + size))
                done += size
            return done

        with ThreadPoolExecutor(CLIENTS) as pool:
            done = sum(pool.map(ask, range(CLIENTS)))
        return done / (time.monotonic() - begun)
