"""Which records of a topic are handed over, and at which places."""

from __future__ import annotations

import json
from pathlib import Path

from joinery.clients.kafka_reader import Record
from joinery.dead_letters.replay import at_first_place, replay_key
from joinery.spark.source.hand_over import HandedOver


def record(offset: int, partition: int = 0) -> Record:
    return Record(partition, offset, b"k", b"{}", 1_000 * offset)


def places(handed: HandedOver) -> list[tuple[int, int]]:
    told = [json.loads(line) for line in handed.file.read_text().splitlines()]
    return [(each["partition"], each["offset"]) for each in told]


def test_records_before_the_first_that_is_read_are_left_out(tmp_path: Path) -> None:
    handed = HandedOver(tmp_path / "records")

    handed.take([record(0), record(1), record(0, 1)], 0, most=9, begun={"0": 1})

    assert [(0, 1), (1, 0)] == places(handed)
    assert ({0: {(0, 1): 1.0, (1, 0): 0.0}}, {}) == (handed.logged_s, handed.left)


def test_a_record_that_was_put_back_stands_at_its_first_place(tmp_path: Path) -> None:
    handed = HandedOver(tmp_path / "records")
    again = at_first_place(Record(0, 0, replay_key(0, 1, b"k"), b'{"id":1}', 9_000))

    handed.take([record(0), record(1), record(2), again], 0, most=9, begun={})

    assert [(0, 0), (0, 1), (0, 2), (0, 1)] == places(handed)
    assert 1.0 == handed.logged_s[0][0, 1]


def test_what_is_too_much_is_counted(tmp_path: Path) -> None:
    handed = HandedOver(tmp_path / "records")

    handed.take([record(0), record(1), record(2)], 4, most=1, begun={})

    assert ([(0, 0)], {4: 2}) == (places(handed), handed.left)
