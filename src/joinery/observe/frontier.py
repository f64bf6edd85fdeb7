"""How far a product has come in the logs that it reads, from its query's checkpoint.

The **frontier** of a product is the position up to which all is applied and sent: that after
the last batch that its query committed, since a batch is committed once every sink has taken it.

Invariant: looking changes nothing, asks no store, sink or broker, and reads no change file. A
position is reported as passed only once it is, though perhaps a moment later.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Self

from joinery.errors import RunError, SpecError
from joinery.place.place import Place, matching, numbers_in
from joinery.plan.relation import Relation
from joinery.project.captured import CAPTURED

_TRIES = 10
_HEADER = 2  # Spark's version line, and the batch's settings
_NOTHING: Mapping[str, Any] = {}


class WaitError(SpecError):
    """What should be waited for is nothing that the product comes to."""

    code = "WAIT"


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

    def last_read(self, source: str) -> dict[str, list[Position]]:
        """Return, by topic, the last record of each partition, or the last files, of a source.

        Of files it is the last of those before which all are read, then those that are open.
        """
        told = self.told.get(source, _NOTHING)
        if source not in self.files:
            return {
                topic: [
                    Position(source, topic, part, next_offset - 1)
                    for part, next_offset in sorted(offsets.items(), key=lambda each: int(each[0]))
                    if next_offset > 0
                ]
                for topic, offsets in told.items()
            }
        names: dict[str, dict[int, str]] = {}
        for (topic, name), number in self.files[source].items():
            names.setdefault(topic, {})[number] = name
        return {
            topic: [
                Position(source, topic, names[topic][number], line)
                for number, line in _last_of(each)
                if number in names.get(topic, _NOTHING)
            ]
            for topic, each in told.get("topics", _NOTHING).items()
        }


def _last_of(topic: Mapping[str, Any]) -> Iterator[tuple[int, int | None]]:
    """Yield the last file before which all are read, then the lines that are read of open ones.

    Example:
        >>> [*_last_of({"done": "0-2,5", "open": [[3, 10, 999], [6, 0, 0]]})]
        [(2, None), (3, 10)]
    """
    if topic.get("done", ""):
        first, _, last = topic["done"].split(",")[0].partition("-")
        yield int(last or first), None
    yield from ((number, line) for number, line, _ in topic.get("open", ()) if line)


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
