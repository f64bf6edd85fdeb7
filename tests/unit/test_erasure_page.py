"""What docs/erasure.md shows is what Joinery takes and gives."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import joinery as jn
from joinery.plan.check import check
from joinery.testing.changes import insert
from joinery.testing.driver import Driver
from joinery.testing.stream_driver import StreamDriver

PAGE = (Path(__file__).parents[2] / "docs" / "erasure.md").read_text(encoding="utf-8")
BLOCKS = dict(
    re.findall(r"```(yaml|yaml keys|yaml derived|yaml stream|json \w+)\n(.*?)```", PAGE, re.S)
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JOINERY_MASTER_KEY", "not a secret, since this is only a test")
    file = tmp_path / "joinery.yaml"
    file.write_text(BLOCKS["yaml"], encoding="utf-8")
    return file


def test_the_project_of_the_page_has_no_problem(file: Path) -> None:
    assert [] == [each for each in check(file) if each.severity == "error"]


def test_the_rows_of_the_page_make_its_documents_and_an_erasure_the_last(file: Path) -> None:
    driver = Driver(jn.load(file).products["profile"])

    driver.send(
        insert(name, **json.loads(BLOCKS[f"json {name}"])) for name in ("customer", "subscription")
    )

    assert {42: json.loads(BLOCKS["json out"])} == driver.documents()
    driver.erase("customer", 42)
    assert {42: json.loads(BLOCKS["json erased"])} == driver.documents()


def test_the_product_with_a_personal_key_says_so(file: Path) -> None:
    head, _, _ = BLOCKS["yaml"].partition("relations:")
    file.write_text(head + BLOCKS["yaml keys"], encoding="utf-8")
    driver = Driver(jn.load(file).products["profile"])

    driver.send(insert("user", email="ann@example.org", town="York"))

    assert [json.loads(BLOCKS["json keyed"])["value"]] == [*driver.documents().values()]


def test_a_derived_column_of_the_page_joins_until_its_subject_is_erased(file: Path) -> None:
    head, _, _ = BLOCKS["yaml"].partition("relations:")
    file.write_text(head + BLOCKS["yaml derived"], encoding="utf-8")
    driver = Driver(jn.load(file).products["profile"])
    row = {"id": 42, "email": "ann@example.org", "first": "Ann", "last": "Lee"}

    driver.send(insert("customer", **row), insert("company", host="example.org", plan="gold"))

    assert {"id": 42, "name": None, "company": {"plan": "gold"}} == driver.documents()[42]
    driver.erase("customer", 42)
    assert driver.documents()[42]["company"] is None


def test_the_stream_of_the_page_sends_again_what_met_an_erased_row(file: Path) -> None:
    head, _, _ = BLOCKS["yaml"].partition("relations:")
    file.write_text(head + BLOCKS["yaml stream"], encoding="utf-8")
    driver = StreamDriver(jn.load(file).streams["enriched"])
    row = {"email": "ann@example.org", "name": "Ann", "tier": "gold"}

    sent = driver.send(
        insert("customer", **row), insert("order", id=1, email="ann@example.org", sku="tea")
    )

    assert [{"id": 1, "name": None, "tier": "gold", "sku": "tea"}] == [each.value for each in sent]
    assert sent == driver.erase("customer", "ann@example.org")
    assert all(each.severity == "warning" for each in check(file))
