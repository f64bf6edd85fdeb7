"""Records of Kafka that could not be used are mended and put back, and count where they stood."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.services.log import Log
from tests.spark.mended import MendedShop

from joinery.dev.service import Service
from joinery.spark.jar import kafka_jars
from joinery.spark.jvm import add_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]

PROJECT = """\
name: shop
sources: {{changes: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
relations:
  customer: {{topic: "{topic}", key: [id], fields: {{id: long, name: string}}}}
products:
  profile: {{root: customer, sink: {{files: {{path: out}}}}}}
run: {{dead_letters: {{kafka: {{topic: "{at}.letters"}}}}}}
"""


class Shop(MendedShop):
    """A project on the broker."""

    def __init__(self, spark: SparkSession, folder: Path, bootstrap: str, pattern: str) -> None:
        self.at = f"t{uuid.uuid4().hex[:8]}"
        self.log = Log(bootstrap, {})
        topic = pattern.format(at=self.at)
        text = PROJECT.format(bootstrap=bootstrap, at=self.at, topic=topic)
        super().__init__(spark, folder, text)

    def put(self, *values: str, key: str | None = None) -> None:
        self.log.put(f"{self.at}.customer", *values, key=key)


@pytest.mark.parametrize("pattern", ["{at}.customer", "pattern:{at}[.].*mer"])
def test_a_mended_record_counts_only_where_nothing_newer_was_applied(
    spark: SparkSession, kafka: Service, tmp_path: Path, pattern: str
) -> None:
    add_jars(spark, kafka_jars())
    shop = Shop(spark, tmp_path, kafka.address, pattern)
    shop.put('{"id":1,"name":"Ada"}', '{"id":1,"name":{}}', '{"id":1,"name":"Ada Lovelace"}')
    shop.put('{"id":2,"name":[]}', key="k")
    shop.run()
    assert [(f"{shop.at}.customer", 1), (f"{shop.at}.customer", 3)] == [
        (each.of, each.facts["offset"]) for each in shop.letters()
    ]
    shop.put('{"id":3,"name":"Cem"}')
    for letter, number, name in zip(shop.letters(), (1, 2), ("A.", "Bob"), strict=True):
        shop.mend(letter, json.dumps({"id": number, "name": name}))

    totals = shop.run().totals

    assert {1: "Ada Lovelace", 2: "Bob", 3: "Cem"} == shop.names()
    assert (3, 2, 1, 0) == (totals.read, totals.applied, totals.stale, totals.dead)
    assert [] == shop.letters()


def test_a_record_put_back_unmended_is_a_letter_again_with_its_first_place(
    spark: SparkSession, kafka: Service, tmp_path: Path
) -> None:
    add_jars(spark, kafka_jars())
    shop = Shop(spark, tmp_path, kafka.address, "{at}.customer")
    shop.put('{"id":1,"name":[]}', key="k")
    shop.run()
    (letter,) = shop.letters()
    assert [] == shop.queue.replay([letter])
    assert [] == shop.letters()

    shop.run()

    (again,) = shop.letters()
    assert (letter.id, letter.place, b"k") == (again.id, again.place, again.raw("key"))
