"""Products are asked to pause by whoever is named, and a run that does not answer is told."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from joinery.delivery.control import Action
from joinery.operate.pause import PauseError, PauseTimeoutError, ask, outcome, sharing
from joinery.project.product import ProjectSpec
from joinery.testing.conformance.runner import load_text

PROJECT = """
relations: {user: {key: [id], fields: {id: long, name: string}}}
products:
  person: {root: user, group: core, sink: {files: {path: out}}}
  names: {root: user, group: core, fields: [name], sink: {files: {path: out}}}
"""


@pytest.fixture
def spec(tmp_path: Path) -> ProjectSpec:
    return replace(load_text(PROJECT), folder=tmp_path)


def test_who_asks_second_is_told_who_did_before(spec: ProjectSpec) -> None:
    both = sharing(spec, "core")
    [first] = ask(spec, both, Action.now("pause", by="ada"))
    [second] = ask(spec, both, Action.now("pause", by="ben"))

    assert ("person", "names") == both == second.members
    assert "" == first.before
    assert second.before.startswith("was paused before, by ada at ")


def test_a_part_of_a_query_is_not_paused(spec: ProjectSpec, tmp_path: Path) -> None:
    with pytest.raises(PauseError, match='names shares query "core"'):
        ask(spec, ["person"], Action.now("pause"))

    assert not (tmp_path / ".joinery").exists()


def test_a_run_that_has_not_done_it_yet_is_told_and_the_request_stands(spec: ProjectSpec) -> None:
    [request] = ask(spec, ["person", "names"], Action.now("pause"))
    lease = request.paths.lease
    lease.take()
    try:
        with pytest.raises(PauseTimeoutError, match="requested, but not done yet"):
            outcome(request, time.monotonic())
    finally:
        lease.release()

    assert "person, names: no run is active; the next one starts paused" == outcome(request, 0)
