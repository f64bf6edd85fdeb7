"""When a product is ready: its relations were read to the ends their sources had at first.

The ends are taken once, before a checkpoint's first batch, and kept in it. Where a batch
ends stands in Spark's offset log before the batch runs, so the answer is the same when the
batch runs again.

Invariant: ends that were taken never change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from joinery.errors import RunError
from joinery.files import write_whole
from joinery.place.place import Place
from joinery.project.product import ProjectSpec
from joinery.spark.recovery.checkpoint import positions_after
from joinery.spark.source.file_labels import FileLabels, numbers_of
from joinery.spark.source.source import SourceRead

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE_NAME = "joinery-ends.json"
_NO_OFFSET = "-"


class EndsError(RunError):
    """The ends that `ready` waits for cannot be read."""

    code = "RUN_ENDS"


class Ends:
    """The ends of all sources of one query.

    Args:
        checkpoint: The query's.
        reads: Its sources, in the order in which its checkpoint numbers them.
    """

    def __init__(self, checkpoint: Place, reads: Sequence[SourceRead]) -> None:
        self._checkpoint = checkpoint
        self._reads = tuple(reads)
        self._ends: Mapping[str, Mapping[str, Any]] | None = None

    def take(self, spark: SparkSession, spec: ProjectSpec) -> None:
        """Note where the sources end now, unless that was done before."""
        file = self._checkpoint / FILE_NAME
        if file.is_file():
            return
        ends = {each.source.name: _ends_of(spark, spec, each) for each in self._reads}
        write_whole(file, json.dumps(ends, indent=1), synced=False)

    def reached(self, relations: Iterable[str], batch_id: int) -> bool:
        """Return whether a batch ends at or behind the ends of some relations."""
        wanted = frozenset(relations)
        offsets = positions_after(self._checkpoint, batch_id)
        return all(
            self._read_reached(index, read, wanted, offset)
            for index, (read, offset) in enumerate(zip(self._reads, offsets, strict=True))
        )

    def _read_reached(
        self, index: int, read: SourceRead, wanted: frozenset[str], offset: str
    ) -> bool:
        topics = [topic for topic, names in read.relations.items() if wanted.intersection(names)]
        ends = self._known()[read.source.name]
        if read.source.kind == "kafka":
            return all(_kafka_reached(ends.get(topic, {}), offset) for topic in topics)
        seen = FileLabels(self._checkpoint, index).fresh()
        numbers = {(each.topic, each.name): each.number for each in seen}
        return all(_files_reached(topic, ends.get(topic, ()), numbers, offset) for topic in topics)

    def _known(self) -> Mapping[str, Mapping[str, Any]]:
        if self._ends is None:
            try:
                text = (self._checkpoint / FILE_NAME).read_text(encoding="utf-8")
                self._ends = json.loads(text)
            except (OSError, ValueError) as error:
                raise EndsError(
                    f"cannot read {FILE_NAME}, which says what `ready` waits for",
                    detail=f"{error}.",
                    hint="Start over: joinery run --rebuild.",
                ) from error
        return self._ends or {}


def _ends_of(spark: SparkSession, spec: ProjectSpec, read: SourceRead) -> Mapping[str, Any]:
    if read.source.kind == "kafka":
        return _kafka_ends(spark, read)
    folder = spec.path_of(str(dict(read.source.options)["path"]))
    return {
        topic: sorted(each.name for each in (folder / topic).glob("[!._]*.jsonl"))
        for topic in read.relations
    }


def _kafka_ends(spark: SparkSession, read: SourceRead) -> Mapping[str, Mapping[str, object]]:
    from joinery.project.kafka import kafka_options
    from joinery.spark.source.kafka import subscription
    from joinery.spark.source.kafka_client import KafkaClient

    with KafkaClient(spark, read.source.name, kafka_options(read.source)) as client:
        return {topic: client.ends(subscription([topic])) for topic in read.relations}


def _kafka_reached(ends: Mapping[str, Mapping[str, int]], offset: str) -> bool:
    read: dict[str, dict[str, int]] = {} if offset == _NO_OFFSET else json.loads(offset)
    return all(
        read.get(topic, {}).get(partition, 0) >= end
        for topic, partitions in ends.items()
        for partition, end in partitions.items()
    )


def _files_reached(
    topic: str, names: Sequence[str], numbers: Mapping[tuple[str, str], int], offset: str
) -> bool:
    told = {} if offset == _NO_OFFSET else json.loads(offset)
    done = numbers_of(told.get("topics", {}).get(topic, {}).get("done", ""))
    return all(numbers.get((topic, name)) in done for name in names)
