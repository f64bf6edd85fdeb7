"""Streams over personal columns: a canary is sealed before an erasure, and gone after it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.erasure import CANARY, CONTROL, change, email, holding, run, shown

import joinery as jn
from joinery.spark.frames.documents import frame_of
from joinery.spark.frames.frame import FrameError
from joinery.vault.erasure import erase
from joinery.vault.prove import Proof, prove_erased
from joinery.vault.tables import open_vault

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SUBJECTS = 200
PROJECT = """\
name: web
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: keys/vault.db}, master: "not a secret, since this is only a test"}
relations:
  view:
    format: debezium-json
    append: true
    key: [id]
    fields: {id: long, user_id: long, email: string, address: long, page: string}
    personal: {subject: user_id, fields: [email], join: [email]}
  customer:
    key: [id]
    fields: {id: long, name: string, tier: string}
    personal: {subject: id, fields: [name]}
  address:
    key: [id]
    fields: {id: long, owner: long, street: string}
    personal: {subject: owner, fields: [street]}
  account:
    key: [email]
    fields: {email: string, phone: long, plan: string}
    personal: {subject: email, fields: [email, phone], join: [email]}
streams:
  enriched:
    from: view
    group: a
    steps:
      - filter: page <> '/none'
      - {lookup: account, on: [email], fields: [phone, plan], on_change: re_emit, for: 7d}
      - {lookup: customer, on: {id: user_id}, fields: [name, tier], on_change: re_emit, for: 7d}
      - {lookup: address, on: {id: address}, fields: [street], on_change: re_emit, for: 7d}
      - with_columns: {mail: email}
      - select: [user_id, mail, phone, plan, name, tier, street, page]
    sink: &clear
      - sqlite: {path: clear.db, reveal: true}
      - files: {path: out}
  waiting:
    from: view
    group: a
    steps:
      - {lookup: address, on: {id: address}, fields: [street], on_miss: "wait:7d"}
      - select: [user_id, email, street]
    sink: *clear
  strict:
    from: view
    group: a
    steps:
      - {lookup: customer, on: {id: user_id}, on_miss: dead_letter}
      - {lookup: account, on: [email], fields: [plan]}
      - select: [email, name, plan]
    sink: *clear
"""
STREAMS = ("enriched", "waiting", "strict")


def phone(number: int) -> int:
    return 4_930_000_000 + number


def name(number: int) -> str:
    return f"{CANARY} Ann {number}."


def street(number: int) -> str:
    return f"{CANARY} lane {number}."


def view(number: int, user: int, address: int, *, op: str = "c") -> dict[str, Any]:
    told = {"id": number, "user_id": user, "email": email(user), "address": address}
    page = f"/{CONTROL}" if op == "c" else "/another"
    source = {"connector": "postgresql"}
    return {"op": op, "before": None, "after": {**told, "page": page}, "source": source}


def erased(project: Any, relation: str, subject: str) -> None:
    vault = open_vault(project.spec)
    read = {each.name: each for one in project.plan.streams for each in one.relations}
    erase(project.spec, project.plan, vault, read[relation], subject)
    vault.close()


def proof(project: Any, relation: str, subject: str, value: str) -> Proof:
    vault = open_vault(project.spec)
    found = prove_erased(project.spec, project.plan, vault, vault.name_of(relation, subject), value)
    vault.close()
    return found


def lines(folder: Path) -> dict[str, dict[Any, str]]:
    return {each: shown(folder, each) for each in STREAMS}


@pytest.fixture
def project(tmp_path: Path) -> Any:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    people = range(SUBJECTS)
    change(
        tmp_path,
        "customer",
        "1",
        *({"id": each, "name": name(each), "tier": "gold"} for each in people),
    )
    change(
        tmp_path,
        "account",
        "1",
        *({"email": email(each), "phone": phone(each), "plan": "free"} for each in people),
    )
    rows = [{"id": 10 * each, "owner": each, "street": street(each)} for each in people]
    change(tmp_path, "address", "1", *(each for each in rows if each["owner"] != 8))
    views = [view(each, each, 10 * each) for each in people]
    broken = f'{{"op": "c", "after": {{"id": 1, "email": "{CANARY}'
    updated = view(3, 3, 30, op="u")  # which is nothing to a log
    change(tmp_path, "view", "1", *views, view(999, 999, 0), broken, updated)
    return jn.load(tmp_path / "joinery.yaml")


def test_a_canary_is_sealed_in_streams_and_gone_from_what_is_sent_once_erased(
    spark: SparkSession, project: Any, tmp_path: Path
) -> None:
    run(spark, project)

    before = lines(tmp_path)
    fifth = json.loads(before["enriched"][5])
    personal = {"mail": email(5), "phone": phone(5), "name": name(5), "street": street(5)}
    assert {**personal, "plan": "free", "tier": "gold"}.items() <= fifth.items()
    assert f"/{CONTROL}" == json.loads(before["enriched"][3])["page"]
    assert 8 not in before["waiting"]
    assert 999 not in before["strict"]
    for each in (CANARY, str(phone(5))):
        assert {"clear.db"} == holding(tmp_path, each)
    assert any(each.startswith(".joinery/checkpoint/") for each in holding(tmp_path, CONTROL))
    hidden = [
        json.loads(line)["value"]
        for file in (tmp_path / "out/enriched").glob("*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert {None} == {each[column] for each in hidden for column in personal}
    letters = [
        json.loads(line)
        for file in (tmp_path / ".joinery/dead_letters").glob("*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert ["lookup_miss", "undecodable"] == sorted(each["reason"] for each in letters)
    (missed,) = [json.loads(each["value"]) for each in letters if each["reason"] == "lookup_miss"]
    assert {"id", "user_id", "email", "address", "page"} == missed.keys()
    assert missed["email"].startswith("jy1:")
    assert "free" == json.loads(before["strict"][5])["plan"]

    erased(project, "customer", "5")
    erased(project, "address", "6")  # not the key of its rows
    erased(project, "account", email(7))  # a personal key
    for each in ("8", "9"):
        erased(project, "view", each)  # of the log: what was sent stays, but for corrections
    change(tmp_path, "address", "2", {"id": 80, "owner": 8, "street": street(8)})
    change(tmp_path, "view", "2", *(view(1_000 + each, each, 10 * each) for each in range(5, 10)))
    run(spark, project)

    after = lines(tmp_path)
    enriched = {at: json.loads(each) for at, each in after["enriched"].items()}
    for first in (0, 1_000):
        assert (None, phone(5)) == (enriched[first + 5]["name"], enriched[first + 5]["phone"])
        assert (None, name(6)) == (enriched[first + 6]["street"], enriched[first + 6]["name"])
        assert (None, "free") == (enriched[first + 7]["phone"], enriched[first + 7]["plan"])
    assert (None, street(8)) == (enriched[8]["mail"], enriched[8]["street"])  # its row came
    assert before["enriched"][9] == after["enriched"][9]
    later = {"mail": None, "phone": None, "plan": None, "name": name(9)}
    assert later.items() <= enriched[1_009].items()
    waited = json.loads(after["waiting"][8])
    assert {"user_id": 8, "email": None, "street": street(8)}.items() <= waited.items()
    assert name(5) in after["strict"][5]  # on_change: keep
    assert json.loads(after["strict"][1_005])["name"] is None
    for each in STREAMS:
        others = before[each].keys() - {5, 6, 7, 8}
        assert {at: before[each][at] for at in others} == {at: after[each][at] for at in others}
    assert not proof(project, "account", email(7), str(phone(7))).found
    kept = proof(project, "view", "9", email(9)).found  # sent before, and not again
    assert {"clear.db"} == {each.rpartition("/")[2] for each in kept}

    run(spark, project, rebuild=True)
    anew = lines(tmp_path)
    for relation, subject, value in (
        ("customer", "5", name(5)),
        ("address", "6", street(6)),
        ("account", email(7), str(phone(7))),
        ("view", "9", email(9)),
    ):
        found = proof(project, relation, subject, value)
        assert not found.found
        assert not found.unlooked
        assert found.sources

    # From the beginning, without what the checkpoint remembered: the vault does.
    shutil.rmtree(tmp_path / ".joinery")
    (tmp_path / "clear.db").unlink()
    run(spark, project)
    assert anew == lines(tmp_path)


def test_what_cannot_seal_events_is_refused(spark: SparkSession, project: Any) -> None:
    stream = project.streams["strict"]

    with pytest.raises(FrameError, match="personal columns"):
        frame_of(stream.plan, spark, {"view": spark.range(1)})
    with pytest.raises(FrameError, match="personal columns"):
        stream.preview(spark=spark)
    assert [None, None, "free"] == [*stream.preview(1).rows[0]]
