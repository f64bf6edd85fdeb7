"""What a heartbeat in a topic is known by."""

from __future__ import annotations

from joinery.spark.source.kafka_watch import heartbeat_sign


def test_records_that_a_topic_no_longer_keeps_are_no_heartbeat() -> None:
    before = heartbeat_sign({("beats", 0): (3, 9)})

    assert before == heartbeat_sign({("beats", 0): (7, 9)})
    assert before != heartbeat_sign({("beats", 0): (7, 10)})
