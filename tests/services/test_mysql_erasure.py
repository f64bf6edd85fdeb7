"""A person erased whose rows come from the log of MariaDB: the spool is sealed there, too."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.services.erasure_project import PROJECT
from tests.services.mysql_captured import connected, new_database
from tests.services.mysql_server import SERVERS, started_server
from tests.spark.erasure import CANARY, email, erased, holding, shown

import joinery as jn
from joinery.dev.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
PEOPLE = ", ".join(f"({each}, '{email(each)}', 170)" for each in range(10))
TOWNS = ", ".join(f"({each}, 'legible')" for each in range(10))
TABLES = (
    "create table person (id bigint primary key, email text, height int)",
    "create table town (id bigint primary key, name text)",
    f"insert into person values {PEOPLE}",
    f"insert into town values {TOWNS}",
)


@pytest.fixture(scope="module", params=SERVERS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    with started_server(request.param, tmp_path_factory.mktemp(request.param)) as service:
        yield service


def run(spark: SparkSession, project: jn.Project) -> None:
    jn.run(spark, project, once=True).await_termination()


def test_a_canary_is_in_no_file_of_the_spool_and_gone_once_erased(
    server: Service, spark: SparkSession, tmp_path: Path
) -> None:
    with new_database(server.address, *TABLES) as url:
        (tmp_path / "joinery.yaml").write_text(PROJECT.format(kind="mysql", url=url))
        project = jn.load(tmp_path / "joinery.yaml")
        run(spark, project)
        with closing(connected(url)) as link:
            link.rows("update person set height = 180 where id = 3")
            link.rows(f"update person set email = '{CANARY}@new.org' where id = 4")
            link.rows("delete from person where id = 5")
        run(spark, project)

        before = shown(tmp_path)
        assert {"email": email(3), "height": 180}.items() <= json.loads(before[3]).items()
        assert json.loads(before[4])["email"] == f"{CANARY}@new.org"
        assert all(each.startswith("clear.db") for each in holding(tmp_path, CANARY))
        assert any("/spool/" in each for each in holding(tmp_path, "legible"))

        erased(project, "person", 3)
        run(spark, project)

        after = shown(tmp_path)
        assert {"email": None, "height": None}.items() <= json.loads(after[3]).items()
        assert {**before, 3: ""} == {**after, 3: ""}
        shutil.rmtree(tmp_path / ".joinery" / "checkpoint")
        (tmp_path / "clear.db").unlink()
        run(spark, project)
        assert after == shown(tmp_path)
