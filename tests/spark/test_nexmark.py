"""Nexmark's queries, as `bench/nexmark/` declares them: what they hold is what DuckDB answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import joinery as jn
from bench.nexmark.answers import Oracle, difference, of_joinery
from bench.nexmark.events import write
from bench.nexmark.queries import QUERIES
from joinery.project.load import load_spec

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
FOLDER = "bench/nexmark"
ASKED = [name for name, query in QUERIES.items() if "ours" not in query.why_not]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nexmark")
    write(folder / "events", 2_000, gap_ms=20)
    return folder


@pytest.fixture(scope="module")
def oracle(folder: Path) -> Oracle:
    return Oracle(folder / "events")


@pytest.fixture(scope="module")
def held(spark: SparkSession, folder: Path) -> Path:
    """What all queries hold after two batches, products in one query and streams in another."""
    environment = pytest.MonkeyPatch()
    environment.setenv("NEXMARK_EVENTS", str(folder / "events"))
    environment.setenv("NEXMARK_OUT", str(folder / "out"))
    spec = load_spec(FOLDER, settings=["run.max_rows_per_batch=1000"])
    environment.undo()
    spec = replace(
        spec,
        products=tuple(replace(each, group="products") for each in spec.products),
        streams=tuple(replace(each, group="streams") for each in spec.streams),
    )
    jn.run(spark, jn.Project.of(spec), once=True).await_termination()
    return folder / "out"


@pytest.mark.parametrize("name", ASKED)
def test_a_query_holds_what_duckdb_answers(name: str, held: Path, oracle: Oracle) -> None:
    kinds, rows = oracle.rows(QUERIES[name].told("duckdb"))

    assert rows.total() > 0
    found = of_joinery(held / name, ranked=QUERIES[name].ranked)
    assert "" == difference(kinds, rows, found)
