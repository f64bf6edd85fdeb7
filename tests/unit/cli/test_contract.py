"""`joinery contract`: exported as asked for, and compared with the right exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.cli.shop import PROJECT, joinery

OUTBOX = """\
  events:
    outbox: event
    sink: {kafka: {topic: "shop.{type}", bootstrap: "broker:9092"}}
"""
EVENT = """\
  event:
    append: true
    key: [id]
    fields: {id: long, aggregateid: string, type: string, payload: string}
"""
Printed = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT, encoding="utf-8")
    return file


def test_one_product_is_exported_as_a_schema_and_several_under_defs(
    file: Path, capsys: Printed
) -> None:
    exported = []
    for names in (["names"], [], ["names", "profile"]):
        assert 0 == joinery("contract", "export", *names)
        exported.append(json.loads(capsys.readouterr().out))

    one, all_, two = exported
    assert "names" == one["title"]
    assert ["profile", "names"] == list(all_["$defs"])
    assert all_ == two
    assert one == {"$schema": one["$schema"], **all_["$defs"]["names"]}


def test_the_standard_is_written_as_yaml_with_a_version(file: Path, capsys: Printed) -> None:
    assert 0 == joinery("contract", "export", "--format", "odcs", "--version", "2.0.0")

    told = capsys.readouterr().out
    assert told.startswith("apiVersion: v3.1.0\nkind: DataContract\n")
    assert "\nversion: 2.0.0\n" in told


def test_a_product_that_is_not_there_is_refused(file: Path, capsys: Printed) -> None:
    assert 2 == joinery("contract", "export", "nams")

    assert 'the project has no product or stream "nams"' in capsys.readouterr().err


def test_an_outbox_has_no_contract(file: Path, capsys: Printed) -> None:
    file.write_text(PROJECT.replace("products:", f"{EVENT}products:") + OUTBOX, encoding="utf-8")

    assert 0 == joinery("contract", "export")
    assert ["profile", "names"] == list(json.loads(capsys.readouterr().out)["$defs"])
    assert 2 == joinery("contract", "export", "events")
    assert 'product "events" has an outbox, and no contract' in capsys.readouterr().err


def test_an_exported_contract_stands_until_something_breaks_it(file: Path, capsys: Printed) -> None:
    joinery("contract", "export")
    Path("contract.json").write_text(capsys.readouterr().out, encoding="utf-8")

    assert 0 == joinery("contract", "check", "--against", "contract.json")
    assert "0 breaking changes against contract.json, 0 compatible changes\n" == (
        capsys.readouterr().out
    )
    file.write_text(PROJECT.replace("[name]", "[id]"), encoding="utf-8")
    assert 3 == joinery("contract", "check", "--against", "contract.json")
    assert [
        "joinery.yaml:7:3: CONTRACT_FIELD_REMOVED names.name is no longer in the documents",
        "1 breaking change against contract.json, 1 compatible change",
    ] == capsys.readouterr().out.splitlines()


def test_the_contract_of_one_product_is_compared_alone(file: Path, capsys: Printed) -> None:
    joinery("contract", "export", "names")
    Path("names.json").write_text(capsys.readouterr().out, encoding="utf-8")

    file.write_text(PROJECT.replace("id: long, name", "id: int, name"), encoding="utf-8")

    assert 3 == joinery("contract", "check", "--against", "names.json")
    assert "joinery.yaml:4:14: CONTRACT_KEY_CHANGED names.key was (id long), is (id int)" in (
        capsys.readouterr().out
    )


def test_all_changes_are_told_in_json(file: Path, capsys: Printed) -> None:
    Path("old.yaml").write_text(PROJECT, encoding="utf-8")
    file.write_text(PROJECT.replace("  names: {", "  called: {"), encoding="utf-8")

    assert 3 == joinery("contract", "check", "--against", "old.yaml", "--json")

    told = json.loads(capsys.readouterr().out)
    assert [
        {
            "code": "CONTRACT_PRODUCT_REMOVED",
            "product": "names",
            "field": None,
            "message": "names is no longer sent",
            "file": "joinery.yaml",
            "line": 6,
            "column": 3,
        }
    ] == told["breaking"]
    assert [("called", 7)] == [(each["product"], each["line"]) for each in told["compatible"]]


@pytest.mark.parametrize(
    ("against", "said"),
    [
        ("missing.json", 'could not read file "missing.json": No such file or directory'),
        ("joinery.json", 'file "joinery.json" is not JSON'),
        ("other.json", '"other.json" is no contract that joinery contract export wrote'),
        ("missing.yaml", 'SPEC_FILE_MISSING there is no file "missing.yaml"'),
        ("git:main", "not a git repository"),
        ("git:of.json", "not a git repository"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(
    against: str, said: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(file.parents[1]))
    Path("joinery.json").write_text(PROJECT, encoding="utf-8")
    Path("other.json").write_text("{}", encoding="utf-8")

    assert 2 == joinery("contract", "check", "--against", against)

    assert said in capsys.readouterr().err
