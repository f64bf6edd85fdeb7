"""A run is told of databases that it hears nothing of."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from joinery.model.progress import Silence, Waiting
from joinery.plan.build import build_plan
from joinery.project.captured import spool_of
from joinery.project.load import load_spec
from joinery.spark.batch import captures
from joinery.spark.batch.captures import Captures, claim_spool

if TYPE_CHECKING:
    from pathlib import Path

    from joinery.project.product import ProjectSpec

PROJECT = """
sources: {shop: {postgres: {url: "postgresql://nobody@localhost:1/shop"}}}
relations: {user: {topic: public.user, key: [id], fields: {id: long}}}
products: {person: {root: user, sink: {files: {path: out}}}}
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectSpec:
    """A project whose captures may not be silent for a moment."""
    monkeypatch.setattr(captures, "_LISTEN_S", 0.0)
    monkeypatch.setattr(captures, "_SILENT_S", 0.0)
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT, encoding="utf-8")
    return load_spec(file)


def test_a_capture_without_heartbeats_is_silent_until_it_is_heard_of(spec: ProjectSpec) -> None:
    told: list[Waiting | Silence | None] = []
    watched = Captures(spec, build_plan(spec).products)
    watched.serve(lambda target, waiting: told.append(waiting), lambda warning: None)
    spool = claim_spool(spec, spec.sources[0])
    assert spool_of(spec, spec.sources[0]) == spool.path

    watched.listen()  # which has not begun to read
    spool.note_read("shop", 7, 1)
    watched.listen()
    watched.listen()
    spool.pause("Ada")
    watched.listen()

    [begun] = told  # nothing is heard of a paused one, either
    assert isinstance(begun, Silence)
    assert "shop" == begun.source


def test_a_capture_that_writes_files_of_a_transaction_is_not_silent(spec: ProjectSpec) -> None:
    told: list[Waiting | Silence | None] = []
    watched = Captures(spec, build_plan(spec).products)
    watched.serve(lambda target, waiting: told.append(waiting), lambda warning: None)
    spool = claim_spool(spec, spec.sources[0])
    spool.note_read("shop", 7, 1)
    table = spool.path / "files" / "public.user"
    table.mkdir(parents=True)

    for number in (2, 3):
        (table / f"{number:016d}.jsonl").touch()
        watched.listen()
    within = [*told]
    watched.listen()

    assert [] == within
    assert [True] == [isinstance(each, Silence) for each in told]


def test_the_next_run_over_the_same_captures_is_told_of_a_silent_one(spec: ProjectSpec) -> None:
    told: list[str] = []
    watched = Captures(spec, build_plan(spec).products, stay=True)
    claim_spool(spec, spec.sources[0]).note_read("shop", 7, 1)

    def silent_in(run: str, target: str, waiting: Waiting | Silence | None) -> None:
        told.append(run)

    for run in ("rebuild", "run"):
        watched.serve(partial(silent_in, run), lambda warning: None)
        watched.listen()
        watched.listen()

    assert ["rebuild", "run"] == told
