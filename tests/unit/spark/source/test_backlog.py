"""What remains to be read is told by relation, by topic and by partition."""

from __future__ import annotations

from joinery.model.batch import BatchLimit
from joinery.project.kind import SourceSpec
from joinery.project.run import RunSpec
from joinery.spark.source.source import (
    Backlog,
    BatchRoom,
    SourceRead,
    batch_options,
    files_backlog,
    kafka_backlog,
    limit_of,
)


def read(**relations: tuple[str, ...]) -> SourceRead:
    topics = {name.replace("__", "."): each for name, each in relations.items()}
    return SourceRead(SourceSpec("changes", "kafka"), topics)


def test_every_relation_of_a_topic_has_the_lag_of_its_partitions() -> None:
    found = kafka_backlog(
        read(shop__user=("user", "boss")),
        '{"shop.user":{"0":4,"1":2}}',
        '{"shop.user":{"0":7,"1":2}}',
    )

    assert {"user": 3, "boss": 3} == found.rows
    assert {"shop.user": {"0": 3, "1": 0}} == found.lag


def test_a_partition_that_no_batch_has_read_yet_lags_by_all_it_has() -> None:
    found = kafka_backlog(read(user=("user",)), "{}", '{"user":{"0":7}}')

    assert {"user": 7} == found.rows


def test_a_pattern_lags_by_all_topics_that_match() -> None:
    named = SourceRead(SourceSpec("changes", "kafka"), {"pattern:shard_[0-9]+": ("user",)})

    found = kafka_backlog(named, "{}", '{"shard_1":{"0":7},"shard_2":{"0":5},"other":{"0":1}}')

    assert {"user": 12} == found.rows


def test_positions_that_nobody_told_are_no_backlog() -> None:
    assert {"user": 0} == kafka_backlog(read(user=("user",)), None, "null").rows


def test_both_kinds_of_source_come_together() -> None:
    files = files_backlog(read(star=("star",)), {"star.bytes": "70", "star.bytesRead": "50"})

    both = files.plus(kafka_backlog(read(user=("user",)), "{}", '{"user":{"0":7}}'))

    assert Backlog({"star": 20}, {"user": 7}, {"user": {"0": 7}}) == both


def test_how_large_a_batch_may_be_is_told_by_source_where_it_moves() -> None:
    told = {"batch.rows": "800000", "batch.bytes": "1024", "batch.bound": "memory"}

    limit = BatchLimit(rows=800_000, bytes=1024, bound="memory")
    assert {"changes": limit} == limit_of(read(user=("user",)), told).limits
    assert {} == limit_of(read(user=("user",)), {"user.bytes": "7"}).limits


def test_a_project_leaves_the_size_of_batches_open_or_bounds_it() -> None:
    room = BatchRoom(memory_share=0.5, most_rows=7, most_bytes=100, paced=False)

    left_open = batch_options(RunSpec(max_bytes_per_batch=1000), room)
    bounded = batch_options(RunSpec(max_rows_per_batch=9, max_bytes_per_batch=1000), room)

    assert ("false", "0", "7", "100") == (
        left_open["paced"],
        left_open["maxRowsPerBatch"],
        left_open["mostRowsPerBatch"],
        left_open["maxBytesPerBatch"],
    )
    assert {"maxRowsPerBatch": "9", "maxBytesPerBatch": "1000"} == bounded
