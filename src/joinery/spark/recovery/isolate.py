"""Finds the records that make workers fail, by halving, in processes apart from the run.

A batch that failed twice in its own work is copied, and parts of it are tried by a process
that may die of them; what fails alone is noted in the quarantine of the query, and becomes a
dead letter unread.

Limits: a record that fails only beside the state of its keys is not found; the batch then
fails as before, and says so.

Invariant: the checkpoint is only read. A record is noted only after it failed alone, before
its batch runs again, and stays noted, so a batch that runs again gives the same letters.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql import functions as F

from joinery.child import Child
from joinery.files import write_whole
from joinery.place.place import Place
from joinery.project.load import dump_values
from joinery.project.product import ProjectSpec
from joinery.spark.recovery.attempt import ENOUGH, Attempts, Failures
from joinery.spark.source.source import Topic

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

POISON = "poison"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoisonPlace:
    """Where a record stands.

    Attributes:
        source: The source's name.
        topics: The topics of relations that the record was read for.
        name: The topic's own name, where a pattern found it.
        partition: Of a Kafka record.
        file: Of a record in a file.
        number: Its offset, or its line.
    """

    source: str
    topics: tuple[str, ...]
    name: str | None
    partition: int | None
    file: str | None
    number: int


class Quarantine:
    """The poison of one query.

    Args:
        root: `run.checkpoint`.
        query: The query's name.
    """

    def __init__(self, root: Place, query: str) -> None:
        self._file = root / "_quarantine" / f"{query}.json"

    def places(self) -> tuple[PoisonPlace, ...]:
        """Return what is noted."""
        if not self._file.is_file():
            return ()
        noted = json.loads(self._file.read_text(encoding="utf-8"))
        return tuple(PoisonPlace(**{**each, "topics": tuple(each["topics"])}) for each in noted)

    def add(self, places: Sequence[PoisonPlace]) -> None:
        """Note more places, durably."""
        noted = dict.fromkeys((*self.places(), *places))
        write_whole(self._file, json.dumps([asdict(each) for each in noted], indent=1), synced=True)

    def apply(self, raw: DataFrame, topics: Sequence[Collection[Topic]]) -> DataFrame:
        """Return raw records in which the noted ones are told as poison, their bytes kept."""
        found = [each for place in self.places() if (each := _is_at(place, topics)) is not None]
        if not found:
            return raw
        poison = reduce(lambda one, other: one | other, found)
        error = F.when(poison, F.lit(POISON)).otherwise(F.col("error"))
        return raw.withColumn("error", error)


def _is_at(place: PoisonPlace, topics: Sequence[Collection[Topic]]) -> Column | None:
    """Return whether a raw record stands at `place`; None where nothing reads that any more."""
    wanted = {Topic(place.source, each) for each in place.topics}
    numbers = [number for number, each in enumerate(topics) if wanted & set(each)]
    if not numbers:
        return None
    at = F.col("topic").isin(numbers) & (F.col("minor") == place.number)
    if place.file is not None:
        at &= F.col("file").cast("string") == place.file
    else:
        at &= F.col("file").isNull() & (F.col("major") == place.partition)
    return at & (F.col("name").eqNullSafe(F.lit(place.name)))


log = logging.getLogger(__name__)
_PROBE = "joinery.spark.recovery.probe"
_END_S = 20.0
_MOST_TRIES = 400
_DIED = "the process that tried it died"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A query whose next batch failed before.

    Attributes:
        query: Its name.
        root: `run.checkpoint`.
        checkpoint: The query's own.
        scratch: A folder of this machine.
    """

    query: str
    root: Place
    checkpoint: Place
    scratch: Path


def isolate(spec: ProjectSpec, suspect: Suspect) -> tuple[PoisonPlace, ...]:
    """Search the next batch of a query for poison, if it failed often enough.

    Returns:
        What was found and noted.
    """
    attempts = Attempts(suspect.checkpoint.parent, suspect.query)
    failures = attempts.read()
    if failures is None or failures.count < ENOUGH or failures.searched:
        return ()
    facts = {"query": suspect.query, "batch": failures.batch_id, "failures": failures.count}
    log.warning("searching a batch for records that make it fail", extra=facts)
    with _Prober(spec, suspect, failures) as prober:
        found = prober.search()
    Quarantine(suspect.root, suspect.query).add(found)
    if prober.away:
        log.warning("gave up the search of a batch", extra={**facts, "reason": prober.away})
        return found
    attempts.searched(failures)
    log.warning("searched a batch", extra={**facts, "poison": len(found)})
    return found


class _Prober:
    """Tries parts of a batch in a process, and starts another where that one died."""

    def __init__(self, spec: ProjectSpec, suspect: Suspect, failures: Failures) -> None:
        self._folder = suspect.scratch / "_isolation" / suspect.query
        self._told = {
            "query": suspect.query,
            "checkpoint": str(suspect.checkpoint),
            "folder": str(self._folder),
            "batch": failures.batch_id,
            "project": dump_values(spec),
            "project_folder": str(spec.folder.absolute()),
        }
        self._child: Child | None = None
        self._count = 0
        self._tries = 0
        self._found: list[PoisonPlace] = []
        self.away = ""

    def __enter__(self) -> Self:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        return self

    def __exit__(self, *failure: object) -> None:
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def search(self) -> tuple[PoisonPlace, ...]:
        """Return the places of all records that fail alone.

        What a batch asks, such as a schema registry, may be away: `away` then says so, and the
        search has ended before its time, since any record might fail of that.
        """
        if not self._start():
            return ()
        waiting = [(0, self._count)]
        while waiting and self._tries < _MOST_TRIES:
            first, end = waiting.pop()
            self._tries += 1
            answer = self._ask([first, end, "try"])
            self.away = answer.get("away", "")
            if self.away:
                break
            if not answer.get("why", _DIED):
                continue
            if end - first > 1:
                middle = (first + end) // 2
                waiting += [(middle, end), (first, middle)]
            else:
                self._note(first)
        return tuple(self._found)

    def _note(self, number: int) -> None:
        told = self._ask([number, number, "place"]).get("place")
        if told is not None:
            self._found.append(PoisonPlace(**{**told, "topics": tuple(told["topics"])}))

    def _ask(self, question: Sequence[Any]) -> dict[str, Any]:
        """Return the answer; nothing where the process died, which is started again then."""
        if self._child is None and not self._start():
            return {}
        return self._exchange(question) or {}

    def _start(self) -> bool:
        self._child = Child(_PROBE, silent=True)
        answer = self._exchange(self._told)
        if answer is None:
            return False
        self._count = int(answer["count"])
        return True

    def _exchange(self, question: object) -> dict[str, Any] | None:
        """Ask the process; None where it has died of it."""
        assert self._child is not None
        try:
            answer: dict[str, Any] = json.loads(self._child.ask(json.dumps(question).encode()))
        except EOFError:
            self._end()
            return None
        return answer

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close(_END_S)
