"""Brings what a query sends in real time to its sinks: by Spark's Kafka sink, or by the driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from joinery.spark.real_time.counts import LiveCounts
from joinery.spark.real_time.handover import HandoverWriter
from joinery.spark.real_time.rules import RealTimeTarget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from joinery.spark.kernel import JvmHandover


_BUFFER = 32 << 20  # Kafka's own default


class LiveWriter(Protocol):
    """Brings what a query sends in real time to its sinks."""

    def stream(self) -> tuple[SparkSession, Any]:
        """Return the session of what is written, and its writer, told where rows go.

        PySpark's own types of a writer do not know the trigger yet.
        """

    def begin(self, query_id: str) -> None:
        """Called once the query has begun."""

    def counts(self) -> LiveCounts:
        """Return what was counted beside the tasks, in their form."""

    def close(self) -> None:
        """Called once the query has ended."""


@dataclass(frozen=True, slots=True)
class TopicWriter:
    """Spark's own Kafka sink writes to topics.

    Attributes:
        target: Where records go.
        max_bytes: Asks for the size of the largest record of each topic.
        records: Makes the stream of records for the sink, of at most these sizes.
    """

    target: RealTimeTarget
    max_bytes: Callable[[], Mapping[str, int]]
    records: Callable[[Mapping[str, int]], DataFrame]

    def stream(self) -> tuple[SparkSession, Any]:
        """Return the writer of the stream of records, with the options of Kafka's client."""
        place, sizes = self.target.dead_letters, self.max_bytes()
        told = {**producer_properties(max(sizes.values())), **dict(place.properties)}
        options = {f"kafka.{name}": value for name, value in told.items()}
        records = self.records(sizes)
        writer: Any = records.writeStream.format("kafka")
        return records.sparkSession, (
            writer.options(**options).option("kafka.bootstrap.servers", place.bootstrap)
        )

    def begin(self, query_id: str) -> None:
        """Do nothing: tasks write."""

    def counts(self) -> LiveCounts:
        """Return nothing: tasks count."""
        return {}

    def close(self) -> None:
        """Do nothing: tasks have ended."""


@dataclass(frozen=True, slots=True)
class DriverWriter:
    """The driver writes what tasks hand over.

    Attributes:
        handover: From which it takes.
        handed: Makes the stream of what tasks hand over.
        sending: Takes and sends.
    """

    handover: JvmHandover
    handed: Callable[[], DataFrame]
    sending: HandoverWriter

    def stream(self) -> tuple[SparkSession, Any]:
        """Return the writer of the stream of what is handed over, each row as it comes."""
        rows = self.handed()
        writer: Any = rows.writeStream
        # PySpark's own method takes functions of Python.
        writer._jwrite = writer._jwrite.foreach(self.handover.writer)
        return rows.sparkSession, writer

    def begin(self, query_id: str) -> None:
        """Begin to take."""
        self.sending.begin(query_id)

    def counts(self) -> LiveCounts:
        """Return what sinks refused, or had newer."""
        return self.sending.counts()

    def close(self) -> None:
        """Take no more."""
        self.sending.close()


def producer_properties(max_bytes: int) -> dict[str, str]:
    """Return the properties of a producer of records up to `max_bytes`; a user's win."""
    return {
        "compression.type": "lz4",
        "max.request.size": str(max_bytes),
        "buffer.memory": str(max(_BUFFER, max_bytes)),
    }
