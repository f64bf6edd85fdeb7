"""How much state the nodes of a query keep, beside what Spark's own reader finds there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.session_run import run_to_end
from typer.testing import CliRunner

import joinery as jn
from joinery.cli.commands import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  customer: {key: [id], fields: {id: long, city: string}}
  order: {key: [id], fields: {id: long, customer_id: long, text: string}}
run: {spark: {spark.sql.shuffle.partitions: "3"}}
products:
  profile:
    root: customer
    group: all
    embed: {orders: {many: order, on: {customer_id: id}, order: [id]}}
    sink: {files: {path: out}}
  total:
    aggregate: order
    group: all
    by: [customer_id]
    values: {n: count(*)}
    sink: {files: {path: out}}
"""
CUSTOMERS, ORDERS = 40, 1500


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of which two batches are read; most orders are of one customer."""
    made = tmp_path_factory.mktemp("sizes")
    (made / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    write(made, "customer", 0, [{"id": n, "city": f"c{n}"} for n in range(CUSTOMERS)])
    orders = [{"id": n, "customer_id": max(0, n - 1470), "text": "x" * 60} for n in range(ORDERS)]
    write(made, "order", 0, orders)
    run_to_end(spark, made)
    write(made, "order", 1, [{**each, "text": "y" * 60} for each in orders[:5]])
    run_to_end(spark, made)
    return made


def write(folder: Path, relation: str, number: int, rows: Sequence[dict[str, Any]]) -> None:
    file = folder / "data" / relation / f"{number}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def read_by_spark(spark: SparkSession, folder: Path, operator: int) -> int:
    """Return the bytes of an operator's keys and of the parts of their lists."""
    state = (
        spark.read.format("statestore")
        .option("operatorId", operator)
        .option("stateVarName", "value")
        .load(str(folder / ".joinery" / "checkpoint" / "all"))
    )
    parts = state.select("partition_id", "key.*", "list_element.*").collect()
    keys = {(partition, bytes(key)) for partition, key, _ in parts}
    return sum(len(key) for _, key in keys) + sum(len(part) for *_, part in parts)


def test_each_node_has_the_keys_that_it_keeps_something_for(folder: Path) -> None:
    found = {each.node: each for each in jn.state_sizes(folder, "profile").nodes}

    assert ORDERS == found["Retract order"].keys
    assert CUSTOMERS == found["Fold profile"].keys
    assert 30 == found["Group total"].keys
    assert [True, False] == [found[each].pages > 0 for each in ("Fold profile", "Group total")]
    assert {"profile": 0.5, "total": 0.5} == found["Retract order"].products


def test_all_nodes_together_have_the_bytes_that_spark_finds(
    spark: SparkSession, folder: Path
) -> None:
    found = jn.state_sizes(folder, "total")
    operators = len(list((folder / ".joinery" / "checkpoint" / "all" / "state").iterdir()))

    assert sum(read_by_spark(spark, folder, each) for each in range(operators)) == found.bytes
    in_common = found.bytes - sum(each.bytes for each in found.nodes if each.products)
    assert found.bytes - in_common == pytest.approx(sum(found.products().values()), abs=2)


def test_the_command_prints_a_table_of_them_also_of_an_earlier_batch(folder: Path) -> None:
    asked = ["state", "profile", "--sizes", "--batch", "0", "--file", str(folder)]

    shown = CliRunner().invoke(app, asked).stdout.splitlines()

    assert shown[0].startswith("all after batch 0: ")
    assert any(each.split()[:2] == ["Fold", "profile"] for each in shown)
    assert ["product", "bytes", "share"] in [each.split() for each in shown]


def test_sizes_are_of_all_documents(folder: Path) -> None:
    asked = ["state", "profile", "--sizes", "--key", "1", "--file", str(folder)]

    assert 2 == CliRunner().invoke(app, asked).exit_code
