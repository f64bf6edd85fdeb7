"""Documents in an index against their database: planted differences are found, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from opensearchpy import NotFoundError, OpenSearch
from tests.services.audited import (
    CUSTOMERS,
    PROJECT,
    ROWS,
    TABLES,
    kinds,
    opened,
    running,
)
from tests.services.captured import new_database, until

import joinery as jn
from joinery.dev.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
INDEX = "audited_profile"
PLANTED = {
    457: "sink differs",
    461: "sink missing",
    462: "sink missing",
    467: "sink differs",
    9999: "sink extra",
}


@pytest.fixture
def database(postgres: Service) -> Iterator[str]:
    with new_database(postgres, "indexed", TABLES, ROWS) as url:
        yield url


@pytest.fixture
def index(opensearch: Service) -> Any:
    return OpenSearch(opensearch.address, timeout=60)


def plant(index: Any) -> None:
    """Do what nobody should to the documents in an index."""
    renamed = {"doc": {"name": "Eve"}}
    index.update(index=INDEX, id="457", body=renamed)
    index.delete(index=INDEX, id="461")
    index.delete(index=INDEX, id="462")
    index.index(index=INDEX, id="467", body={})
    index.index(index=INDEX, id="9999", body=index.get(index=INDEX, id="463")["_source"])
    index.index(index=INDEX, id="no number", body={})


def documents(index: Any) -> int:
    try:
        index.indices.refresh(index=INDEX)
        return int(index.count(index=INDEX)["count"])
    except NotFoundError:
        return 0


def test_planted_differences_are_found_and_no_others(
    database: str, opensearch: Service, index: Any, spark: SparkSession, tmp_path: Path
) -> None:
    sink = f'{{opensearch: {{url: "{opensearch.address}", index: {INDEX}}}}}'
    (tmp_path / "joinery.yaml").write_text(PROJECT.format(url=database, sink=sink))
    project = jn.load(tmp_path)

    with running(spark, tmp_path):
        until(lambda: documents(index) == CUSTOMERS)
        still = jn.diff(project)
        plant(index)
        planted = jn.diff(project)
        repaired = jn.diff(project, repair=True)
        settled = jn.diff(project)

    assert ({}, [], CUSTOMERS) == (kinds(still), opened(still), still.parts[0].compared)
    strange = ['"no number"']
    assert (PLANTED, strange) == (kinds(planted), [each.key for each in opened(planted)])
    assert ({}, len(PLANTED)) == (kinds(repaired), repaired.parts[0].repaired)
    assert ({}, strange) == (kinds(settled), [each.key for each in opened(settled)])
    assert index.get(index=INDEX, id="457")["_source"]["name"] == "n457"
