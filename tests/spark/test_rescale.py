"""The state of a checkpoint goes on in another number of partitions, with nothing sent again."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.churn.measure import state_of
from tests.spark.shop import CUSTOMERS, ORDERS, PROJECT, documents, feed, run_once

from joinery.app.project import load
from joinery.cli.rescale import run_rescale
from joinery.delivery.lease import Lease
from joinery.delivery.lease_file import LeaseHeldError
from joinery.plan.stream import outputs_of
from joinery.spark.batch.setup import select_queries
from joinery.spark.recovery import rescale as rescaling
from joinery.spark.recovery.checkpoint import partitions_of
from joinery.spark.recovery.relocate import relocate
from joinery.spark.recovery.rescale import RescaleError, rescale

pytestmark = pytest.mark.spark
CARDS = """\
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  customer: {key: [id], fields: {id: long, name: string, city: string}}
  order: {key: [id], fields: {id: long, customer_id: long, total: long}}
  follow: {key: [id], fields: {id: long, who: long, whom: long}}
  search: {append: true, key: [id], fields: {id: long, at: timestamp}, time: at}
  click: {append: true, key: [id], fields: {id: long, search_id: long, at: timestamp}, time: at}
products:
  answered:
    group: shop
    root: search
    fields: [id]
    embed: {clicks: {many: click, on: {search_id: id}, within: [0s, 30m], fields: [id]}}
    emit: {when: closed}
    sink: {files: {path: out}}
  card:
    group: shop
    root: order
    fields: [id]
    embed: {customer: {one: customer, on: {id: customer_id}, fields: [city]}}
    sink: {files: {path: out}}
  feed:
    group: shop
    root: customer
    embed:
      orders:
        many: order
        through: {follow: {who: id}}
        on: {customer_id: follow.whom}
        fields: [id]
        order: [-id]
        limit: 300
    sink: {files: {path: out}}
run: {spark: {spark.sql.shuffle.partitions: "2"}}
"""


VISITS = """\
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  visit: {append: true, key: [id], fields: {id: long, page: string}}
streams:
  visits: {from: visit, sink: {files: {path: out}}}
run: {spark: {spark.sql.shuffle.partitions: "2"}}
"""


class BrokenOffError(Exception):
    """The command was killed."""


def break_off(checkpoint: Path) -> None:
    raise BrokenOffError


def test_state_goes_on_in_another_number_of_partitions(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    feed(tmp_path, 1, customer=CUSTOMERS, order=ORDERS[:60])
    run_once(spark, tmp_path)
    project = load(tmp_path / "joinery.yaml")
    products = select_queries(outputs_of(project.plan))["shop"]

    with monkeypatch.context() as broken:
        broken.setattr(rescaling, "mark_done", break_off)
        with pytest.raises(BrokenOffError):
            rescale(project.spec, "shop", products, 3, lambda: spark)
    assert 2 == partitions_of(tmp_path / ".joinery/checkpoint/shop")

    begun = tmp_path / ".joinery/checkpoint/_rebuild/shop"
    begun.mkdir(parents=True)
    with pytest.raises(RescaleError, match='a rebuild of query "shop" is not finished'):
        rescale(project.spec, "shop", products, 3, lambda: spark)
    begun.rmdir()
    before = rescale(project.spec, "shop", products, 3, lambda: spark)
    feed(tmp_path, 2, order=ORDERS[60:], customer=[{**CUSTOMERS[7], "city": "city 0"}])
    sent = run_once(spark, tmp_path)

    checkpoint = tmp_path / ".joinery/checkpoint/shop"
    assert 2 == before
    assert 3 == partitions_of(checkpoint)
    assert rescale(project.spec, "shop", products, 3, lambda: spark) is None
    assert {"profile": 30, "cities": 2} == sent
    found = documents(tmp_path, "profile")
    assert {json.dumps({"id": i}): 3 for i in range(30)} == {
        key: len(value["orders"]) for key, value in found.items()
    }
    counts = {value["city"]: value["n"] for value in documents(tmp_path, "cities").values()}
    assert {"city 0": 7, "city 1": 6, "city 2": 5, "city 3": 6, "city 4": 6} == counts


def test_the_pages_of_large_values_are_found_in_another_number_of_partitions(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The orders of one customer stand in pages, and so do those that a Fold is led to.

    Searches wait where they are until a click decides them.
    """
    (tmp_path / "joinery.yaml").write_text(CARDS, encoding="utf-8")
    orders = [{"id": i, "customer_id": 7, "total": i} for i in range(1_000)]
    follow = {"id": 1, "who": 3, "whom": 7}
    searches = [{"id": i, "at": f"2026-03-01T10:{i:02}:00Z"} for i in range(60)]
    feed(tmp_path, 1, customer=[CUSTOMERS[7], CUSTOMERS[3]], order=orders, follow=[follow])
    feed(tmp_path, 1, search=searches)
    run_once(spark, tmp_path)
    project = load(tmp_path / "joinery.yaml")
    products = select_queries(outputs_of(project.plan))["shop"]

    rescale(project.spec, "shop", products, 5, lambda: spark)
    gone = [{"id": i, "__deleted": True} for i in range(800, 1_000, 2)]
    feed(tmp_path, 2, customer=[{**CUSTOMERS[7], "city": "Ulm"}], order=gone)
    feed(tmp_path, 2, click=[{"id": 1, "search_id": 45, "at": "2026-03-01T11:09:00.000001Z"}])

    assert {"card": 900, "feed": 2, "answered": 40} == run_once(spark, tmp_path)
    assert {i: [] for i in range(40)} == answers(tmp_path)
    found = documents(tmp_path, "card").values()
    assert 900 == sum((value or {}).get("customer") == {"city": "Ulm"} for value in found)
    assert feeds(tmp_path) == {
        3: [*range(999, 800, -2), *range(799, 599, -1)],
        7: [],
    }

    feed(tmp_path, 3, follow=[{**follow, "who": 7}])
    feed(tmp_path, 3, click=[{"id": 2, "search_id": 1, "at": "2026-03-01T11:29:00.000001Z"}])

    assert {"feed": 2, "answered": 20} == run_once(spark, tmp_path)
    assert {i: [1] if i == 45 else [] for i in range(60)} == answers(tmp_path)
    assert feeds(tmp_path) == {
        3: [],
        7: [*range(999, 800, -2), *range(799, 599, -1)],
    }


def answers(folder: Path) -> dict[int, list[int]]:
    found = documents(folder, "answered").values()
    return {each["id"]: [click["id"] for click in each["clicks"]] for each in found}


def feeds(folder: Path) -> dict[int, list[int]]:
    found = documents(folder, "feed").values()
    return {each["id"]: [order["id"] for order in each["orders"]] for each in found}


def test_what_was_deleted_before_is_forgotten_in_another_number_of_partitions(
    spark: SparkSession, tmp_path: Path
) -> None:
    text = PROJECT.replace("run: {", "run: {tombstone_retention: 1s, ")
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    orders = [{"id": i, "customer_id": i % 30, "total": i} for i in range(1_000)]
    gone = [{"id": each["id"], "__deleted": True} for each in orders[90:]]
    feed(tmp_path, 1, customer=CUSTOMERS, order=orders)
    run_once(spark, tmp_path)
    feed(tmp_path, 2, order=gone)
    run_once(spark, tmp_path)
    project = load(tmp_path / "joinery.yaml")
    products = select_queries(outputs_of(project.plan))["shop"]
    checkpoint = tmp_path / ".joinery/checkpoint/shop"
    remembered, _ = state_of(spark, checkpoint)

    rescale(project.spec, "shop", products, 3, lambda: spark)
    relocate(checkpoint)  # as the next run does
    moved, _ = state_of(spark, checkpoint)
    until, number = time.monotonic() + 240, 3
    while (left := state_of(spark, checkpoint)[0]) > 400 and time.monotonic() < until:
        told = [{**each, "total": number} for each in orders[:90]]
        feed(tmp_path, number, order=told, customer=CUSTOMERS)
        run_once(spark, tmp_path)
        number += 1

    assert remembered > 1_000, "deletes are remembered, each with a note"
    assert moved > 1_000
    assert left <= 400
    found = documents(tmp_path, "profile").values()
    assert [number - 1] * 90 == [each["total"] for value in found for each in value["orders"]]


def test_what_runs_or_never_ran_is_not_rescaled(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    project = load(tmp_path / "joinery.yaml")
    products = select_queries(outputs_of(project.plan))["shop"]
    lease = Lease(tmp_path / ".joinery/checkpoint/_leases/shop.lease", "shop")

    with pytest.raises(RescaleError, match="has no checkpoint yet"):
        rescale(project.spec, "shop", products, 3, lambda: spark)
    lease.take()
    try:
        with pytest.raises(LeaseHeldError):
            rescale(project.spec, "shop", products, 3, lambda: spark)
    finally:
        lease.release()


def test_a_query_without_state_is_passed_over(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "joinery.yaml").write_text(VISITS, encoding="utf-8")
    feed(tmp_path, 1, visit=[{"id": 1, "page": "home"}])
    run_once(spark, tmp_path)
    project = load(tmp_path / "joinery.yaml")
    products = select_queries(outputs_of(project.plan))["visits"]

    assert rescale(project.spec, "visits", products, 3, lambda: spark) is None
    assert 0 == run_rescale(tmp_path / "joinery.yaml", (), None, None)

    assert "visits: keeps no state\n" == capsys.readouterr().out
