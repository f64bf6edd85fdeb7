"""What remains to be read is told by relation, by topic and by partition."""

from __future__ import annotations

from joinery.project.product import SourceSpec
from joinery.spark.source.source import Backlog, SourceRead, files_backlog, kafka_backlog


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
