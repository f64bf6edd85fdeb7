"""Reads again what a query has read of its sources: from where their logs begin to its position.

Invariant: the same records come whenever it is asked, at the places that they had at first; where
some of them are gone, that is said before anything is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.capture.keep import SpoolKeep
from joinery.capture.missing import missing_files, missing_text
from joinery.capture.spool import SpoolFolder
from joinery.errors import JoineryError, RunError
from joinery.place.place import Place
from joinery.project.captured import spool_of
from joinery.project.product import ProjectSpec
from joinery.spark.source.file_labels import (
    NOWHERE,
    FileLabels,
    SeenFile,
    has_tail,
    numbers_read,
    without,
)
from joinery.spark.source.files import files_again
from joinery.spark.source.kafka import numbering
from joinery.spark.source.kafka_again import (
    AskEdges,
    edges_by_client,
    kafka_again,
    records_again,
    topics_gone,
)
from joinery.spark.source.source import SourceRead, Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class LogGoneError(RunError):
    """What a batch is to read again of a log is gone."""

    code = "RUN_LOG_GONE"

    def __init__(self, query: str, why: str) -> None:
        self.query, self.why = query, why
        super().__init__(
            f'products that were added to query "{query}" cannot be built from its logs any more',
            detail=f"{why[0].upper()}{why[1:]}. Nothing was read or written.",
            hint="Put it back, or apply the project without them: joinery apply.",
        )


@dataclass(frozen=True, slots=True)
class LogAgain:
    """What is to be read again of a topic.

    Attributes:
        relations: That are read from it.
        files: How many, where it is change files.
        bytes: How many they have.
        records: How many at most, where it is a log of records.
        why: Why it cannot be, in words; empty where it can.
    """

    relations: tuple[str, ...]
    files: int = 0
    bytes: int = 0
    records: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class RecordsAgain:
    """The raw records of topics, up to a position.

    Attributes:
        frame: With the columns of a raw stream; it is none.
        topics: What the numbers of its topics stand for.
    """

    frame: DataFrame
    topics: tuple[tuple[Topic, ...], ...]


def logs_again(
    spec: ProjectSpec,
    checkpoint: Place,
    reads: Sequence[SourceRead],
    positions: Sequence[str],
    relations: Collection[str],
    ask: AskEdges = edges_by_client,
) -> Iterator[LogAgain]:
    """Yield what of each topic of some relations is to be read again.

    Args:
        spec: The project.
        checkpoint: The query's.
        reads: Its sources.
        positions: Its position in each, as Spark writes it.
        relations: Their names.
        ask: Asks brokers for the edges of topics.
    """
    for index, (read, at) in enumerate(zip(reads, positions, strict=True)):
        topics = _topics(read, relations)
        if topics and read.source.kind == "kafka":
            yield _topics_again(read, topics, at, ask)
        elif topics:
            yield from _files_again(spec, FileLabels(checkpoint, index), read, topics, at)


def _topics_again(
    read: SourceRead, topics: Mapping[str, tuple[str, ...]], at: str, ask: AskEdges
) -> LogAgain:
    every = tuple(name for names in topics.values() for name in names)
    try:
        why = next(topics_gone(read.source, [*topics], at, ask), "")
    except JoineryError as error:
        why = f"{error.message}: {error.detail or error.hint}"
    return LogAgain(every, records=records_again(at, [*topics]), why=why)


def _files_again(
    spec: ProjectSpec,
    labels: FileLabels,
    read: SourceRead,
    topics: Mapping[str, tuple[str, ...]],
    at: str,
) -> Iterator[LogAgain]:
    folder = spec.path_of(str(dict(read.source.options)["path"]))
    for topic, names in topics.items():
        files = _files_read(labels, topic, at)
        gone = [each for each in files if _is_gone(folder, each)]
        if _is_spool(read):
            # Asked once it is known what is gone: files are removed only after that was noted.
            why = _why_not_whole(spec, read, topic, at)
            files = [each for each in files if each not in gone]
        else:
            why = f"{folder / topic / gone[0].name} was read, and is gone" if gone else ""
        yield LogAgain(names, len(files), sum(each.size for each in files), why=why)


def _is_spool(read: SourceRead) -> bool:
    return "spool" in dict(read.source.options)


def _why_not_whole(spec: ProjectSpec, read: SourceRead, topic: str, at: str) -> str:
    """Return why a spool has not all that a query which begins would need; empty where it has."""
    name = read.source.name
    declared = next(each for each in spec.sources if each.name == name)
    spool = SpoolFolder(spool_of(spec, declared))
    if missing := missing_files(spool, (topic,)):
        return f'the spool of source "{name}" lacks {missing_text(topic, missing[topic])}'
    if not SpoolKeep(spool).whole:
        return (
            f'the spool of source "{name}" no longer has all changes: run joinery source'
            f" read-again {name}, and wait for it"
        )
    if has_tail(at, topic):
        return f'source "{name}" was read in real time: run once without it'
    return ""


def _files_read(labels: FileLabels, topic: str, at: str) -> list[SeenFile]:
    """Return the files of a topic that were read up to a position, some of them in part."""
    numbers = numbers_read(at).get(topic, frozenset())
    seen = {each.number: each for each in labels.all() if each.topic == topic}
    return [each for number, each in sorted(seen.items()) if number in numbers]


def _is_gone(folder: Path, file: SeenFile) -> bool:
    try:
        return (folder / file.topic / file.name).stat().st_size < file.size
    except OSError:
        return True


def open_again(
    spark: SparkSession,
    spec: ProjectSpec,
    checkpoint: Place,
    reads: Sequence[SourceRead],
    positions: Sequence[str],
    relations: Collection[str],
) -> RecordsAgain | None:
    """Return the records of some relations up to a position; None for none. See `logs_again`."""
    frames: list[DataFrame] = []
    numbered: list[tuple[Topic, ...]] = []
    for index, (read, at) in enumerate(zip(reads, positions, strict=True)):
        topics = [*_topics(read, relations)]
        if not topics or at == NOWHERE:
            continue
        if read.source.kind == "kafka":
            frame = kafka_again(spark, spec, read.source, topics, at)
            told: Sequence[Sequence[str]] = numbering(topics)
        else:
            labels = str(checkpoint / "sources" / str(index))
            until = _left_of(spec, FileLabels(checkpoint, index), read, topics, at)
            frame = files_again(spark, spec, read.source, topics, until=until, labels=labels)
            told = [(each,) for each in topics]
        if frame is not None:
            frames.append(frame.withColumn("topic", frame["topic"] + len(numbered)))
            numbered += [tuple(Topic(read.source.name, each) for each in one) for one in told]
    if not frames:
        return None
    return RecordsAgain(reduce(lambda one, more: one.union(more), frames), tuple(numbered))


def _left_of(
    spec: ProjectSpec, labels: FileLabels, read: SourceRead, topics: Sequence[str], at: str
) -> str:
    """Return a position without the files that are gone, of a spool which need not have them."""
    if not _is_spool(read):
        return at
    folder = spec.path_of(str(dict(read.source.options)["path"]))
    for topic in topics:
        files = _files_read(labels, topic, at)
        at = without(at, topic, {each.number for each in files if _is_gone(folder, each)})
    return at


def _topics(read: SourceRead, relations: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the topics of some relations, with those of them that are read from each."""
    found = {
        topic: tuple(each for each in names if each in relations)
        for topic, names in read.relations.items()
    }
    return {topic: names for topic, names in found.items() if names}
