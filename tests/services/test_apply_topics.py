"""Products that are added to a group are built from its topics: `joinery apply`."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.services.log import Log
from tests.spark.shop import documents, run_once
from tests.unit.cli.command import joinery

from joinery.delivery.outlet import DirectOutlet
from joinery.dev.service import Service
from joinery.errors import RunError
from joinery.spark.jar import kafka_jars
from joinery.spark.jvm import add_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]

HEAD = """\
sources: {{changes: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{source: changes, format: json}}
relations:
  customer: {{topic: {at}.customer, key: [id], fields: {{id: long, name: string, city: string}}}}
  order: {{topic: {at}.order, key: [id], fields: {{id: long, of: long, total: long}}}}
run: {{spark: {{spark.sql.shuffle.partitions: "2"}}}}
products:
"""
PRODUCTS = {
    "cities": "{aggregate: customer, by: [city], values: {n: count(*)}",
    "totals": "{aggregate: order, by: [of], values: {total: sum(total)}",
    "cards": "{root: customer, fields: [name], embed: {orders: {many: order, on: {of: id}}}",
    "sums": "{aggregate: order, values: {n: count(*), total: sum(total)}",
}


class Shop:
    """A project over topics of a broker, and the same in a second folder."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self.folder, self.bootstrap, self.at = folder, bootstrap, f"t{uuid.uuid4().hex[:8]}"
        self.log, self.random = Log(bootstrap, {}), Random(5)
        for topic in ("customer", "order"):
            self.log.create(f"{self.at}.{topic}", partitions=2)

    def declare(self, *names: str, folder: Path | None = None) -> None:
        told = ", group: g, sink: {files: {path: out}}}\n"
        products = "".join(f"  {name}: {PRODUCTS[name]}{told}" for name in names)
        head = HEAD.format(bootstrap=self.bootstrap, at=self.at)
        ((folder or self.folder) / "joinery.yaml").write_text(head + products)

    def put_some(self, count: int = 60) -> None:
        for _ in range(count):
            number, kind = self.random.randrange(20), self.random.choice(("customer", "order"))
            row: dict[str, Any] = {"id": number}
            if self.random.random() < 0.2:
                row["__deleted"] = True
            elif kind == "customer":
                row |= {"name": f"n{self.random.randrange(99)}", "city": self.random.choice("abc")}
            else:
                row |= {"of": self.random.randrange(20), "total": self.random.randrange(9)}
            topic = f"{self.at}.{kind}"
            self.log.put(topic, json.dumps(row), key=str(number), partition=number % 2)


def there(folder: Path, *names: str) -> dict[str, dict[str, Any]]:
    return {
        name: {key: each for key, each in documents(folder, name).items() if each is not None}
        for name in names
    }


def killed(*_: object, **__: object) -> None:
    raise RuntimeError("killed")


def test_added_products_are_built_from_topics_up_to_the_checkpoint(
    spark: SparkSession,
    kafka: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The batch that builds them breaks off once; then all is as if they had been there."""
    add_jars(spark, kafka_jars())
    kept, plain = tmp_path / "kept", tmp_path / "plain"
    kept.mkdir()
    plain.mkdir()
    shop = Shop(kept, kafka.address)
    monkeypatch.chdir(kept)
    shop.declare("cities")
    shop.put_some()
    run_once(spark, kept)
    shop.put_some()
    shop.declare("cities", "cards", "totals")
    assert 3 == joinery(monkeypatch, "plan")
    told = "builds cards, totals first, and reads customer, order (up to "
    assert told in capsys.readouterr().out
    assert 0 == joinery(monkeypatch, "apply")
    with monkeypatch.context() as broken:
        broken.setattr(DirectOutlet, "write", killed)
        with pytest.raises((RuntimeError, RunError)):
            run_once(spark, kept)
    run_once(spark, kept)
    shop.put_some()
    shop.declare("sums", "totals", "cards")
    assert 0 == joinery(monkeypatch, "apply")

    run_once(spark, kept)

    shop.put_some()
    run_once(spark, kept)
    shop.declare("sums", "totals", "cards", folder=plain)
    run_once(spark, plain)
    names = ("sums", "totals", "cards")
    assert there(plain, *names) == there(kept, *names)
    assert all(there(kept, *names).values())


def test_a_topic_that_lost_its_beginning_is_named(
    spark: SparkSession,
    kafka: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    add_jars(spark, kafka_jars())
    shop = Shop(tmp_path, kafka.address)
    monkeypatch.chdir(tmp_path)
    shop.declare("cities")
    shop.put_some()
    run_once(spark, tmp_path)
    shop.declare("cities", "cards")
    assert 0 == joinery(monkeypatch, "apply")
    shop.log.cut(f"{shop.at}.customer", 3, partition=1)

    with pytest.raises(RunError, match="cannot be built from its logs any more") as found:
        run_once(spark, tmp_path)

    told = f'opic "{shop.at}.customer" partition 1 begins at offset 3 by now'
    assert told in found.value.detail
    shop.declare("cities")
    assert 0 == joinery(monkeypatch, "apply")
    shop.declare("cities", "cards")
    assert 3 == joinery(monkeypatch, "plan")
    assert told in capsys.readouterr().out
