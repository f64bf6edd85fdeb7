"""Opens a Kafka source: the records of topics, each with its place (partition, offset).

Topics are subscribed by pattern, so that one that is not there yet is an empty topic and is
read from its beginning once it appears. Spark's checkpoint keeps the positions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from joinery.spark.kafka_client import KafkaClient
from joinery.spec.kafka import KafkaOptions, kafka_options, pattern_of
from joinery.spec.product import ProjectSpec, SourceSpec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_EDGES = {"latest": -1, "earliest": -2}


def open_kafka(
    spark: SparkSession, spec: ProjectSpec, source: SourceSpec, topics: Sequence[str]
) -> DataFrame:
    """Return the raw stream of some topics, numbered in their order.

    Raises:
        ConnectorMissingError: The session has no Kafka connector.
        KafkaUnreachableError: No broker answers.
    """
    options = kafka_options(source)
    pattern = subscription(topics)
    with KafkaClient(spark, source.name, options) as client:
        client.check()
        starting = _starting(options, pattern, client)
    read = {
        "subscribePattern": pattern,
        "maxOffsetsPerTrigger": str(spec.run.max_rows_per_batch),
        "failOnDataLoss": str(options.fail_on_data_loss).lower(),
        **{f"kafka.{name}": value for name, value in options.properties},
        **starting,
        "kafka.bootstrap.servers": options.bootstrap,
    }
    return _records(spark.readStream.format("kafka").options(**read).load(), topics, spec)


def subscription(topics: Sequence[str]) -> str:
    r"""Return the regular expression that matches the whole names of some topics.

    Example:
        >>> subscription(["shop.user", "pattern:shard_[0-9]+"])
        '(?:shop\\.user)|(?:shard_[0-9]+)'
    """
    return "|".join(f"(?:{pattern_of(each) or _quoted(each)})" for each in topics)


def _quoted(topic: str) -> str:
    """Return an expression for just this name; what Kafka allows in names needs no more."""
    return re.sub(r"([^A-Za-z0-9_-])", r"\\\1", topic)


def _starting(options: KafkaOptions, pattern: str, client: KafkaClient) -> Mapping[str, str]:
    match options.starting:
        case "earliest" | "latest":
            return {"startingOffsets": options.starting}
        case int():
            # Without a record that young, a partition has nothing to be read yet.
            told = {"startingTimestamp": str(options.starting)}
            return {**told, "startingOffsetsByTimestampStrategy": "latest"}
        case offsets:
            partitions = client.partitions(pattern)
            found = {topic: _numbers(offsets.get(topic), each) for topic, each in partitions}
            return {"startingOffsets": json.dumps(found) if found else "earliest"}


def _numbers(
    given: Mapping[int, int | str] | str | None, partitions: Sequence[int]
) -> dict[str, int]:
    """Return an offset for every partition; those that are not named begin earliest."""
    known = given if isinstance(given, Mapping) else dict.fromkeys(partitions, given or "earliest")
    wanted = {each: known.get(each, "earliest") for each in partitions}
    return {
        str(each): _EDGES[offset] if isinstance(offset, str) else offset
        for each, offset in wanted.items()
    }


def _records(frame: DataFrame, topics: Sequence[str], spec: ProjectSpec) -> DataFrame:
    size = F.coalesce(F.octet_length("key"), F.lit(0)) + F.coalesce(
        F.octet_length("value"), F.lit(0)
    )
    return frame.select(
        _number(topics).alias("topic"),
        F.col("partition").cast("bigint").alias("major"),
        F.col("offset").alias("minor"),
        F.lit(None).cast("string").alias("file"),
        F.col("key"),
        F.col("value"),
        F.when(size > spec.run.max_record_bytes, F.lit("too_large")).alias("error"),
    )


def _number(topics: Sequence[str]) -> Column:
    if len(topics) == 1:
        return F.lit(0)
    first, *rest = [F.col("topic") == topic for topic in topics]
    number = F.when(first, F.lit(0))
    for index, found in enumerate(rest, start=1):
        number = number.when(found, F.lit(index))
    return number
