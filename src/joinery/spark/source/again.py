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

from joinery.errors import RunError
from joinery.place.place import Place
from joinery.project.product import ProjectSpec
from joinery.spark.source.file_labels import FileLabels, SeenFile, numbers_read
from joinery.spark.source.files import files_again
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
        files: How many.
        bytes: How many they have.
        why: Why it cannot be, in words; empty where it can.
    """

    relations: tuple[str, ...]
    files: int = 0
    bytes: int = 0
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
) -> Iterator[LogAgain]:
    """Yield what of each topic of some relations is to be read again.

    Args:
        spec: The project.
        checkpoint: The query's.
        reads: Its sources.
        positions: Where it stands in each, as Spark writes it.
        relations: Their names.
    """
    for index, (read, at) in enumerate(zip(reads, positions, strict=True)):
        if topics := _topics(read, relations):
            yield from _log_again(spec, FileLabels(checkpoint, index), read, topics, at)


def _log_again(
    spec: ProjectSpec,
    labels: FileLabels,
    read: SourceRead,
    topics: Mapping[str, tuple[str, ...]],
    at: str,
) -> Iterator[LogAgain]:
    name, told = read.source.name, dict(read.source.options)
    if read.source.kind != "files" or "spool" in told:
        what = "a database" if "spool" in told else f"of kind {read.source.kind}"
        every = tuple(name for names in topics.values() for name in names)
        yield LogAgain(every, why=f'source "{name}" is {what}, which is not read again')
        return
    folder, done = spec.path_of(str(told["path"])), numbers_read(at)
    seen = {(each.topic, each.number): each for each in labels.fresh()}.values()
    for topic, names in topics.items():
        read_of = done.get(topic, frozenset())
        files = [each for each in seen if each.topic == topic and each.number in read_of]
        gone = next((each for each in files if _is_gone(folder, each)), None)
        why = "" if gone is None else f"{folder / topic / gone.name} was read, and is gone"
        yield LogAgain(names, len(files), sum(each.size for each in files), why)


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
        topics = _topics(read, relations)
        if not topics or not numbers_read(at):
            continue
        labels = str(checkpoint / "sources" / str(index))
        frame = files_again(spark, spec, read.source, [*topics], until=at, labels=labels)
        frames.append(frame.withColumn("topic", frame["topic"] + len(numbered)))
        numbered += [(Topic(read.source.name, each),) for each in topics]
    if not frames:
        return None
    return RecordsAgain(reduce(lambda one, more: one.union(more), frames), tuple(numbered))


def _topics(read: SourceRead, relations: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the topics of some relations, with those of them that are read from each."""
    found = {
        topic: tuple(each for each in names if each in relations)
        for topic, names in read.relations.items()
    }
    return {topic: names for topic, names in found.items() if names}
