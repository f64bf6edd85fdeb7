"""Whose fault a difference is, by what the logs tell."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joinery.app.cause import Causes
from joinery.app.logs import Logs
from joinery.audit.verdict import Difference, Open
from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.project.kind import SinkSpec
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.provenance.told import Naming

PROJECT = """\
sources:
  db: {postgres: {url: "postgresql://joinery@127.0.0.1:1/shop", spool: {path: spool}}}
  data: {files: {path: data}}
relations:
  customer:
    {source: db, format: debezium-json, key: [id], fields: {id: long, name: string, city: string}}
  user: {source: data, format: json, key: [id], fields: {id: long, name: string}}
products:
  profile: {root: customer, fields: [name, city], sink: {files: {path: out}}}
  person: {root: user, fields: [name], sink: {files: {path: out}}}
"""
SNAPSHOT = "10:15:10,12"  # 10 and 12 go on
MTIME_S = 1_000_000
KEY = '{"id":1}'
SINK = "files out"


@pytest.fixture
def spec(tmp_path: Path) -> ProjectSpec:
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    return load_spec(tmp_path)


def product(spec: ProjectSpec, name: str) -> Product:
    return next(each for each in build_plan(spec).products if each.name == name)


def customer(line: int, name: str, city: str) -> Change:
    return Change(
        "customer", {"id": 1}, {"id": 1, "name": name, "city": city}, line, place=(1, line)
    )


def user(line: int, name: str) -> Change:
    return Change("user", {"id": 1}, {"id": 1, "name": name}, place=(1, line))


def logs(product: Product, *changes: Change, gone: Mapping[str, str] | None = None) -> Logs:
    names = {each.name: each.topic for each in product.relations}
    naming = Naming(names, {each: {1: "1.jsonl"} for each in names})
    return Logs(changes, naming, "position", {}, {}, {}, gone or {}, {}, {})


def spooled(spec: ProjectSpec, topic: str, *transactions: int) -> None:
    """Write the lines of a spool, each with its transaction."""
    file = spec.path_of("spool") / "db" / "files" / topic / "1.jsonl"
    file.parent.mkdir(parents=True)
    lines = [json.dumps({"source": {"txId": each}}) for each in transactions]
    file.write_text("\n".join(lines) + "\n")
    os.utime(file, (MTIME_S, MTIME_S))


def difference(expected: str | None, held: str | None, version: int = 1) -> Difference:
    return Difference(KEY, expected, held, version, position=99, snapshot=SNAPSHOT)


def document(name: str, city: str) -> str:
    return f'{{"name":"{name}","city":"{city}"}}'


def test_a_change_that_the_database_does_not_show_is_waited_for_also_below_others(
    spec: ProjectSpec,
) -> None:
    profile = product(spec, "profile")
    told = logs(profile, customer(1, "a", "x"), customer(2, "b", "x"), customer(3, "b", "y"))
    spooled(spec, profile.root.relation.topic, 8, 12, 13)

    [found] = Causes(spec, profile, SINK, placed=True).judged(
        [difference(document("a", "y"), document("b", "y"))], told
    )

    assert isinstance(found, Open)
    assert "the database does not show a change of it yet" in found.why
    assert found.why.endswith("/1.jsonl/2)")
    assert found.late


def test_logs_without_their_beginning_blame_nobody_for_what_they_lack(spec: ProjectSpec) -> None:
    profile = product(spec, "profile")
    spooled(spec, profile.root.relation.topic, 8)
    told = logs(profile, customer(1, "b", "x"), gone={"customer": "the oldest changes"})
    lacking, altered, lost = (
        difference(document("a", "x"), None),
        difference(document("b", "x"), document("z", "x")),
        difference(document("b", "x"), None),
    )

    found = [
        Causes(spec, profile, SINK, placed=True).judged([each], told)[0]
        for each in (lacking, altered, lost)
    ]

    assert ["unknown", "unknown", "sink"] == [
        each.cause for each in found if isinstance(each, Difference)
    ]


def test_whole_logs_tell_who_is_to_blame(spec: ProjectSpec) -> None:
    profile = product(spec, "profile")
    spooled(spec, profile.root.relation.topic, 8, 9)
    told = logs(profile, customer(1, "a", "x"), customer(2, "b", "x"))
    old, right, after = document("a", "x"), document("b", "x"), MTIME_S * 1_000_000

    found = [
        Causes(spec, profile, SINK, placed=True).judged([each], told)[0]
        for each in (
            difference(old, right),
            difference(right, document("z", "x")),
            difference(right, old, after),
            difference(right, old, after - 1),
        )
    ]

    assert ["input", "sink", "sink", "joinery"] == [
        each.cause for each in found if isinstance(each, Difference)
    ]


def test_where_dead_letters_are_not_read_nobody_is_to_blame(spec: ProjectSpec) -> None:
    letters = SinkSpec("kafka", (("topic", "letters"), ("bootstrap", "127.0.0.1:1")))
    elsewhere = replace(spec, run=replace(spec.run, dead_letters=letters))
    profile = product(spec, "profile")
    spooled(spec, profile.root.relation.topic, 8, 9)
    told = logs(profile, customer(1, "a", "x"), customer(2, "b", "x"))
    wrong = difference(document("b", "x"), document("a", "x"), MTIME_S * 1_000_000 - 1)

    [found] = Causes(elsewhere, profile, SINK, placed=True).judged([wrong], told)

    assert isinstance(found, Difference)
    assert ("unknown", True) == (found.cause, "dead letters are not read here" in found.why)


def test_change_files_tell_when_a_document_was_not_sent(spec: ProjectSpec) -> None:
    person = product(spec, "person")
    told = logs(person, user(1, "a"), user(2, "b"))
    wrong = difference('{"name":"b"}', '{"name":"a"}', MTIME_S * 1_000_000 - 1)
    file = spec.path_of("data") / "user" / "1.jsonl"

    [unknown] = Causes(spec, person, SINK, placed=False).judged([wrong], told)
    file.parent.mkdir(parents=True)
    file.touch()
    os.utime(file, (MTIME_S, MTIME_S))
    [known] = Causes(spec, person, SINK, placed=False).judged([wrong], told)

    assert ["unknown", "joinery"] == [
        each.cause for each in (unknown, known) if isinstance(each, Difference)
    ]


def test_logs_that_have_gone_on_since_are_no_fault(spec: ProjectSpec) -> None:
    person = product(spec, "person")
    told = logs(person, user(1, "a"), user(2, "b"))

    found = Causes(spec, person, SINK, placed=False).judged(
        [difference('{"name":"a"}', '{"name":"x"}')], told
    )

    assert [Open(KEY, "its logs have gone on since it was compared")] == found


def refused(spec: ProjectSpec, number: int, sink: str, value: str) -> None:
    """Keep the dead letter of a document of `person`."""
    letter: dict[str, object] = {"reason": "document_refused", "product": "person", "sink": sink}
    letter |= {"key": KEY, "version": 1, "value": value}
    letter |= {"detail": "no", "time": "2026-01-01T00:00:00Z"}
    folder = spec.path_of(".joinery/dead_letters")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number}.jsonl").write_text(json.dumps(letter) + "\n")


def test_a_document_that_the_sink_has_refused_is_no_defect_of_joinery(spec: ProjectSpec) -> None:
    person = product(spec, "person")
    wrong = difference('{"name":"b"}', '{"name":"a"}')
    told = logs(person, user(1, "a"), user(2, "b"))

    refused(spec, 1, SINK, '{"name":"a"}')
    refused(spec, 2, "files elsewhere", '{"name":"b"}')
    others = Causes(spec, person, SINK, placed=False).judged([wrong], told)
    refused(spec, 3, SINK, '{"name": "b"}')
    found = Causes(spec, person, SINK, placed=False).judged([wrong], told)

    assert [
        ("unknown", "the sink holds what was right before user/1.jsonl/2"),
        ("sink", "the sink refused it: see joinery dlq"),
    ] == [(each.cause, each.why) for each in (*others, *found) if isinstance(each, Difference)]


def test_a_file_is_read_once_for_all_changes(
    spec: ProjectSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile, opened, real = product(spec, "profile"), list[str](), Path.open
    spooled(spec, profile.root.relation.topic, 8, 9)
    told = logs(profile, customer(1, "a", "x"), customer(2, "b", "x"))

    def counted(path: Path, *args: Any, **kwargs: Any) -> Any:
        opened.append(path.name)
        return real(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", counted)
    Causes(spec, profile, SINK, placed=True).judged(
        [difference(document("b", "x"), document("z", "x"))], told
    )

    assert 1 == opened.count("1.jsonl")
