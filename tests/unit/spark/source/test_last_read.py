"""A log that has other records than those that were read is found, and nothing else is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from joinery.spark.source.kafka_client import Edges, Partition
from joinery.spark.source.kafka_records import replaced_in, replaced_in_any
from joinery.spark.source.last_read import (
    FILE_NAME,
    LastRead,
    RecordSign,
    Replaced,
    Signs,
    replaced,
    replaced_error,
)

READ = RecordSign(offset=7, time_ms=1000, key=3, value=5)
ORDERS = ("orders", 0)


def found(sign: RecordSign | None) -> list[Replaced]:
    return replaced({ORDERS: READ}, {} if sign is None else {ORDERS: sign})


@pytest.mark.parametrize(
    ("sign", "differs"),
    [
        (replace(READ, time_ms=1001), ("time",)),
        (replace(READ, key=None), ("key",)),
        (replace(READ, value=None), ("value",)),
        (replace(READ, time_ms=1001, key=4, value=6), ("time", "key", "value")),
    ],
)
def test_a_record_that_differs_in_anything_stands_in_place_of_the_one_that_was_read(
    sign: RecordSign, differs: tuple[str, ...]
) -> None:
    assert [Replaced("orders", 0, 7, differs)] == found(sign)


@pytest.mark.parametrize("sign", [READ, None, RecordSign(6, 1, 1, 1)])
def test_the_same_record_and_none_prove_nothing(sign: RecordSign | None) -> None:
    assert [] == found(sign)


def test_the_error_says_where_and_what_differs_and_the_way_out() -> None:
    error = replaced_error("shop", found(replace(READ, time_ms=2, value=6)))

    assert 'source "shop" lost records that were read, and has others in their place' == (
        error.message
    )
    assert (
        'Topic "orders" partition 0 has another record at offset 7 than the one that was read there'
        " (time and value differ)."
    ) == error.detail
    assert "joinery run --rebuild" in error.hint


def test_what_is_known_is_there_after_a_restart_by_source_and_topic(tmp_path: Path) -> None:
    last = LastRead(tmp_path, lambda: None)
    tombstone = RecordSign(3, -1, None, None)
    last.note("shop", {ORDERS: READ, ("orders", 10): tombstone, ("users", 0): READ})
    last.note("old", {ORDERS: tombstone})
    last.forget("shop", {("users", 0)})

    again = LastRead(tmp_path, lambda: None)

    assert {ORDERS: READ, ("orders", 10): tombstone} == again.known("shop", {"orders", "users"})
    assert {} == again.known("shop", {"users"})
    assert {ORDERS: tombstone} == again.known("old", {"orders"})


def test_what_the_checkpoint_has_not_read_is_forgotten(tmp_path: Path) -> None:
    last = LastRead(tmp_path, lambda: None)
    last.note("shop", {ORDERS: READ, ("orders", 1): READ, ("users", 0): READ})

    last.forget_beyond("shop", {"orders": {"0": 8, "1": 7}})

    assert {ORDERS: READ} == last.known("shop", {"orders", "users"})


def test_what_is_cut_off_is_not_known(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('{"shop": {"orders": {"0": [7, 10')

    assert {} == LastRead(tmp_path, lambda: None).known("shop", {"orders"})


class Records:
    """The records of a log in memory, each partition alike, and what was asked of it."""

    def __init__(self, *offsets: int, partitions: int = 1) -> None:
        self.signs: dict[Partition, dict[int, RecordSign]] = {
            ("orders", each): {offset: RecordSign(offset, 1, 1, 1) for offset in offsets}
            for each in range(partitions)
        }
        self.asked: list[Mapping[Partition, int]] = []

    def at(self, offsets: Mapping[Partition, int]) -> dict[Partition, RecordSign]:
        self.asked.append(offsets)
        return {
            place: self.signs[place][min(there)]
            for place, first in offsets.items()
            if (there := [each for each in self.signs[place] if each >= first])
        }

    @property
    def edges(self) -> Edges:
        ends = {place: (min(signs), max(signs) + 1) for place, signs in self.signs.items() if signs}
        return dict.fromkeys(self.signs, (0, 0)) | ends


def read(offset: int, partition: int = 0) -> Signs:
    return {("orders", partition): RecordSign(offset, 1, 1, 1)}


def test_a_known_record_that_retention_removed_or_that_is_not_there_yet_is_not_asked_for() -> None:
    log = Records(5, 6)

    assert [] == replaced_in(log, read(4), log.edges)
    assert [] == replaced_in(log, read(7), log.edges)
    assert [{}, {}] == log.asked


def test_a_record_that_compaction_removed_proves_nothing() -> None:
    log = Records(5, 7)

    assert [] == replaced_in(log, read(6), log.edges)


def test_a_partition_that_ends_before_what_was_read_keeps_no_other_from_being_compared() -> None:
    log = Records(0, 1, partitions=2)
    log.signs[ORDERS] = {}
    log.signs["orders", 1][1] = RecordSign(1, 9, 9, 9)

    (found,) = replaced_in(log, {**read(1), **read(1, partition=1)}, log.edges)

    assert 1 == found.partition


def test_what_each_batch_read_since_is_compared_and_told_of_once() -> None:
    log = Records(0, 1, 2, 3)
    for offset in (1, 2):
        log.signs[ORDERS][offset] = RecordSign(offset, 9, 9, 9)

    found = replaced_in_any(log, [read(0), read(1), read(2), read(3)], log.edges)

    assert [1] == [each.offset for each in found]


def test_a_run_that_ended_before_a_commit_goes_by_the_batch_before(tmp_path: Path) -> None:
    last = LastRead(tmp_path, lambda: None)
    for offset in (3, 5, 8):
        last.note("shop", read(offset))
    found = {}

    for end in (9, 6):  # committed, and not
        again = LastRead(tmp_path, lambda: None)
        again.forget_beyond("shop", {"orders": {"0": end}})
        found[end] = again.known("shop", {"orders"})

    assert {9: read(8), 6: read(5)} == found


def test_a_batch_that_runs_again_is_noted_in_place_of_the_first(tmp_path: Path) -> None:
    last = LastRead(tmp_path, lambda: None)
    last.note("shop", read(3))
    last.note("shop", read(8))
    last.forget_beyond("shop", {"orders": {"0": 4}})
    last.note("shop", {ORDERS: RecordSign(8, 2, 2, 2)})

    last.forget_beyond("shop", {"orders": {"0": 4}})

    assert read(3) == last.known("shop", {"orders"})


def test_what_one_version_noted_of_a_partition_is_read_by_the_next(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('{"shop": {"orders": {"0": [7, 1000, 3, 5]}}}')

    assert {ORDERS: READ} == LastRead(tmp_path, lambda: None).known("shop", {"orders"})


def test_what_was_read_is_unproven_until_the_log_was_found_to_be_the_same(tmp_path: Path) -> None:
    last = LastRead(tmp_path, lambda: None)
    last.note("shop", {**read(3), **read(4, partition=1)})
    again = LastRead(tmp_path, lambda: None)
    for offset in (5, 6):
        again.note("shop", read(offset))
    begun = again.unproven("shop")

    again.note("shop", read(7))
    again.prove("shop", len(begun))
    since = again.unproven("shop")
    again.forget("shop", {ORDERS})

    assert ({**read(3), **read(4, partition=1)}, read(5), read(6)) == begun
    assert ({**read(6), **read(4, partition=1)}, read(7)) == since
    assert (read(4, partition=1), {}) == again.unproven("shop")


def test_a_record_from_which_a_log_differs_stands_whatever_is_read_of_it_then(
    tmp_path: Path,
) -> None:
    last = LastRead(tmp_path, lambda: None)
    for offset in (3, 5, 8):
        last.note("shop", {**read(offset), **read(offset, partition=1)})
    last.hold("shop", [Replaced("orders", 0, 5, ("value",))])
    last.note("shop", {**read(9), **read(9, partition=1)})

    again = LastRead(tmp_path, lambda: None)
    again.forget_beyond("shop", {"orders": {"0": 10, "1": 10}})

    assert {**read(5), **read(9, partition=1)} == again.known("shop", {"orders"})


def test_a_log_that_may_go_on_is_noted_again_after_it_differed(tmp_path: Path) -> None:
    last = LastRead(tmp_path, lambda: None)
    last.note("shop", read(5))
    last.hold("shop", [Replaced("orders", 0, 5, ("value",))])
    last.forget("shop", {ORDERS})
    last.note("shop", read(9))

    assert read(9) == last.known("shop", {"orders"})


def test_a_batch_that_read_nothing_writes_nothing(tmp_path: Path) -> None:
    LastRead(tmp_path, lambda: None).note("shop", {})

    assert [] == [*tmp_path.iterdir()]


def test_the_batches_since_a_look_that_does_not_come_are_bounded(tmp_path: Path) -> None:
    last = LastRead(tmp_path, lambda: None)
    for offset in range(150):
        last.note("shop", read(offset))

    every = last.unproven("shop")

    assert 100 == len(every)
    assert [read(50), read(149)] == [every[0], every[-1]]
