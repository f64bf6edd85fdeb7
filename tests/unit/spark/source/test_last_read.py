"""A log that has other records than those that were read is found, and nothing else is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from joinery.spark.source.kafka_client import Edges, Partition
from joinery.spark.source.kafka_records import LastReadCheck, replaced_in
from joinery.spark.source.last_read import (
    FILE_NAME,
    LastRead,
    RecordSign,
    Replaced,
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
    """The records of a log in memory, with the ranges that were asked for."""

    def __init__(self, *offsets: int, partitions: int = 1) -> None:
        self.signs: dict[Partition, dict[int, RecordSign]] = {
            ("orders", each): {offset: RecordSign(offset, 1, 1, 1) for offset in offsets}
            for each in range(partitions)
        }
        self.asked: list[Mapping[Partition, tuple[int, int]]] = []

    def last_in(self, ranges: Mapping[Partition, tuple[int, int]]) -> dict[Partition, RecordSign]:
        self.asked.append(ranges)
        return {
            place: self.signs[place][max(there)]
            for place, (first, end) in ranges.items()
            if (there := [each for each in self.signs[place] if first <= each < end])
        }

    @property
    def edges(self) -> Edges:
        ends = {place: (min(signs), max(signs) + 1) for place, signs in self.signs.items() if signs}
        return dict.fromkeys(self.signs, (0, 0)) | ends

    def look(self, check: LastReadCheck, end: int, *, goes_on: bool = False) -> list[int]:
        """Look at all partitions, each read to the same end; return the offsets that differ."""
        read = {"orders": {str(partition): end for _, partition in self.signs}}
        return [each.offset for each in check.look(self, read, self.edges, goes_on=goes_on)]


def test_a_look_at_what_was_read_on_compares_then_notes(tmp_path: Path) -> None:
    last = LastRead(tmp_path, lambda: None)
    log, check = Records(0, 1, 2, 3, 4), LastReadCheck(last, "shop")
    first, known = log.look(check, 2), last.known("shop", {"orders"})
    asked = len(log.asked)
    idle = log.look(check, 2)
    asked_idle = len(log.asked) - asked
    log.signs[ORDERS][1] = RecordSign(1, 9, 9, 9)

    refused = [log.look(check, 4), log.look(check, 4)]
    went_on = [log.look(check, 4, goes_on=True), log.look(check, 5, goes_on=True)]

    assert [] == first == idle
    assert 0 == asked_idle
    assert {ORDERS: RecordSign(1, 1, 1, 1)} == known
    assert [[1], [1]] == refused
    assert [[1], []] == went_on


def test_what_differs_is_told_once_where_a_source_goes_on_though_markers_end_its_log(
    tmp_path: Path,
) -> None:
    last = LastRead(tmp_path, lambda: None)
    log, check = Records(0, 1, 30), LastReadCheck(last, "shop")
    log.look(check, 2)
    log.signs[ORDERS][1] = RecordSign(1, 9, 9, 9)

    went_on = [log.look(check, end, goes_on=True) for end in (20, 30)]

    assert [[1], []] == went_on
    assert {} == last.known("shop", {"orders"})


def test_a_partition_that_ends_before_what_was_read_keeps_no_other_from_being_compared(
    tmp_path: Path,
) -> None:
    log, check = (
        Records(0, 1, 2, partitions=2),
        LastReadCheck(LastRead(tmp_path, lambda: None), "shop"),
    )
    log.look(check, 2)
    log.signs[ORDERS] = {}
    log.signs["orders", 1][1] = RecordSign(1, 9, 9, 9)

    assert [1] == log.look(check, 3)


def test_where_markers_of_transactions_end_a_log_the_record_before_them_is_known(
    tmp_path: Path,
) -> None:
    last = LastRead(tmp_path, lambda: None)
    log = Records(0, 1, 9)

    log.look(LastReadCheck(last, "shop"), 5)

    assert {ORDERS: RecordSign(1, 1, 1, 1)} == last.known("shop", {"orders"})


def test_a_known_record_that_retention_removed_or_that_is_not_there_yet_is_not_asked_for() -> None:
    log = Records(5, 6)
    known = {ORDERS: RecordSign(4, 1, 1, 1)}

    assert [] == replaced_in(log, known, log.edges)
    assert [] == replaced_in(log, {ORDERS: RecordSign(7, 1, 1, 1)}, log.edges)
    assert [{}, {}] == log.asked


def test_many_partitions_take_turns(tmp_path: Path) -> None:
    last = LastRead(tmp_path, lambda: None)
    log, check = Records(0, 1, 2, partitions=10), LastReadCheck(last, "shop")

    for _ in range(3):
        log.look(check, 1)
    whole = len(last.known("shop", {"orders"}))
    log.look(check, 2)
    log.look(check, 3)

    assert 10 == whole
    assert [4, 4, 2] == [len(each) for each in log.asked[1:6:2]]
    assert [*log.asked[7]] != [*log.asked[9]]


def test_the_last_look_takes_all_of_some_partitions(tmp_path: Path) -> None:
    last = LastRead(tmp_path, lambda: None)
    log = Records(0, 1, partitions=10)
    read = {"orders": {str(each): 2 for each in range(10)}}

    LastReadCheck(last, "shop").look(log, read, log.edges, goes_on=False, ends=True)

    assert 10 == len(last.known("shop", {"orders"}))
