"""Columns derived from personal ones: personal like them, and gone with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.erasure import CANARY, change, erased, holding, run, shown

import joinery as jn
from joinery.testing.changes import update
from joinery.testing.driver import Driver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: keys/vault.db}, master: "not a secret, since this is only a test"}
relations:
  person:
    key: [id]
    fields: {id: long, email: string, first: string, last: string, country: string}
    derive:
      short: upper(substring(country, 1, 2))
      domain: split_part(email, '@', 2)
      full_name: concat(first, ' ', last, ' (', short, ')')
      letters: length(full_name)
      words: split(full_name, ' ')
    personal: {subject: id, fields: [email, first, last], join: [domain]}
  host:
    key: [name]
    fields: {name: string, rank: int}
    derive: {lower_name: lower(name)}
    personal: {subject: name, fields: [name], join: [name, lower_name]}
products:
  profile:
    root: person
    fields: [id, domain, full_name, letters, words, short]
    embed: {hosts: {many: host, on: {lower_name: domain}, fields: [rank]}}
    sink:
      - sqlite: {path: clear.db, reveal: true}
      - files: {path: out}
"""


def person(number: int, **others: Any) -> dict[str, Any]:
    told = {"id": number, "email": f"ann@{CANARY}-{number}.org", "country": "france"}
    return {**told, "first": f"{CANARY} {number}", "last": "Lee", **others}


def test_what_is_derived_from_personal_columns_is_sealed_and_erased_with_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    change(tmp_path, "person", "1", *map(person, range(3)))
    change(tmp_path, "host", "1", {"name": f"{CANARY.upper()}-1.ORG", "rank": 7})
    project = jn.load(tmp_path / "joinery.yaml")

    run(spark, project)

    before = shown(tmp_path)
    full_name = f"{CANARY} 1 Lee (FR)"
    whole = {
        "id": 1,
        "domain": f"{CANARY}-1.org",
        "full_name": full_name,
        "letters": len(full_name),
        "words": [CANARY, "1", "Lee", "(FR)"],
        "short": "FR",
        "hosts": [{"rank": 7}],
    }
    assert whole == json.loads(before[1])
    assert {"clear.db"} == holding(tmp_path, CANARY)
    assert not holding(tmp_path, CANARY.upper())

    erased(project, "person", 1)
    run(spark, project)

    after = shown(tmp_path)
    nulls = dict.fromkeys(("domain", "full_name", "letters", "words"))
    assert {**whole, **nulls, "hosts": []} == json.loads(after[1])
    assert {each: before[each] for each in (0, 2)} == {each: after[each] for each in (0, 2)}

    change(tmp_path, "person", "2", person(1, last="Kim"), {"id": 0, "__deleted": True})
    run(spark, project, rebuild=True)
    assert {each: after[each] for each in (1, 2)} == shown(tmp_path)


def test_an_update_that_leaves_out_columns_gives_what_the_reference_gives(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    project = jn.load(tmp_path / "joinery.yaml")
    rows = [person(1), {"id": 1, "email": f"eve@{CANARY}-2.org"}, {"id": 1, "country": "spain"}]
    for number, row in enumerate(rows):
        change(tmp_path, "person", str(number), row)

    run(spark, project)

    document = json.loads(shown(tmp_path)[1])
    assert {
        "domain": f"{CANARY}-2.org",
        "full_name": None,
        "short": "SP",
    }.items() <= document.items()
    driver = Driver(project.products["profile"])
    driver.send(update("person", **row) for row in rows)
    assert document | {"domain": None, "full_name": None} == driver.documents()[1]
