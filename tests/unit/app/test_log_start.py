"""What logs no longer have of what was read from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from joinery.app.log_start import first_offsets, gone_of
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec

PROJECT = """\
sources:
  data: {files: {path: data}}
  db: {postgres: {url: "postgresql://joinery@127.0.0.1:1/shop", spool: {path: spool}}}
relations:
  user: {source: data, format: json, key: [id], fields: {id: long}}
  post: {source: db, format: debezium-json, key: [id], fields: {id: long, user_id: long}}
products:
  profile:
    root: user
    embed: {posts: {many: post, on: {user_id: id}}}
    sink: {files: {path: out}}
"""


@pytest.fixture
def spec(tmp_path: Path) -> ProjectSpec:
    (tmp_path / "data" / "user").mkdir(parents=True)
    (tmp_path / "data" / "user" / "2.jsonl").touch()
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    return load_spec(tmp_path)


def gone(spec: ProjectSpec, *files: str) -> dict[str, str]:
    [product] = build_plan(spec).products
    seen = {"data": {("user", each): 1 for each in files}}
    return gone_of(spec, product.relations, seen, {}, [])


def test_files_that_are_there_lack_nothing(spec: ProjectSpec) -> None:
    assert {} == gone(spec)
    assert {} == gone(spec, "2.jsonl")


def test_a_file_that_was_read_and_removed_is_gone(spec: ProjectSpec) -> None:
    assert {"user": "user/1.jsonl"} == gone(spec, "1.jsonl", "2.jsonl")
    assert {"user": "user/1.jsonl and 1 more"} == gone(spec, "1.jsonl", "3.jsonl", "2.jsonl")


def test_a_spool_that_was_pruned_lacks_its_oldest_changes(spec: ProjectSpec) -> None:
    folder = spec.path_of("spool") / "db"
    folder.mkdir(parents=True)
    (folder / "kept.json").write_text(json.dumps({"removed": 7}))

    assert {"post": "the oldest changes in the spool of db"} == gone(spec)


def test_a_spool_whose_tables_were_read_again_since_lacks_nothing(spec: ProjectSpec) -> None:
    folder = spec.path_of("spool") / "db"
    folder.mkdir(parents=True)
    (folder / "kept.json").write_text(json.dumps({"removed": 7, "whole_from": 8}))

    assert {} == gone(spec)


STARTING = """\
sources:
  log:
    kafka: {bootstrap: "127.0.0.1:1", starting: {user: {0: 5, 1: latest}, post: earliest}}
relations:
  user: {source: log, format: json, key: [id], fields: {id: long}}
products:
  profile: {root: user, sink: {files: {path: out}}}
"""


def test_a_topic_that_no_run_has_read_begins_where_its_source_says(tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(STARTING, encoding="utf-8")

    assert {"log": {"user": {"0": 5}}} == first_offsets(load_spec(tmp_path), [tmp_path / "none"])
