"""The next run warns of a table and an index that somebody dropped between two runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from opensearchpy import OpenSearch
from tests.services.captured import new_database

import joinery as jn
from joinery.dev.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
PROJECT = """\
name: gone
sources: {{in: {{files: {{path: in}}}}}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}, source: in, format: json}}
products:
  card:
    root: customer
    sink:
      - {{postgres: {{url: "{database}"}}}}
      - {{opensearch: {{url: "{search}", index: gone-card}}}}
"""


def test_a_dropped_table_and_a_deleted_index_are_warned_of(
    spark: SparkSession, postgres: Service, opensearch: Service, tmp_path: Path
) -> None:
    def change(number: int) -> None:
        file = tmp_path / f"in/customer/{number}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"id": number, "name": "Ada"}))

    def warned() -> list[tuple[str, str]]:
        run = jn.run(spark, jn.load(tmp_path), once=True)
        run.await_termination()
        return sorted((each.code, each.message) for each in run.progress.warnings)

    with new_database(postgres, "gone") as url:
        told = PROJECT.format(database=url, search=opensearch.address)
        (tmp_path / "joinery.yaml").write_text(told)
        change(1)
        first, second = warned(), warned()
        with psycopg.connect(url, autocommit=True) as link:
            link.execute("drop table card")
        OpenSearch(opensearch.address).indices.delete(index="gone-card")
        change(2)
        third = warned()
        change(3)
        fourth = warned()

    assert ([], [], []) == (first, second, fourth)
    assert ["WARN_SINK_EMPTIED"] * 2 == [code for code, _ in third]
    assert "index gone-card is not there any more, although documents were sent" in third[0][1]
    assert "postgres table card at" in third[1][1]
