"""A run that fails, or may not begin, loses nothing and stands in nobody's way."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest
from tests.spark.run_project import Project, once, project

import joinery as jn
from joinery.delivery.lease import Lease
from joinery.delivery.lease_file import LeaseHeldError
from joinery.errors import RunError
from joinery.project import kinds
from joinery.sinks.line import read_rows
from joinery.sinks.protocol import Guarantee, StagedBatch, Written
from joinery.spark.batch import begin
from joinery.spark.batch.held import UnclosedError
from joinery.spark.batch.letters import QueryLetters
from joinery.spark.batch.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["project"]

pytestmark = pytest.mark.spark


@dataclass(slots=True)
class FlakySink:
    """Fails on its first write, then keeps what it is given."""

    taken: ClassVar[list[str]] = []
    failures: ClassVar[list[str]] = []
    opened: list[str] = field(default_factory=list)
    guarantee: ClassVar[Guarantee] = Guarantee(summary="None.")
    target: ClassVar[str] = "flaky"

    def open(self) -> None:
        pass

    def write(self, batch: StagedBatch) -> Written:
        if not self.failures:
            self.failures.append(batch.product)
            raise OSError("the disk is full")
        self.taken.extend(row.value or "" for row in read_rows(batch.files))
        return Written()

    def close(self) -> None:
        pass


def flaky_sink(product: str, options: Mapping[str, object], folder: Path) -> FlakySink:
    return FlakySink()


class CancelledSink(FlakySink):
    """Raises what no library of threads expects, as a cancelled task of asyncio does."""

    def write(self, batch: StagedBatch) -> Written:
        raise asyncio.CancelledError


def cancelled_sink(product: str, options: Mapping[str, object], folder: Path) -> CancelledSink:
    return CancelledSink()


def test_a_run_that_cannot_begin_leaves_no_thread(
    spark: SparkSession, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object) -> None:
        raise OSError("no progress")

    monkeypatch.setattr(begin, "BatchTimes", broken)
    before = set(threading.enumerate())

    with pytest.raises(OSError, match="no progress"):
        run(spark, project)

    left = [each.name for each in {*threading.enumerate()} - before]
    assert [] == [each for each in left if each.startswith("joinery-")]


def test_no_document_is_lost_when_a_sink_fails(
    spark: SparkSession, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(kinds.SINKS.built_in, "flaky", f"{__name__}:flaky_sink")
    flaky = project.to_sink("flaky")
    flaky.change("customer", "1", {"id": 1, "name": "Ada"})

    with pytest.raises(RunError) as failed:
        once(spark, flaky)
    once(spark, flaky)

    assert 'query "profile" failed: could not write documents of "profile"' in failed.value.message
    assert "the disk is full" in failed.value.message
    assert "runs again at the next start" in failed.value.detail
    assert ["Ada"] == [json.loads(each)["name"] for each in FlakySink.taken]


def test_a_sink_that_raises_past_exceptions_ends_the_run(
    spark: SparkSession, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(kinds.SINKS.built_in, "cancelled", f"{__name__}:cancelled_sink")
    cancelled = project.to_sink("cancelled")
    cancelled.change("customer", "1", {"id": 1, "name": "Ada"})

    ended = run(spark, cancelled, once=True)

    with pytest.raises(RunError, match="CancelledError was raised in a batch of it"):
        assert ended.await_termination(300), "Spark waits forever"


def test_a_run_that_cannot_close_what_it_has_open_has_failed_and_lets_the_next_one_go_on(
    spark: SparkSession, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(letters: QueryLetters) -> None:
        raise OSError("no goodbye")

    project.change("customer", "1", {"id": 1, "name": "Ada"})
    with monkeypatch.context() as broken:
        broken.setattr(QueryLetters, "close", refuse)
        with pytest.raises(UnclosedError, match="no goodbye"):
            once(spark, project)
    (told,) = jn.status(project.folder / "joinery.yaml").products
    again = once(spark, project)

    assert "failed" == told.state
    assert (0, 1) == (again.progress.totals.documents, len(project.emitted()))


def test_a_second_run_is_refused_before_anything_is_read(
    spark: SparkSession, project: Project
) -> None:
    lease = Lease(project.folder / ".joinery/checkpoint/_leases/profile.lease", "profile")
    lease.take()

    with pytest.raises(LeaseHeldError, match='another run of "profile" is active'):
        run(spark, project, once=True)

    assert not (project.folder / ".joinery/checkpoint/profile").exists()
    lease.release()


def test_a_run_that_lost_its_lease_writes_nothing_more(
    spark: SparkSession, project: Project
) -> None:
    project.change("customer", "1", {"id": 1, "name": "Ada"})
    going = run(spark, project)
    while going.progress.totals.documents < 1:
        assert not going.await_termination(0.05)
    file = project.folder / ".joinery/checkpoint/_leases/profile.lease"
    file.write_text(json.dumps({**json.loads(file.read_text()), "owner": "another", "epoch": 9}))
    project.change("customer", "2", {"id": 1, "name": "Bea"})
    status = project.folder / ".joinery/checkpoint/_status/profile.json"

    with pytest.raises(RunError, match='another run has taken over "profile"'):
        going.await_termination(300)

    assert ["1 Ada"] == project.emitted()
    assert json.loads(file.read_text())["owner"] == "another"
    assert json.loads(status.read_text())["state"] == "running", "it is the other run's to tell"


def test_a_session_that_cannot_run_leaves_no_lease_behind(
    project: Project, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.change("customer", "1", {"id": 1, "name": "Ann"})
    settings = (("spark.sql.shuffle.partitions", "many"),)
    odd = replace(project.spec, run=replace(project.spec.run, spark=settings))
    connect = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()

    with pytest.raises(RunError, match=r'the setting "spark\.sql\.shuffle\.partitions"'):
        run(spark, replace(project, spec=odd), once=True)
    with pytest.raises(RunError, match="Spark Connect"):
        run(connect, project, once=True)
    with monkeypatch.context() as patched:
        patched.setattr(spark.sparkContext, "_jsc", None)
        with pytest.raises(RunError, match="the Spark session was stopped"):
            run(spark, project, once=True)

    run(spark, project, once=True).await_termination(300)
    assert project.emitted() == ["1 Ann"]
