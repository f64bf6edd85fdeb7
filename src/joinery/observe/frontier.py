"""How far a product has come in the logs that it reads, from its query's checkpoint.

The **frontier** of a product is the position up to which all is applied and sent: that after
the last batch that its query committed, since a batch is committed once every sink has taken it.

A place in the log of a database is waited for by records: those that are last in the topics, or in
the spool, once what reads that log is known to be past it.

Invariant: looking changes nothing, but that such a place may be marked in the database's log. It
asks no store and no sink, no broker unless for such a place, and reads no change file unless to
see that it has the line that is waited for. A position is reported as passed only once it is,
though perhaps a moment later.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, Protocol, Self

from joinery.delivery.query_paths import QueryPaths
from joinery.errors import RunError, SinkUnavailableError, SpecError
from joinery.observe.connector import ConnectorLog, lsn_of
from joinery.observe.line_count import line_count
from joinery.observe.outline import known_products, queries_of
from joinery.observe.status import project_status
from joinery.place.place import Place, matching, numbers_in
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.plan.stream import Stream
from joinery.project.captured import CAPTURED
from joinery.project.kafka import PATTERN
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.project.quantity import given_duration_ms
from joinery.text.figure import counted_text

_LOOKED_S = 0.1
_TRIES = 10
_HEADER = 2  # Spark's version line, and the batch's settings
_NOTHING: Mapping[str, Any] = {}


class WaitError(SpecError):
    """What should be waited for is nothing that the product comes to."""

    code = "WAIT"


class WaitTimeoutError(RunError):
    """A product did not come to a position in time."""

    code = "WAIT_TIMEOUT"


@dataclass(frozen=True, slots=True)
class Position:
    """A record of a log, named as events without a key are.

    Attributes:
        source: The source of its topic.
        part: The partition, or the file below the topic's folder.
        at: The offset, or the line, counted from 1; None stands for all of a file.
    """

    source: str
    topic: str
    part: str
    at: int | None

    def __str__(self) -> str:
        at = "" if self.at is None else f"/{self.at}"
        return f"{self.topic}/{self.part}{at}"

    @classmethod
    def parse(cls, text: str, relations: Sequence[Relation], kinds: Mapping[str, str]) -> Self:
        """Return the position that a text names.

        Args:
            text: `topic/partition/offset` of Kafka; of files `topic/file/line`, or `topic/file`
                for all of it.
            relations: What the product reads.
            kinds: The kind of each source.

        Raises:
            WaitError: It names none of a log that the product reads.
        """
        sources = {
            each.topic: each.source for each in relations if text.startswith(f"{each.topic}/")
        }
        if not sources:
            topics = sorted({each.topic for each in relations})
            near = get_close_matches(text.partition("/")[0], topics, 1)
            guess = f"Did you mean {near[0]}? " if near else ""
            message = f'position "{text}" is not in a topic that the product reads'
            raise WaitError(message, hint=f"{guess}It reads {', '.join(topics)}.")
        topic = max(sources, key=len)
        part, _, at = text[len(topic) + 1 :].partition("/")
        if kinds[sources[topic]] in ("files", *CAPTURED):
            whole = not at and part
            if whole or (part and at.isdecimal() and int(at) > 0):
                return cls(sources[topic], topic, part, None if whole else int(at))
            raise WaitError(
                f'position "{text}" does not name a line of a file',
                hint=f"Write {topic}/FILE.jsonl/LINE, lines counted from 1, or {topic}/FILE.jsonl.",
            )
        if part.isdecimal() and at.isdecimal():
            return cls(sources[topic], topic, str(int(part)), int(at))
        raise WaitError(
            f'position "{text}" does not name a record of a partition',
            hint=f"Write {topic}/PARTITION/OFFSET, such as {topic}/0/1042.",
        )


@dataclass(frozen=True, slots=True)
class Frontier:
    """How far one query has come.

    Attributes:
        told: By source, its position after the last batch that was committed.
        files: By source of change files, the numbers of its files, by topic and name.
    """

    told: Mapping[str, Mapping[str, Any]]
    files: Mapping[str, Mapping[tuple[str, str], int]]

    @classmethod
    def read(cls, checkpoint: Place, batch: int | None = None, marked: Place | None = None) -> Self:
        """Return what a checkpoint tells; nothing where no batch was committed.

        Args:
            checkpoint: The folder of a query's.
            batch: How far the query had come after this one, of those that are `kept`; None for
                the last.
            marked: The folder that has kept this batch, where the checkpoint no longer does.
        """
        batches = [batch] if batch is not None else kept(checkpoint)
        try:
            sources = json.loads(_text(checkpoint / "joinery.sources.json"))
            offsets = (marked or checkpoint) / "offsets" / str(max(batches))
            lines = _text(offsets).splitlines()[_HEADER:]
            told = {
                each["name"]: json.loads(line)
                for each, line in zip(sources, lines, strict=True)
                if line.startswith("{")
            }
            files = {
                each["name"]: _numbered(checkpoint / "sources" / str(number))
                for number, each in enumerate(sources)
                if each["kind"] == "files" and each["name"] in told
            }
        except (FileNotFoundError, ValueError):  # Of no batch yet, or cleaned up meanwhile.
            return cls({}, {})
        return cls(told, files)

    def has(self, position: Position) -> bool:
        """Return whether a record, or all of a file, is applied and sent."""
        told = self.told.get(position.source, _NOTHING)
        if position.source in self.files:
            topic = told["topics"].get(position.topic, _NOTHING)
            seen = self.files[position.source].get((position.topic, position.part))
            return seen is not None and _is_read(seen, position.at, topic)
        next_offset = told.get(position.topic, _NOTHING).get(position.part, 0)
        return position.at is not None and position.at < next_offset


def kept(checkpoint: Place) -> list[int]:
    """Return the batches, in order, of which a checkpoint still knows how far they came."""
    return sorted(numbers_in(checkpoint / "commits") & numbers_in(checkpoint / "offsets"))


SeenSizes = Mapping[str, Mapping[tuple[str, str], int]]
"""By source of change files, the sizes of files in bytes, by topic and name."""


def seen_sizes(checkpoints: Sequence[Place]) -> SeenSizes:
    """Return how large change files were when some queries saw them: so much of each is read.

    Of a file that one of the queries has not seen yet, all would be read, so it is left out; where
    they saw different sizes it is the largest.

    Args:
        checkpoints: The folders of the queries.

    Raises:
        RunError: A run brings its notes together again and again; later they can be read.
    """
    told = [_sizes(each) for each in checkpoints]
    found: dict[str, dict[tuple[str, str], int]] = {}
    for source in {name for each in told for name in each}:
        seen = [each.get(source, {}) for each in told]
        known = [file for file in seen[0] if all(file in each for each in seen)]
        found[source] = {file: max(each[file] for each in seen) for file in known}
    return found


BegunOffsets = Mapping[str, Mapping[str, Mapping[str, int]]]
"""By source, topic and partition, the first offset that is read."""


def begun_offsets(checkpoints: Sequence[Place]) -> BegunOffsets:
    """Return at which offsets of Kafka some queries began to read.

    A partition that is left out is read from its beginning; where queries began at different
    offsets it is the lowest.

    Args:
        checkpoints: The folders of the queries.
    """
    told = [_begun(each) for each in checkpoints]
    found: dict[str, dict[str, dict[str, int]]] = {}
    for source, topic, partition in told[0] if told else ():
        place = source, topic, partition
        if all(place in each for each in told):
            first = min(each[place] for each in told)
            found.setdefault(source, {}).setdefault(topic, {})[partition] = first
    return found


def _begun(checkpoint: Place) -> Mapping[tuple[str, str, str], int]:
    """Return, by source, topic and partition, the offset that Spark noted at the first start."""
    found = {}
    with suppress(FileNotFoundError):  # Nothing was read yet.
        for number, each in enumerate(json.loads(_text(checkpoint / "joinery.sources.json"))):
            if each["kind"] == "kafka":
                with suppress(FileNotFoundError):
                    _, _, told = _text(checkpoint / "sources" / str(number) / "0").partition("\n")
                    for topic, partitions in json.loads(told).items():
                        for partition, offset in partitions.items():
                            found[each["name"], topic, partition] = int(offset)
    return found


def _sizes(checkpoint: Place) -> SeenSizes:
    try:
        sources = json.loads(_text(checkpoint / "joinery.sources.json"))
    except FileNotFoundError:  # Nothing was read yet.
        return {}
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            return {
                each["name"]: {
                    (file["topic"], file["file"]): file["size"]
                    for file in _seen(checkpoint / "sources" / str(number))
                }
                for number, each in enumerate(sources)
                if each["kind"] == "files"
            }
    raise RunError(
        f"could not read which files are in {checkpoint}, since they keep changing",
        hint="Try again.",
    )


class DatabaseLog(Protocol):
    """The log of a database, in which something reads on; used by one thread, closed once."""

    def last_past(self, lsn: int, topics: Collection[str]) -> Sequence[Position] | None:
        """Return the last of what is in some topics once all up to a place is; else None."""

    def close(self) -> None:
        """Disconnect."""


LogOf = Callable[[ProjectSpec, SourceSpec], DatabaseLog]


def wait_for(
    spec: ProjectSpec,
    planned: Sequence[Product | Stream],
    name: str,
    texts: Sequence[str],
    *,
    timeout: str,
    captured: LogOf,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Return once a product or stream shows all up to some positions, in every sink.

    Args:
        spec: The project.
        planned: Its products and streams, or those that a run has.
        name: The product or stream.
        texts: The positions, see `Position.parse`; or places in the log of the database that the
            product reads, directly or through a connector.
        timeout: How long to wait at most: a duration.
        captured: Returns the log of a source that is a PostgreSQL database.
        clock: Tells seconds.
        pause: Waits for seconds.

    Raises:
        WaitError: There is no position, or one of no log that it reads, or a line that a file did
            not have when it was read, it holds documents back, or `timeout` is not a duration.
        WaitTimeoutError: It did not come so far in time.
    """
    limit_ms = given_duration_ms(timeout, WaitError)
    found = _target(planned, name, known_products(spec))
    if not texts:
        topic = found.relations[0].topic
        raise WaitError("there is no position to wait for", hint=f"Name one, such as {topic}/….")
    kinds = {each.name: each.kind for each in spec.sources}
    topics = tuple(f"{each.topic}/" for each in found.relations)
    places = [each for each in texts if lsn_of(each) is not None and not each.startswith(topics)]
    records = [Position.parse(each, found.relations, kinds) for each in texts if each not in places]
    root = spec.checkpoint
    checkpoint = QueryPaths.of(root, queries_of(spec)[name]).checkpoint
    until = clock() + limit_ms / 1000
    with ExitStack() as stack:
        waited = [Waited(str(each), [each]) for each in records]
        if places:
            log = stack.enter_context(closing(_log(spec, found, places[0], captured)))
            read = {each.topic for each in found.relations}
            waited += [Waited(each, partial(_last_past, log, each, read)) for each in places]
        while missing := _missing(checkpoint, waited):
            if clock() >= until:
                raise _too_late(spec, name, missing, timeout)
            pause(_LOOKED_S)
    for each in records:
        if kinds[each.source] == "files":
            _check_line(spec, checkpoint, each)


def _check_line(spec: ProjectSpec, checkpoint: Place, position: Position) -> None:
    """Refuse a line that a file did not have when it was read, which it is once.

    Of a file that is gone since, nobody knows.
    """
    if position.at is None:
        return
    options = next(dict(each.options) for each in spec.sources if each.name == position.source)
    file = spec.path_of(str(options["path"])) / position.topic / position.part
    seen = seen_sizes([checkpoint]).get(position.source, {})
    size = seen.get((position.topic, position.part))
    lines = None if size is None else line_count(file, size, position.at)
    if lines is not None and lines < position.at:
        raise WaitError(
            f'position "{position}" is not a line of {position.topic}/{position.part}, which is'
            f" read: it had {counted_text(lines, 'line')}",
            hint="A change file is read once; write what comes later to another one.",
        )


class Waited:
    """What is waited for: records, once it is known which.

    Args:
        shown: As it was asked for.
        positions: The records; or what returns them once they are known.
    """

    def __init__(
        self, shown: str, positions: Sequence[Position] | Callable[[], Sequence[Position] | None]
    ) -> None:
        self.shown, self._positions = shown, positions

    def is_in(self, frontier: Callable[[], Frontier]) -> bool:
        """Return whether all of it is applied and sent."""
        if callable(self._positions):
            known = self._positions()
            if known is None:
                return False
            self._positions = known
        told = frontier()
        return all(told.has(each) for each in self._positions)


def _missing(checkpoint: Place, waited: Sequence[Waited]) -> list[str]:
    return [each.shown for each in waited if not each.is_in(lambda: Frontier.read(checkpoint))]


def _log(spec: ProjectSpec, found: Product | Stream, place: str, captured: LogOf) -> DatabaseLog:
    """Return the log of the only database that a product reads.

    Raises:
        WaitError: It reads something else, too, or nothing tells how far its connector is.
    """
    names = {each.source for each in found.relations}
    sources = [each for each in spec.sources if each.name in names]
    patterns = any(each.topic.startswith(PATTERN) for each in found.relations)
    if len(sources) == 1 and sources[0].kind == "postgres":
        return captured(spec, sources[0])
    if len(sources) == 1 and sources[0].kind == "kafka" and not patterns:
        log = ConnectorLog.of(sources[0])
        if log is not None:
            return _TopicEnds(sources[0].name, log)
    raise WaitError(
        f'"{place}" is a place in a database\'s log, and it is not known when'
        f' "{found.name}" has reached it',
        detail="That is known where all its relations are tables of one postgres source, or topics"
        ' of one Kafka source that names its "connector".',
        hint="Name the connector, or wait for a record: TOPIC/PARTITION/OFFSET.",
    )


@dataclass(frozen=True, slots=True)
class _TopicEnds:
    """A database's log as a connector writes it into topics of a source."""

    source: str
    log: ConnectorLog

    def last_past(self, lsn: int, topics: Collection[str]) -> Sequence[Position] | None:
        """Return the last records of all topics, once the connector is past a place."""
        try:
            ends = self.log.ends_past(lsn, sorted(topics))
        except SinkUnavailableError:
            return None  # the brokers are asked again
        if ends is None:
            return None
        return [
            Position(self.source, topic, str(partition), end - 1)
            for (topic, partition), end in ends.items()
        ]

    def close(self) -> None:
        """Disconnect."""
        self.log.close()


def _last_past(log: DatabaseLog, place: str, topics: Collection[str]) -> Sequence[Position] | None:
    lsn = lsn_of(place)
    assert lsn is not None, "it was looked at before"
    return log.last_past(lsn, topics)


def _target(
    planned: Sequence[Product | Stream], name: str, known: Sequence[str]
) -> Product | Stream:
    found = next((each for each in planned if each.name == name), None)
    if found is None or name not in known:
        near = get_close_matches(name, known, 1)
        guess = f"Did you mean {near[0]}? " if near else ""
        message = f'there is no product or stream "{name}" to run'
        raise WaitError(message, hint=f"{guess}Known: {', '.join(known)}.")
    if isinstance(found, Product) and (found.settle_ms or found.ready):
        held = "settle" if found.settle_ms else "ready"
        raise WaitError(
            f'product "{name}" holds documents back ("{held}"), so they may not be sent even'
            " once its logs are read",
            hint="Wait for another product of the same relations.",
        )
    if any(each.spools for each in found.sinks):
        raise WaitError(
            f'a sink of "{name}" has a spool, so it may not yet have what was read',
            hint="Wait for a product whose sinks have none.",
        )
    return found


def _too_late(
    spec: ProjectSpec, name: str, missing: Sequence[str], timeout: str
) -> WaitTimeoutError:
    [status] = project_status(spec, [name]).products
    because = f": {status.because}" if status.because else ""
    return WaitTimeoutError(
        f'"{name}" has not reached {", ".join(missing)} within {timeout}',
        detail=f'Its status: "{status.state}"{because}.',
        hint=f"See joinery status {name}; allow more time with --timeout.",
    )


def _text(file: Place) -> str:
    return file.read_text(encoding="utf-8")


def _numbered(folder: Place) -> dict[tuple[str, str], int]:
    """Return the numbers of the files that a source of change files has seen."""
    return {(each["topic"], each["file"]): each["number"] for each in _seen(folder)}


def _seen(folder: Place) -> list[Mapping[str, Any]]:
    """Return what a source of change files has noted of the files that it has seen.

    Raises:
        FileNotFoundError: The notes were brought together meanwhile.
    """
    logs = matching(folder, "*.labels")
    return [json.loads(line) for log in logs for line in _text(log).splitlines()[1:]]


def _is_read(file: int, line: int | None, topic: Mapping[str, Any]) -> bool:
    """Return whether a line, or all of a file, is read.

    Example:
        >>> topic = {"done": "0-2,5", "open": [[3, 10, 999]]}
        >>> [_is_read(2, None, topic), _is_read(3, 10, topic), _is_read(3, None, topic)]
        [True, True, False]
    """
    for run in filter(None, topic.get("done", "").split(",")):
        first, _, last = run.partition("-")
        if int(first) <= file <= int(last or first):
            return True
    lines = {number: read for number, read, _ in topic.get("open", ())}
    return line is not None and line <= lines.get(file, 0)
