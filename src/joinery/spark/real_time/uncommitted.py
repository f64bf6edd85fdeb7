"""Finds the documents that real-time mode sent and never committed.

Real-time mode sends before it commits. What it sent since the last commit is in the topics,
and join state knows nothing of it; the same changes may later give other documents, or none.
So the next run reads the ends of the topics, and its first batch sends those roots again. What the
driver sent to other sinks it has noted beside the checkpoint, in a file for each interval.

Limits: a tombstone that the broker has compacted away is not found, so a run that ended
without a commit is to be started again within the topic's `delete.retention.ms` (a day).

Invariant: the mark is at the checkpoint before the first document is sent, and never tells of a
later commit than there was: what a copy of the checkpoint, or a batch that `joinery rescale`
adds to it, has for times does not count.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.files import write_whole
from joinery.place.place import Place, local, numbers_in
from joinery.project.kafka import KafkaOptions
from joinery.spark.real_time.rules import KafkaTopic
from joinery.spark.source.kafka_client import KafkaClient

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILE = "real_time.json"
_ROOTS = "real_time.roots"
_SENT = "real_time.sent."
# The commit log is written beside the first records of the next batch, and clocks differ.
_MARGIN_S = 60.0
_VERSION = "joinery.version"


@dataclass(frozen=True, slots=True)
class PendingRoots:
    """Roots whose documents are to be sent again.

    Attributes:
        batch: The batch that sends them: the first after the last commit.
        roots: A file with a line for each: `{"product", "key", "version"}`; the key is a text of
            JSON. It is beside the checkpoint, where tasks read what is staged, too.
    """

    batch: int
    roots: Path


class RealTimeMark:
    """Tells, beside a query's checkpoint, that real-time mode ran on it.

    Args:
        checkpoint: The checkpoint of the query.
    """

    def __init__(self, checkpoint: Place) -> None:
        self._checkpoint = checkpoint
        self._file = checkpoint / _FILE
        self._noted = -1

    @property
    def is_there(self) -> bool:
        """Whether real-time mode ran, and no run in batches has begun since that found it done."""
        return self._file.exists()

    def begin(self) -> None:
        """Note that real-time mode begins to send."""
        self._noted, _ = last_commit(self._checkpoint)
        self._note(time.time())

    def follow(self) -> None:
        """Note the last commit, if there is a new one; what was sent before it is committed."""
        last, committed_at = last_commit(self._checkpoint)
        if last > self._noted:
            self._note(committed_at)
            self._noted = last

    def renumber(self) -> None:
        """Have what is still to be sent again wait for a batch behind one that is added now."""
        if (mark := self._read()) is None:
            return
        last, _ = last_commit(self._checkpoint)
        if _untold(mark, last):
            for interval, file in self._sent().items():
                if interval > last:
                    file.rename(file.with_name(f"{_SENT}{last + 2}"))
            self._note(mark["since"])

    def pending(
        self, spark: SparkSession, topics: Mapping[str, Sequence[KafkaTopic]]
    ) -> PendingRoots | None:
        """Return what is to be sent again, and note the batch that does.

        Args:
            spark: A session with the Kafka connector.
            topics: By product, where its documents go.
        """
        mark = self._read()
        if mark is None:
            return None
        last, _ = last_commit(self._checkpoint)
        found = False
        if _untold(mark, last):
            since = float(mark["since"]) - _MARGIN_S
            found = self._find(chain(_newest(spark, topics, since), self._noted_after(last)))
        if not found:
            self._file.unlink()
            self._roots.unlink(missing_ok=True)
            for each in self._sent().values():
                each.unlink()
            return None
        self._write({**mark, "told_in": last + 1})
        return PendingRoots(last + 1, self._roots)

    def _sent(self) -> dict[int, Path]:
        """Return the files of what the driver sent, by the interval of Spark that did."""
        if not isinstance(self._checkpoint, Path):
            return {}
        found = self._checkpoint.glob(f"{_SENT}*")
        return {int(each.name.removeprefix(_SENT)): each for each in found}

    def _noted_after(self, last: int) -> Iterator[dict[str, Any]]:
        """Yield what the driver sent after a commit: each root with its highest version."""
        newest: dict[str, dict[str, int]] = {}
        for interval, file in sorted(self._sent().items()):
            if interval > last:
                for each in _lines(file):
                    known, key = newest.setdefault(each["product"], {}), each["key"]
                    known[key] = max(each["version"], known.get(key, 0))
        for product, versions in newest.items():
            for key, version in versions.items():
                yield {"product": product, "key": key, "version": version}

    @property
    def _roots(self) -> Path:
        return local(self._checkpoint / _ROOTS, "real-time mode")

    def _find(self, roots: Iterable[dict[str, Any]]) -> bool:
        """Write down roots, as they come; return whether there are any."""
        part, found = self._roots.with_name(f".{_ROOTS}.part"), False
        with part.open("w", encoding="utf-8") as lines:
            for each in roots:
                lines.write(json.dumps(each) + "\n")
                found = True
        part.replace(self._roots)
        return found

    def _read(self) -> dict[str, Any] | None:
        try:
            mark = dict(json.loads(self._file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        if "followed" not in mark:  # It was written when real time began, and at no commit.
            _, committed_at = last_commit(self._checkpoint)
            mark |= {"since": max(committed_at, float(mark["since"])), "followed": True}
        return mark

    def _note(self, since: float) -> None:
        self._write({"since": since, "followed": True})

    def _write(self, mark: Mapping[str, Any]) -> None:
        write_whole(self._file, json.dumps(mark), synced=True)


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file that are whole: of one that is broken off nothing was sent."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            told = None
            with suppress(ValueError):
                told = json.loads(line)
            if told is not None:
                yield told


def _untold(mark: Mapping[str, Any], last: int) -> bool:
    """Return whether no batch up to the last commit has sent again what a mark is about."""
    return "told_in" not in mark or mark["told_in"] > last


def last_commit(checkpoint: Place) -> tuple[int, float]:
    """Return the number of the newest committed batch and when it was; (-1, 0.0) without one."""
    commits = checkpoint / "commits"
    numbers = numbers_in(commits)
    if not numbers:
        return -1, 0.0
    newest = local(commits / str(max(numbers)), "real-time mode")
    return max(numbers), newest.stat().st_mtime


def _newest(
    spark: SparkSession, topics: Mapping[str, Sequence[KafkaTopic]], since: float
) -> Iterable[dict[str, Any]]:
    """Yield the keys that topics were given since a moment, with their highest version."""
    from pyspark.sql import functions as F

    found = [
        highest_versions(records).withColumn("product", F.lit(product))
        for product, places in topics.items()
        for place in places
        for records in _records(spark, place, since)
    ]
    if not found:
        return
    united = reduce(lambda one, other: one.unionByName(other), found)
    newest = united.groupBy("product", "key").agg(F.max("version").alias("version"))
    for row in newest.toLocalIterator():
        # As it is: a key may have more digits than a float of Python.
        yield {"product": row["product"], "key": row["key"], "version": row["version"]}


def _records(spark: SparkSession, place: KafkaTopic, since: float) -> Iterator[DataFrame]:
    """Yield the records that a topic was given since a moment; nothing where it is not there."""
    options = KafkaOptions(bootstrap=place.bootstrap, properties=dict(place.properties))
    with KafkaClient(spark, place.topic, options) as client:
        if not client.partitions(re.escape(place.topic)):
            return
    read = {
        "subscribe": place.topic,
        "includeHeaders": "true",
        "startingTimestamp": str(int(since * 1000)),
        "startingOffsetsByTimestampStrategy": "latest",
        **{f"kafka.{name}": value for name, value in place.properties},
        "kafka.bootstrap.servers": place.bootstrap,
    }
    yield spark.read.format("kafka").options(**read).load()


def highest_versions(records: DataFrame) -> DataFrame:
    """Return the keys of Kafka's records as texts, with their highest version.

    Records without a key or a version are none of ours, whatever headers they have.
    """
    from pyspark.sql import functions as F

    ours = F.filter("headers", lambda each: each["key"] == _VERSION)
    told = F.try_element_at(ours, F.lit(-1))["value"].cast("string")
    return (
        records.where(F.col("key").isNotNull())
        .select(F.col("key").cast("string").alias("key"), told.try_cast("long").alias("version"))
        .where(F.col("version").isNotNull())
        .groupBy("key")
        .agg(F.max("version").alias("version"))
    )
