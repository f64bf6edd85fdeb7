"""A run is told of databases that it hears nothing of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from joinery.model.progress import Waiting
from joinery.plan.build import build_plan
from joinery.project.captured import spool_of
from joinery.project.load import load_spec
from joinery.spark.batch import captures
from joinery.spark.batch.captures import Captures, claim_spool

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PROJECT = """
sources: {shop: {postgres: {url: "postgresql://nobody@localhost:1/shop"}}}
relations: {user: {topic: public.user, key: [id], fields: {id: long}}}
products: {person: {root: user, sink: {files: {path: out}}}}
"""


def test_a_capture_without_heartbeats_is_silent_unless_it_is_paused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures, "_LISTEN_S", 0.0)
    monkeypatch.setattr(captures, "_SILENT_S", 0.0)
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT, encoding="utf-8")
    spec = load_spec(file)
    told: list[Waiting | None] = []
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

    begun, over = told
    assert begun is not None
    assert ("shop", True) == (begun.source, begun.silent)
    assert over is None
