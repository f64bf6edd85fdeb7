"""Opens a Kafka source: the records of topics, each with its place (partition, offset).

Topics are subscribed by pattern, so that one that is not there yet is an empty topic and is
read from its beginning once it appears. Spark's checkpoint keeps the positions.

What the sources of a batch still have to read, from what Spark tells of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from joinery.dead_letters.replay_key import KEY_AT, OFFSET_AT, PARTITION_AT
from joinery.model.warning import RunWarning
from joinery.project.kafka import REPLAY, KafkaOptions, kafka_options, pattern_of
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.spark.source.kafka_client import (
    COMMITTED,
    KafkaClient,
    Loss,
    check_committed,
    check_loss,
    lost_error,
    lost_warning,
    partitions_of,
    records_lost,
)
from joinery.spark.source.kafka_memory import KafkaMemory
from joinery.spark.source.kafka_records import RecordReader, replaced_in
from joinery.spark.source.last_read import Replaced, replaced_error, replaced_warning
from joinery.spark.source.record_bytes import mean_record_bytes
from joinery.spark.source.source import BatchRoom, RawStream, batch_options, positions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


_SOURCE = "dev.joinery.kernel.kafka.KafkaSource"
_EDGES = {"latest": -1, "earliest": -2}


def open_kafka(
    spark: SparkSession,
    spec: ProjectSpec,
    source: SourceSpec,
    topics: Sequence[str],
    begun: str | None,
    room: BatchRoom,
    memory: KafkaMemory | None = None,
) -> RawStream:
    """Return the raw stream of some topics.

    Args:
        spark: A session with the Kafka connector.
        spec: The project.
        source: The source.
        topics: As relations name them.
        begun: The checkpoint's positions, as Spark writes them; None for a fresh one.
        room: What a batch may count on.
        memory: Of the topics that the query has read.

    Raises:
        ConnectorMissingError: The session has no Kafka connector.
        KafkaUnreachableError: No broker answers.
        RecordsLostError: Records that were not read yet are gone, or others stand where some were
            read.
        OpenTransactionError: Records that were read are not committed yet.
    """
    options, pattern = kafka_options(source), subscription(topics)
    losses: Sequence[Loss] = ()
    warnings: Sequence[RunWarning] = ()
    begin: Mapping[str, str] = {}
    with KafkaClient(spark, source.name, options) as client:
        client.check()
        if begun is None:
            begin = _starting(options, pattern, client)
            if memory is not None:
                memory.ids.compare(source.name, client.ids(pattern), {}, goes_on=True)
                memory.last.forget_beyond(source.name, {})
        else:
            losses, warnings = _losses(spark, source.name, options, pattern, client, begun, memory)
            check_committed(client, source.name, options, positions(begun))
        # Real-time mode has no batches.
        bounded = spec.run.max_rows_per_batch != 0
        bounds = batch_options(spec.run, room) if bounded else {}
        if bounded and spec.run.max_bytes_per_batch is not None:
            bounds["rowBytes"] = str(mean_record_bytes(spark, options, client, pattern))
        if memory is not None:
            bounds["read"] = str(memory.hear(spark, source.name, live=not bounded))
    read = {
        # Spark searches a name for the pattern; "user" is not to be found in "user_profile".
        "subscribePattern": f"^{pattern}$",
        **bounds,
        "failOnDataLoss": str(options.fail_on_data_loss).lower(),
        **client_options(options),
        **begin,
    }
    frame = spark.readStream.format(_SOURCE).options(**read).load()
    return RawStream(
        records_of(frame, topics, spec.run.max_record_bytes),
        numbering(topics),
        lost=records_lost(losses),
        warnings=tuple(warnings),
    )


def _losses(
    spark: SparkSession,
    source: str,
    options: KafkaOptions,
    pattern: str,
    client: KafkaClient,
    begun: str,
    memory: KafkaMemory | None,
) -> tuple[Sequence[Loss], Sequence[RunWarning]]:
    """Return what a source lost that may go on without, and the warnings that say so.

    Raises:
        RecordsLostError: It may not.
    """
    read = positions(begun)
    edges = client.edges_of(read)
    gaps: list[Loss] = [*check_loss(source, options, read, edges)]
    replaced: Sequence[Replaced] = ()
    if memory is not None:
        goes_on = not options.fail_on_data_loss
        again = memory.ids.compare(source, client.ids(pattern), read, goes_on=goes_on)
        if again and not goes_on:
            raise lost_error(source, again)
        gaps = [*dict.fromkeys((*gaps, *again))]
        memory.last.forget_beyond(source, read)
        memory.last.forget(source, partitions_of(gaps))
        with RecordReader(spark, source, options) as reader:
            replaced = replaced_in(reader, memory.last.known(source, read), edges)
        if replaced and not goes_on:
            raise replaced_error(source, replaced)
        memory.last.forget(source, partitions_of(replaced))
    warnings = [lost_warning(source, gaps)] if gaps else []
    if replaced:
        warnings.append(replaced_warning(source, replaced))
    return [*gaps, *replaced], warnings


def client_options(options: KafkaOptions) -> dict[str, str]:
    """Return how to reach the brokers, as options of Spark's connector.

    What a transaction took back was never there, unless the project says otherwise.
    """
    properties = {f"kafka.{name}": value for name, value in options.properties.items()}
    return {
        "kafka.isolation.level": COMMITTED,
        **properties,
        "kafka.bootstrap.servers": options.bootstrap,
    }


def subscription(topics: Sequence[str]) -> str:
    r"""Return the regular expression that matches the whole names of topics and their replays.

    Example:
        >>> subscription(["user", "pattern:shard_[0-9]+"])
        '(?:(?:user)|(?!__)(?:shard_[0-9]+))(?:\\.joinery-replay)?'
    """
    names = "|".join(pattern_of(each) or f"(?:{_quoted(each)})" for each in topics)
    return f"(?:{names})(?:{_quoted(REPLAY)})?"


def numbering(topics: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return what each number of a raw record stands for.

    A topic that a relation names has a number of its own, and stands for the patterns that
    match it, too. Every other topic is numbered by the set of patterns that match it.

    Example:
        >>> numbering(["user", "pattern:u.*", "pattern:star_.*"])
        (('user', 'pattern:u.*'), ('pattern:u.*',), ('pattern:star_.*',), \
('pattern:u.*', 'pattern:star_.*'))
    """
    patterns = [each for each in topics if pattern_of(each)]
    named = [
        (each, *(other for other in patterns if re.fullmatch(pattern_of(other) or "", each)))
        for each in topics
        if each not in patterns
    ]
    sets = [
        tuple(each for bit, each in enumerate(patterns) if members >> bit & 1)
        for members in range(1, 1 << len(patterns))
    ]
    return (*named, *sets)


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


def records_of(frame: DataFrame, topics: Sequence[str], max_record_bytes: int) -> DataFrame:
    """Return raw records of what Spark's connector gives of topics, as relations name them."""
    frame = _placed(frame)
    named = [each for each in topics if not pattern_of(each)]
    number = _number(named, [found for each in topics if (found := pattern_of(each))])
    own = F.col("topic") if len(named) < len(topics) else F.lit(None)
    key, value = (F.coalesce(F.octet_length(each), F.lit(0)) for each in ("key", "value"))
    return frame.select(
        number.alias("topic"),
        F.col("major"),
        F.col("minor"),
        F.lit(None).cast("string").alias("file"),
        F.col("key"),
        F.col("value"),
        F.when(key + value > max_record_bytes, F.lit("too_large")).alias("error"),
        own.cast("string").alias("name"),
        logged_us("timestamp"),
    )


def logged_us(timestamp: str) -> Column:
    """Return the column `logged` of records: their time, but where Kafka gives -1 for none."""
    micros = F.unix_micros(timestamp)
    return F.when(micros >= 0, micros).alias("logged")


def _placed(frame: DataFrame) -> DataFrame:
    """Return the records at their places; those of a replay stand where they stood at first.

    A replayed record's key begins with its place (`joinery.dead_letters.replay_key`).
    """
    again = F.col("topic").endswith(REPLAY)
    major, minor = (
        F.expr(f"try_cast(cast(substring(key, {first}, {length}) as string) as bigint)")
        for first, length in (PARTITION_AT, OFFSET_AT)
    )
    key = F.when(_flag() == "k", F.substring("key", KEY_AT, F.octet_length("key")))
    placed = again & major.isNotNull() & minor.isNotNull()
    return frame.select(
        F.when(again, F.expr(f"left(topic, length(topic) - {len(REPLAY)})"))
        .otherwise(F.col("topic"))
        .alias("topic"),
        F.when(placed, major).otherwise(F.col("partition")).cast("bigint").alias("major"),
        F.when(placed, minor).otherwise(F.col("offset")).alias("minor"),
        F.when(placed, key).otherwise(F.col("key")).alias("key"),
        F.col("value"),
        F.col("timestamp"),
    )


def _flag() -> Column:
    return F.substring("key", KEY_AT - 1, 1).cast("string")


def _number(named: Sequence[str], patterns: Sequence[str]) -> Column:
    if not patterns and len(named) == 1:
        return F.lit(0)
    number: Column | None = None
    for index, topic in enumerate(named):
        found = F.col("topic") == topic
        number = (number if number is not None else F).when(found, F.lit(index))
    members = F.lit(len(named) - 1)
    for bit, pattern in enumerate(patterns):
        found = F.col("topic").rlike(f"^(?:{pattern})$")
        members += F.when(found, F.lit(1 << bit)).otherwise(F.lit(0))
    if number is None:
        return members
    return number.otherwise(members) if patterns else number
