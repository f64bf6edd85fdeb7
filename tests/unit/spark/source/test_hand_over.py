"""Which records of a topic are handed over, and at which places."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_reader import Record
from joinery.dead_letters.replay_key import at_first_place, replay_key
from joinery.spark.source.hand_over import HandedOver, log_records


def record(offset: int, partition: int = 0) -> Record:
    return Record(partition, offset, b"k", b"{}", 1_000 * offset)


def places(handed: HandedOver) -> list[tuple[int, int]]:
    told = [json.loads(line) for line in handed.file.read_text().splitlines()]
    return [(each["partition"], each["offset"]) for each in told]


def put_back(offset: int, first: int) -> Record:
    """Return a record that was put back, with where it was first."""
    return Record(0, offset, replay_key(0, first, b"k"), b"{}")


def test_records_are_told_with_when_the_topic_took_them(tmp_path: Path) -> None:
    handed = HandedOver(tmp_path / "records")

    handed.take([record(1), record(0, 1)], 0, most=9)

    assert [(0, 1), (1, 0)] == places(handed)
    assert ({0: {(0, 1): 1.0, (1, 0): 0.0}}, {}) == (handed.logged_s, handed.left)


@pytest.mark.parametrize(
    ("begun", "read"),
    [
        ({}, [0, 1, 2, 0, 1]),
        ({"t": {"0": 2}}, [2, 0, 1]),
        ({"t": {"0": 2}, "t.joinery-replay": {"0": 1}}, [2, 1]),
    ],
)
def test_each_topic_is_read_from_its_own_first_offset(
    begun: Mapping[str, Mapping[str, int]], read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = {
        "t": [record(0), record(1), record(2)],
        "t.joinery-replay": [put_back(0, 0), put_back(1, 1)],
    }
    monkeypatch.setattr(
        "joinery.spark.source.hand_over.read_topic", lambda brokers, topic: topics[topic]
    )

    assert read == [each.offset for each in log_records(Brokers("", {}), "t", begun)]


def test_a_record_that_was_put_back_stands_at_its_first_place(tmp_path: Path) -> None:
    handed = HandedOver(tmp_path / "records")
    again = at_first_place(Record(0, 0, replay_key(0, 1, b"k"), b'{"id":1}', 9_000))

    handed.take([record(0), record(1), record(2), again], 0, most=9)

    assert [(0, 0), (0, 1), (0, 2), (0, 1)] == places(handed)
    assert 1.0 == handed.logged_s[0][0, 1]


def test_what_is_too_much_is_counted(tmp_path: Path) -> None:
    handed = HandedOver(tmp_path / "records")

    handed.take([record(0), record(1), record(2)], 4, most=1)

    assert ([(0, 0)], {4: 2}) == (places(handed), handed.left)
