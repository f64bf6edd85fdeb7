"""Products are asked to pause by whoever is named, and a run that does not answer is told."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from joinery.delivery.control import Action
from joinery.observe.outline import queries_of
from joinery.operate.pause import PauseError, PauseTimeoutError, ask, outcome, sharing
from joinery.plan.build import build_plan
from joinery.plan.explain.page import explain_stream
from joinery.project.product import ProjectSpec
from joinery.spark.batch.setup import SelectionError, check_selected
from joinery.testing.conformance.project import load_text

PROJECT = """
relations: {user: {key: [id], fields: {id: long, name: string}}}
products:
  person: {root: user, group: core, sink: {files: {path: out}}}
  names: {root: user, group: core, fields: [name], sink: {files: {path: out}}}
"""
STREAMS = """
relations: {view: {key: [id], append: true, fields: {id: long}}}
streams:
  seen: {from: view}
  twice: {from: seen, sink: {files: {path: out}}}
  alone: {from: view}
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


def test_a_stream_that_is_only_a_part_of_another_is_not_paused_by_its_name() -> None:
    spec = load_text(STREAMS)

    assert ("alone", "twice") == tuple(sorted(each.name for each in spec.running_streams))
    assert {"twice": "twice", "alone": "alone"} == queries_of(spec)
    with pytest.raises(PauseError, match='"seen" has no sink and is a part of "twice"'):
        ask(spec, ["seen"], Action.now("pause"))
    with pytest.raises(SelectionError, match='"seen" has no sink and is a part of "twice"'):
        check_selected(spec, ["twice", "seen"])
    assert "Pass seen by id to the streams that continue it" in str(
        explain_stream(build_plan(spec).streams[0])
    )
