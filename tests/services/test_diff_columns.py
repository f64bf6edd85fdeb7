"""Documents in a table with a column a field against their database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.services.audited import (
    CUSTOMERS,
    PROJECT,
    ROWS,
    TABLES,
    documents,
    kinds,
    opened,
    running,
)
from tests.services.captured import Connection, new_database, until

import joinery as jn
from joinery.audit.error import DiffError
from joinery.dev.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
PLANTED = {
    457: "sink differs",
    461: "sink missing",
    462: "sink missing",
    467: "sink differs",
    9999: "sink extra",
}


@pytest.fixture
def database(postgres: Service) -> Iterator[str]:
    with new_database(postgres, "columned", TABLES, ROWS) as url:
        yield url


def plant(sink: Connection) -> None:
    """Do what nobody should to the rows of a sink."""
    sink.execute("update profile set since = since + interval '1 us' where id = 457")
    sink.execute("delete from profile where id in (461, 462)")
    sink.execute("update profile set purchases = '[]', spent = spent + 0.01 where id = 467")
    sink.execute(
        "insert into profile (id, joinery_version) select 9999, joinery_version from profile"
        " where id = 463"
    )


def test_planted_differences_are_found_and_no_others(
    database: str, link: Connection, spark: SparkSession, tmp_path: Path
) -> None:
    sink = f'{{postgres: {{url: "{database}", mode: columns}}}}'
    (tmp_path / "joinery.yaml").write_text(PROJECT.format(url=database, sink=sink))
    project = jn.load(tmp_path)

    with running(spark, tmp_path):
        until(lambda: documents(link) == CUSTOMERS)
        still = jn.diff(project)
        plant(link)
        planted = jn.diff(project)
        repaired = jn.diff(project, repair=True)
        settled = jn.diff(project)

    assert ({}, [], CUSTOMERS) == (kinds(still), opened(still), still.parts[0].compared)
    assert (PLANTED, []) == (kinds(planted), opened(planted))
    assert ({}, len(PLANTED)) == (kinds(repaired), repaired.parts[0].repaired)
    assert ({}, []) == (kinds(settled), opened(settled))


def test_a_field_that_is_in_no_column_is_refused(database: str, tmp_path: Path) -> None:
    sink = f'{{postgres: {{url: "{database}", mode: columns}}}}'
    told = PROJECT.format(url=database, sink=sink)
    renamed = told.replace(
        "where: name is not null", "where: name is not null\n    fields: {id: name, name: id}"
    )
    (tmp_path / "joinery.yaml").write_text(renamed)

    with pytest.raises(DiffError, match='its field "id" is in no column'):
        jn.diff(tmp_path)
