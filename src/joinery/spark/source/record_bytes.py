"""How large the records of a Kafka source are, where the project bounds the bytes of a batch.

Spark's connector admits records, not bytes. So the newest records of each partition are
looked at when a query starts, and their mean size is taken for all of the partition; the
kernel goes on with the mean of those it has read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from joinery.project.kafka import KafkaOptions
from joinery.spark.source.kafka_client import (
    KafkaClient,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


_SAMPLE = 200


def mean_record_bytes(
    spark: SparkSession, options: KafkaOptions, client: KafkaClient, pattern: str
) -> float:
    """Return the mean size of the newest records of the matching topics; 0 without any."""
    edges = {each: (low, high) for each, low, high in client.edges(pattern) if high > low}
    if not edges:
        return 0.0
    first = {each: max(low, high - _SAMPLE) for each, (low, high) in edges.items()}
    last = {each: high for each, (_, high) in edges.items()}
    sizes = (
        spark.read.format("kafka")
        .options(**{f"kafka.{name}": value for name, value in options.properties.items()})
        .option("kafka.bootstrap.servers", options.bootstrap)
        .option("assign", _told(dict.fromkeys(edges, 0), assigned=True))
        .option("startingOffsets", _told(first))
        .option("endingOffsets", _told(last))
        .option("failOnDataLoss", "false")
        .load()
        .groupBy("topic", "partition")
        .agg(F.avg(_length("key") + _length("value")).alias("mean"))
        .collect()
    )
    counts = {each: high - low for each, (low, high) in edges.items()}
    return weighted_mean([(row["mean"], counts[row["topic"], row["partition"]]) for row in sizes])


def weighted_mean(sizes: list[tuple[float, int]]) -> float:
    """Return the mean of means, each with how many it stands for; 0 for none.

    Example:
        >>> weighted_mean([(100.0, 3), (20.0, 1)])
        80.0
    """
    total = sum(count for _, count in sizes)
    return sum(mean * count for mean, count in sizes) / total if total else 0.0


def _length(column: str) -> Column:
    return F.coalesce(F.octet_length(column), F.lit(0))


def _told(offsets: dict[tuple[str, int], int], *, assigned: bool = False) -> str:
    by_topic: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in offsets.items():
        by_topic.setdefault(topic, {})[str(partition)] = offset
    if assigned:
        return json.dumps(
            {topic: [int(each) for each in found] for topic, found in by_topic.items()}
        )
    return json.dumps(by_topic)
