"""A product may wait: until relations were read to their end, or until a key is quiet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.customers import write

import joinery as jn
from joinery.spark.batch.ready import FILE_NAME
from joinery.spark.batch.run import Run, RunOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {format: json}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
  order: {key: [number], fields: {number: long, customer_id: long, item: string}}
products:
  profile:
    root: customer
    embed: {orders: {many: order, on: {customer_id: id}, fields: [item]}}
    DELAY
    sink: {files: {path: out}}
run: {max_rows_per_batch: 2}
"""


def sent(folder: Path, product: str = "profile") -> list[tuple[int, list[str]]]:
    """Return the emissions in order: the key and the items."""
    lines = [
        json.loads(line)
        for file in sorted((folder / "out" / product).glob("*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    return [(each["key"]["id"], [one["item"] for one in each["value"]["orders"]]) for each in lines]


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Return the emissions in order, without their versions."""
    files = sorted((folder / "out" / "profile").glob("*.jsonl"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert all(set(each) == {"key", "value", "version"} for each in lines)
    return [{"key": each["key"], "value": each["value"]} for each in lines]


def project_of(folder: Path, delay: str) -> Any:
    (folder / "joinery.yaml").write_text(PROJECT.replace("DELAY", delay))
    write(folder, "customer", "1", {"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"})
    orders = [{"number": n, "customer_id": 1, "item": f"i{n}"} for n in range(5)]
    write(folder, "order", "1", *orders)
    return jn.load(folder / "joinery.yaml")


def test_nothing_is_sent_before_a_product_is_ready(spark: SparkSession, tmp_path: Path) -> None:
    project = project_of(tmp_path, "ready: [customer, order]")

    run = jn.run(spark, project, once=True)
    run.await_termination()

    assert run.progress.totals.batches > 1
    assert sorted(sent(tmp_path)) == [(1, ["i0", "i1", "i2", "i3", "i4"]), (2, [])]


def test_a_product_waits_for_what_the_product_that_it_reads_waits_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    project_of(tmp_path, "ready: [customer, order]\n    group: shop")
    file = tmp_path / "joinery.yaml"
    reader = "  sizes: {root: profile, group: shop, fields: [orders], sink: {files: {path: out}}}\n"
    file.write_text(file.read_text().replace("run: {", f"{reader}run: {{"))

    run = jn.run(spark, jn.load(file), once=True)
    run.await_termination()

    lines = sent(tmp_path, "sizes")
    assert run.progress.totals.batches > 1
    assert sorted(lines) == [(1, ["i0", "i1", "i2", "i3", "i4"]), (2, [])]


def test_the_ends_that_a_product_waits_for_are_taken_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = project_of(tmp_path, "ready: [order]")
    jn.run(spark, project, once=True).await_termination()
    ends = (tmp_path / ".joinery/checkpoint/profile" / FILE_NAME).read_text()

    write(tmp_path, "order", "2", {"number": 9, "customer_id": 2, "item": "i9"})
    jn.run(spark, project, once=True).await_termination()

    assert (tmp_path / ".joinery/checkpoint/profile" / FILE_NAME).read_text() == ends
    assert sent(tmp_path)[-1] == (2, ["i9"])


def test_settling_that_is_declared_later_overwrites_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = project_of(tmp_path, "ready: []")
    jn.run(spark, project, once=True).await_termination()
    before = sent(tmp_path)
    file = tmp_path / "joinery.yaml"
    file.write_text(file.read_text().replace("ready: []", "emit: {settle: 1h}"))

    write(tmp_path, "order", "2", {"number": 9, "customer_id": 2, "item": "i9"})
    jn.run(spark, jn.load(file), once=True).await_termination()
    write(tmp_path, "order", "3", {"number": 10, "customer_id": 2, "item": "i10"})
    jn.run(spark, jn.load(file), once=True).await_termination()
    file.write_text(file.read_text().replace("emit: {settle: 1h}", "ready: []"))
    write(tmp_path, "order", "4", {"number": 11, "customer_id": 2, "item": "i11"})
    jn.run(spark, jn.load(file), once=True).await_termination()

    later = [(2, ["i9"]), (2, ["i9", "i10"]), (2, ["i9", "i10", "i11"])]
    assert [*before, *later] == sent(tmp_path)


def test_a_key_that_settles_is_sent_once(spark: SparkSession, tmp_path: Path) -> None:
    project = project_of(tmp_path, "emit: {settle: 1h}")

    run = jn.run(spark, project, once=True)
    run.await_termination()

    assert run.progress.totals.batches > 1
    assert sorted(sent(tmp_path)) == [(1, ["i0", "i1", "i2", "i3", "i4"]), (2, [])]


@pytest.mark.parametrize("solution", ["spark-state", "rdbms-store"])
def test_what_changes_back_or_comes_and_goes_while_it_waits_is_not_sent(
    solution: str, spark: SparkSession, tmp_path: Path
) -> None:
    project = project_of(tmp_path, f"solution: {solution}\n    emit: {{settle: 1h}}")
    jn.run(spark, project, once=True).await_termination()
    before = lines_of(tmp_path)

    changed: list[dict[str, object]] = [{"id": 1, "name": "Eve"}, {"id": 3, "name": "Cy"}]
    write(tmp_path, "customer", "2", *changed, {"id": 1, "name": "Ada"}, {"id": 2, "name": "Bo"})
    write(tmp_path, "customer", "3", {"id": 3, "__deleted": True})
    run = jn.run(spark, project, once=True)
    run.await_termination()
    write(tmp_path, "customer", "4", {"id": 2, "__deleted": True})
    jn.run(spark, project, once=True).await_termination()

    assert run.progress.totals.batches > 1
    renamed = {"key": {"id": 2}, "value": {"id": 2, "name": "Bo", "orders": []}}
    assert [*before, renamed, {"key": {"id": 2}, "value": None}] == lines_of(tmp_path)


def test_a_rebuilt_query_that_settles_goes_on_from_what_the_rebuild_sent(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = project_of(tmp_path, "emit: {settle: 1h}")
    jn.run(spark, project, once=True).await_termination()
    rebuild = Run(project.spec, project.plan, RunOptions(once=True, rebuild=True))
    rebuild.prepare()
    rebuild.start(spark)
    rebuild.await_termination()
    before = lines_of(tmp_path)

    changed: list[dict[str, object]] = [{"id": 1, "name": "Eve"}, {"id": 2, "name": "Bo"}]
    write(tmp_path, "customer", "2", *changed, {"id": 1, "name": "Ada"})
    jn.run(spark, project, once=True).await_termination()

    renamed = {"key": {"id": 2}, "value": {"id": 2, "name": "Bo", "orders": []}}
    assert [*before, renamed] == lines_of(tmp_path)
