"""Settings of a user's session that change what SQL means: they change no document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.shop import documents, feed, run_once

import joinery as jn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROW = {"id": 1, "name": "ada", "at": datetime(2026, 3, 29, 2, 30, tzinfo=UTC)}
SHOWN = {
    "id": 1,
    "at": "2026-03-29T02:30:00Z",
    "since": "2026-01-01T10:00:00Z",
    "known": True,
    "greeting": "***ada",
}


def project(folder: Path) -> jn.Project:
    person = jn.relation(
        "person", key="id", fields={"id": "long", "name": "string", "at": "timestamp"}
    )
    shown = {
        "since": "timestamp '2026-01-01 10:00:00'",
        "known": 'name = "ada"',
        "greeting": "lpad(name, 6, '*')",
    }
    product = jn.document(
        "person", person, fields=["id", "at", shown], sink={"files": {"path": "out"}}
    )
    source = {"changes": {"files": {"path": "data"}}}
    return jn.Project("people", sources=source, products=[product], folder=folder)


@pytest.fixture
def foreign(spark: SparkSession, request: pytest.FixtureRequest) -> SparkSession:
    """A session with the settings of a test."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", 2)
    for name, value in request.param.items():
        session.conf.set(name, value)
    session.udf.register("lpad", lambda text, size, with_: "not lpad")
    return session


SETTINGS: list[Mapping[str, str]] = [
    {"spark.sql.timestampType": "TIMESTAMP_NTZ", "spark.sql.session.timeZone": "America/New_York"},
    {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"},
]


@pytest.mark.parametrize("foreign", SETTINGS, indirect=True, ids=["times", "quotes"])
def test_settings_of_the_session_change_no_document_of_a_frame(
    foreign: SparkSession, tmp_path: Path
) -> None:
    frame = foreign.createDataFrame([tuple(ROW.values())], "id long, name string, at timestamp_ltz")

    person = project(tmp_path).products["person"]
    (made,) = person.documents(foreign, {"person": frame}, format="json").collect()

    assert json.loads(made.value) == SHOWN


@pytest.mark.parametrize("foreign", SETTINGS, indirect=True, ids=["times", "quotes"])
def test_settings_of_the_session_change_no_document_of_a_run(
    foreign: SparkSession, tmp_path: Path
) -> None:
    row: dict[str, Any] = {**ROW, "at": "2026-03-29T02:30:00Z"}
    feed(tmp_path, 1, person=[row])
    (tmp_path / "joinery.yaml").write_text(project(tmp_path).to_yaml(), encoding="utf-8")

    run_once(foreign, tmp_path)

    assert list(documents(tmp_path, "person").values()) == [SHOWN]
