"""A record that could not be used is mended and put back, and counts where it stood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.mended import MendedShop

from joinery.dead_letters.queue import Selection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
products:
  profile: {root: customer, sink: {files: {path: out}}}
"""


class Shop(MendedShop):
    """A project that reads change files."""

    def put(self, name: str, *lines: str) -> None:
        part = self.folder / "data/customer" / f".{name}"
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text("".join(f"{line}\n" for line in lines))
        part.rename(part.with_name(name))


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Shop:
    return Shop(spark, tmp_path, PROJECT)


def test_a_mended_record_counts_only_where_nothing_newer_was_applied(shop: Shop) -> None:
    shop.put(
        "1.jsonl",
        '{"id":1,"name":"Ada"}',
        '{"id":1,"name":{"first":"A."}}',
        '{"id":1,"name":"Ada Lovelace"}',
        '{"id":2,"name":["Bob"]}',
    )
    shop.run()
    assert ["1.jsonl:2", "1.jsonl:4"] == [each.place for each in shop.letters()]
    shop.put("2.jsonl", '{"id":3,"name":"Cem"}')
    for letter, name in zip(shop.letters(), ("A.", "Bob"), strict=True):
        shop.mend(letter, json.dumps({"id": int(name == "Bob") + 1, "name": name}))

    totals = shop.run().totals

    assert {1: "Ada Lovelace", 2: "Bob", 3: "Cem"} == shop.names()
    assert (3, 2, 1, 0) == (totals.read, totals.applied, totals.stale, totals.dead)
    assert [] == shop.letters()


def test_putting_a_record_back_twice_changes_nothing_more(shop: Shop) -> None:
    shop.put("1.jsonl", '{"id":1,"name":[]}')
    shop.run()
    (letter,) = shop.letters()
    shop.mend(letter, '{"id":1,"name":"Ada"}')
    shop.run()
    shop.put("2.jsonl", '{"id":1,"name":"Ada Lovelace"}')
    shop.run()
    (again,) = shop.queue.find(Selection(closed=True))
    shop.mend(again, '{"id":1,"name":"Ada"}')
    once = shop.run().totals

    shop.mend(again, '{"id":1,"name":"A."}')
    totals = shop.run().totals

    assert {1: "Ada Lovelace"} == shop.names()
    assert (0, 0) == (once.read, once.documents)
    assert (1, 0, 0) == (totals.read, totals.applied, totals.documents)


def test_a_record_that_is_put_back_unmended_is_a_letter_again(shop: Shop) -> None:
    shop.put("1.jsonl", '{"id":1,"name":[]}')
    shop.run()
    (letter,) = shop.letters()
    assert [] == shop.queue.replay([letter])
    assert [] == shop.letters()

    shop.run()

    assert [(letter.id, "1.jsonl:1")] == [(each.id, each.place) for each in shop.letters()]


def test_a_record_that_a_decoder_trips_over_is_a_letter_and_stops_nothing(shop: Shop) -> None:
    deep = 300_000
    shop.put(
        "1.jsonl",
        f'{{"id":1,"other":{"[" * deep}{"]" * deep},"name":"Ada"}}',
        '{"id":2,"name":"Bob"}',
    )

    totals = shop.run().totals

    assert {2: "Bob"} == shop.names() or {1: "Ada", 2: "Bob"} == shop.names()
    assert 2 == totals.applied + totals.dead


def test_all_bytes_of_a_record_are_kept(shop: Shop) -> None:
    long = '{"id":1,"name":["' + "x" * 200_000 + '"]}'
    shop.put("1.jsonl", long)
    shop.run()

    (letter,) = shop.letters()

    assert (False, long.encode()) == (letter.cut, letter.raw("value"))
