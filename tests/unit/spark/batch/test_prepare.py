"""A run that is prepared tells how it stands before Spark is there."""

from __future__ import annotations

import errno
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.looking import rest

import joinery as jn
from joinery.delivery.lease import Lease
from joinery.delivery.outlet import DirectOutlet
from joinery.errors import RunError, SinkError
from joinery.spark.batch.held import UnclosedError
from joinery.spark.batch.letters import QueryLetters
from joinery.spark.batch.run import Run, RunOptions
from joinery.spark.batch.watch import WaitedTooLongError
from joinery.spark.recovery.disk import DiskFullError

PROJECT = """\
sources: {changes: {files: {path: data}}}
relations:
  customer: {format: json, key: [id], fields: {id: long, name: string}PERSONAL}
products:
  card: {root: customer, group: card, sink: SINK}
MORE
VAULT
"""
AWAY = """\
vault:
  postgres: {url: "postgresql://ada@127.0.0.1:1/keys"}
  master: not a secret since this is only a test
"""


def project_of(
    folder: Path, *, vault: str = "", sink: str = "{files: {path: out}}", more: str = ""
) -> Any:
    personal = ", personal: {subject: id, fields: [name]}" if vault else ""
    text = PROJECT.replace("PERSONAL", personal).replace("VAULT", vault).replace("MORE", more)
    text = text.replace("SINK", sink)
    (folder / "joinery.yaml").write_text(text)
    return jn.load(folder / "joinery.yaml")


def run_of(project: Any, *, wait_ms: int | None = None) -> Run:
    return Run(project.spec, project.plan, RunOptions(once=True, wait_ms=wait_ms))


def stands(folder: Path) -> tuple[str, str]:
    found = jn.status(folder / "joinery.yaml").products[0]
    return found.state, found.because


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        looked = time.monotonic()
        assert looked < deadline
        rest(looked, 0.05)


def test_a_vault_that_is_away_at_the_start_is_told_in_place_of_the_end_before(
    tmp_path: Path,
) -> None:
    before = run_of(project_of(tmp_path))
    before.prepare()
    before.abandon()
    ended, _ = stands(tmp_path)
    run = run_of(project_of(tmp_path, vault=AWAY))
    failed: list[RunError] = []

    def prepare() -> None:
        try:
            run.prepare()
        except RunError as error:
            failed.append(error)

    preparing = threading.Thread(target=prepare)
    preparing.start()
    until(lambda: "it waits" in stands(tmp_path)[1] or not preparing.is_alive())
    told = stands(tmp_path)
    run.request_stop()
    preparing.join(30)

    assert "ended" == ended
    assert "starting" == told[0]
    assert told[1].startswith("it waits for the vault, ")
    assert ["RUN_VAULT_AWAY"] == [each.code for each in failed]
    assert "ended" == stands(tmp_path)[0]


def test_a_vault_is_not_waited_for_longer_than_was_asked_for(tmp_path: Path) -> None:
    run = run_of(project_of(tmp_path, vault=AWAY), wait_ms=300)

    with pytest.raises(WaitedTooLongError, match=r"waited 300ms for the vault, ") as told:
        run.prepare()

    assert ("failed", f"{told.value.message} [RUN_WAIT]") == stands(tmp_path)


def test_a_sink_that_cannot_be_opened_is_told_as_the_end_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    run = run_of(project_of(tmp_path))

    with pytest.raises((SinkError, OSError)):
        run.prepare()

    assert "failed" == stands(tmp_path)[0]


def test_what_cannot_be_closed_is_told_and_keeps_neither_the_rest_open_nor_the_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(outlet: DirectOutlet) -> None:
        closed.append("outlet")
        raise OSError("no goodbye")

    closed: list[str] = []
    monkeypatch.setattr(DirectOutlet, "close", refuse)
    monkeypatch.setattr(QueryLetters, "close", lambda letters: closed.append("letters"))
    run = run_of(project_of(tmp_path, more="  card_too: {root: customer, group: card, sink: SINK}"))
    run.prepare()

    with pytest.raises(UnclosedError, match="OSError: no goodbye"):
        run.abandon()
    told = stands(tmp_path)
    next_run = run_of(jn.load(tmp_path / "joinery.yaml"))
    next_run.prepare()

    monkeypatch.undo()
    next_run.abandon()
    assert ["outlet", "outlet", "letters"] == closed
    assert ("failed", "could not close what the run had open: OSError: no goodbye [RUN_CLOSE]") == (
        told
    )


def test_a_lease_that_cannot_be_given_back_keeps_no_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def release(lease: Lease) -> None:
        tried.append(lease)
        if len(tried) == 1:
            raise RunError("no answer")
        released(lease)

    released, tried = Lease.release, list[Lease]()
    project = project_of(tmp_path, more="  own: {root: customer, sink: {files: {path: own}}}")
    run = run_of(project)
    run.prepare()
    monkeypatch.setattr(Lease, "release", release)

    with pytest.raises(RunError, match="no answer"):
        run.abandon()

    monkeypatch.undo()
    others = Run(project.spec, project.plan, RunOptions(once=True, products=("card",)))
    others.prepare()
    others.abandon()
    tried[0].release()


def test_a_run_that_another_one_holds_up_leaves_its_status_alone(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    first, second = run_of(project), run_of(project)
    first.prepare()

    with pytest.raises(RunError):
        second.prepare()
    told = stands(tmp_path)

    first.abandon()
    assert "starting" == told[0]


def test_a_disk_that_takes_no_lease_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(lease: Lease) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    usage = shutil.disk_usage(tmp_path)._replace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    monkeypatch.setattr(Lease, "take", take)
    run = run_of(project_of(tmp_path))

    with pytest.raises(DiskFullError):
        run.prepare()
