"""Relations in Avro need a registry."""

from __future__ import annotations

from pathlib import Path

from joinery.plan.build import build_plan
from joinery.plan.check import check
from joinery.project.load import load_spec

PROJECT = """\
sources: {{changes: {source}}}
defaults: {{format: avro}}
relations: {{user: {{key: [id], fields: {{id: long}}{more}}}}}
products: {{profile: {{root: user}}}}
"""
KAFKA = '{kafka: {bootstrap: "h:1"}}'


def written(folder: Path, source: str, more: str = "") -> Path:
    file = folder / "joinery.yaml"
    file.write_text(PROJECT.format(source=source, more=more), encoding="utf-8")
    return file


def test_a_relation_takes_the_registry_of_its_source(tmp_path: Path) -> None:
    source = '{kafka: {bootstrap: "h:1", registry: "http://r"}}'

    plan = build_plan(load_spec(written(tmp_path, source)))

    (relation,) = plan.products[0].relations
    assert relation.registry is not None
    assert relation.registry.url == "http://r"


def test_a_relation_in_json_takes_none(tmp_path: Path) -> None:
    source = '{kafka: {bootstrap: "h:1", registry: "http://r"}}'

    plan = build_plan(load_spec(written(tmp_path, source, ", format: json")))

    assert plan.products[0].relations[0].registry is None


def test_a_source_without_a_registry_is_refused(tmp_path: Path) -> None:
    (problem,) = check(written(tmp_path, KAFKA))

    assert (problem.code, problem.line, problem.column) == ("PLAN_REGISTRY", 2, 20)
    assert problem.message == 'format "avro" of relation "user" needs a schema registry'


def test_files_cannot_carry_avro(tmp_path: Path) -> None:
    file = written(tmp_path, "{files: {path: in}}", ", format: debezium-avro")

    (problem,) = check(file)

    assert (problem.code, problem.line) == ("PLAN_REGISTRY", 3)
    assert problem.hint == "Read it from Kafka, or use debezium-json or json."
