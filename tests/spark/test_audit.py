"""What a run compares beside itself (`run.audit`): found, noted, told, and never in its way."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.services.captured import until

import joinery as jn
from joinery.model.audit import AuditProgress
from joinery.observe.http import ProgressMetrics
from joinery.observe.status import project_status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from joinery.spark.batch.run import Run

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
run: {audit: {rate: RATE/s}}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
products:
  profile:
    root: customer
    expect: {audited: 1h}
    sink: {sqlite: {path: shop.db}}
  shown: {root: customer, sink: {console: {}}}
"""
Start = Callable[[str], "Run"]


@pytest.fixture
def start(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start a run that compares at a rate, without a rest between two comparisons."""
    monkeypatch.setattr("joinery.app.auditor._BETWEEN_S", 0.05)
    data = tmp_path / "data" / "customer"
    data.mkdir(parents=True)
    lines = [f'{{"id": {each}, "name": "n{each}"}}\n' for each in range(40)]
    (data / "1.jsonl").write_text("".join(lines), encoding="utf-8")

    def started(rate: str) -> Run:
        file = tmp_path / "joinery.yaml"
        file.write_text(PROJECT.replace("RATE", rate), encoding="utf-8")
        return jn.run(spark, jn.load(file))

    return started


def audited(run: Run) -> AuditProgress:
    found = [each for each in run.progress.audits.values() if each.product == "profile"]
    return found[0] if found else AuditProgress(product="profile", target="")


def auditors() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "joinery-audit"]


def test_a_run_finds_what_differs_and_tells_it(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "joinery.run")
    with start("1000") as run:
        until(lambda: audited(run).compared >= 40 and audited(run).ended_at)
        well = audited(run)
        [status, _] = project_status(jn.load(tmp_path / "joinery.yaml").spec).products
        spoil(tmp_path / "shop.db")
        until(lambda: audited(run).differing == 2)
        wrong = audited(run)
        metrics = ProgressMetrics(lambda: run.progress, lambda: True).text().decode()
        run.stop()
    until(lambda: not auditors())

    assert (0, 0) == (well.differing, well.differences)
    assert () == status.missed
    assert wrong.differences >= 2
    assert wrong.compared > well.compared
    assert 'joinery_audit_differing_documents{product="profile",target="sqlite' in metrics
    said = caplog.messages
    assert 1 == said.count("documents cannot be compared")
    assert "documents compared" in said
    assert "documents differ from what they should be" in said


def spoil(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=30.0)) as sink:
        sink.execute("UPDATE profile SET document = '{}' WHERE id = 2")
        sink.execute("DELETE FROM profile WHERE id = 3")
        sink.commit()


def test_a_run_ends_while_it_compares(start: Start) -> None:
    with start("1") as run:
        until(lambda: 0 < audited(run).compared < 40)
        run.stop()
        until(lambda: not auditors())

    assert audited(run).compared < 40
