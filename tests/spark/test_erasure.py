"""A person erased: a canary in a thousand subjects' rows is sealed before, and gone after.

The figure of the issue: 1,000 subjects, two personal columns, joined by a blind index.
"""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.erasure import (
    CANARY,
    CONTROL,
    PROJECT,
    Row,
    change,
    email,
    erased,
    holding,
    person,
    run,
    shown,
)

import joinery as jn
from joinery.spark.frames.frame import FrameError
from joinery.vault.claim import claim_vault
from joinery.vault.keys import Vault
from joinery.vault.prove import Proof, prove_erased
from joinery.vault.tables import SqliteVault, open_vault

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SUBJECTS = 1_000


def proof(project: Any, subject: int) -> Proof:
    vault = open_vault(project.spec)
    name = vault.name_of("person", str(subject))
    found = prove_erased(project.spec, project.plan, vault, name, email(subject))
    vault.close()
    return found


@pytest.fixture
def project(tmp_path: Path) -> Any:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    people = [person(number) for number in range(SUBJECTS)]
    letters = [
        {"id": each, "email": email(each % 100), "topic": f"topic {each}"} for each in range(200)
    ]
    broken = [
        f'{{"id": 1, "email": "{CANARY}',
        json.dumps({**person(3), "email": 17, "phone": "x"}),
    ]
    change(tmp_path, "person", "1", *people, *broken)
    change(tmp_path, "letter", "1", *letters)
    return jn.load(tmp_path / "joinery.yaml")


def test_a_canary_is_nowhere_readable_but_in_sinks_that_reveal_and_nowhere_once_erased(
    spark: SparkSession, project: Any, tmp_path: Path
) -> None:
    run(spark, project)

    before = shown(tmp_path)
    ann = json.loads(before[5])
    assert (ann["email"], ann["phone"]) == (email(5), f"{CANARY} 0049 5")
    assert [email(5), email(5)] == [each["email"] for each in ann["letters"]]
    assert len(before) == SUBJECTS
    assert {"clear.db"} == holding(tmp_path, CANARY)
    assert any(each.startswith(".joinery/checkpoint/") for each in holding(tmp_path, CONTROL))
    (file,) = (tmp_path / "out/profile").glob("*.jsonl")
    hidden = [json.loads(line)["value"] for line in file.read_text().splitlines()]
    assert {None} == {each["email"] for each in hidden} | {each["phone"] for each in hidden}
    assert 200 == sum(len(each["letters"]) for each in hidden)
    letters = [
        json.loads(line)
        for file in (tmp_path / ".joinery/dead_letters").glob("*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert ["undecodable", "wrong_type"] == sorted(each["reason"] for each in letters)
    assert all(each["value"].startswith("jyd1:") for each in letters)
    assert proof(project, 5).found  # the key is there, and the sink that reveals

    erased(project, "person", 5)
    erased(project, "person", 5_000)  # never was, and is now destroyed
    erased(project, "letter", 7)  # a subject of its own
    change(tmp_path, "person", "2", person(5_000), {**person(5), "name": "anew"})
    run(spark, project)

    after = shown(tmp_path)
    gone = json.loads(after[5])
    assert (gone["email"], gone["phone"], gone["letters"]) == (None, None, [])
    assert gone["name"] == "anew"
    assert json.loads(after[5_000])["email"] is None
    seventh = json.loads(after[7])
    assert [(each["id"], each["email"]) for each in seventh["letters"]] == [(107, email(7))]
    others = before.keys() - {5, 7}
    assert {each: before[each] for each in others} == {each: after[each] for each in others}
    assert not proof(project, 5).found
    assert not proof(project, 5).unlooked
    assert proof(project, 5).sources  # the source's own log, apart

    run(spark, project, rebuild=True)
    assert after == shown(tmp_path)

    # From the beginning, without what the checkpoint remembered: the vault does.
    shutil.rmtree(tmp_path / ".joinery")
    (tmp_path / "clear.db").unlink()
    shutil.rmtree(tmp_path / "out")
    run(spark, project)
    assert after == shown(tmp_path)
    assert not proof(project, 5).found


def test_erasures_reach_documents_whichever_vault_numbered_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    change(tmp_path, "person", "1", *map(person, range(5)))
    change(tmp_path, "letter", "1", {"id": 1, "email": email(4), "topic": "cats"})
    project = jn.load(tmp_path / "joinery.yaml")
    keys, backup = tmp_path / "keys/vault.db", tmp_path / "keys/backup.db"
    run(spark, project)
    shutil.copy(keys, backup)
    erased(project, "person", 0)
    erased(project, "person", 1)
    run(spark, project)
    assert {0, 1} == hidden(tmp_path)

    # Put back from a backup that knows of no erasure: its numbers begin anew.
    shutil.copy(backup, keys)
    erased(project, "person", 2)
    change(tmp_path, "person", "2", *({**person(each), "name": "anew"} for each in (0, 3)))
    run(spark, project)
    assert {0, 1, 2} == hidden(tmp_path)

    # Lost: all is built anew with another, also what a rebuild with a third has left.
    claim_vault(
        tmp_path / ".joinery/checkpoint/_rebuild/profile",
        "profile",
        Vault(SqliteVault(tmp_path / "keys/third.db"), "m" * 44),
    )
    keys.unlink()
    run(spark, project, rebuild=True)
    change(tmp_path, "person", "3", *({**person(each), "name": "later"} for each in range(5)))
    run(spark, project)
    assert set() == hidden(tmp_path)  # which the new one does not know

    for each in range(3):
        erased(project, "person", each)
    run(spark, project)
    assert {0, 1, 2} == hidden(tmp_path)


def hidden(folder: Path) -> set[int]:
    """Return whose address no document shows."""
    return {key for key, each in shown(folder).items() if json.loads(each)["email"] is None}


PARCELS = """\
name: post
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: keys/vault.db}, master: "not a secret, since this is only a test"}
relations:
  shop:
    key: [name]
    fields: {name: string, at: timestamp}
    time: at
  parcel:
    key: [id]
    fields:
      {id: long, user_id: long, shop: string, at: timestamp, street: string, born: date,
       paid: "decimal(10,2)", height: int, gift: boolean, seen: timestamp, weight: double,
       pulse: float, photo: binary, tags: "array<string>",
       home: "struct<`the town`: string, no: int>", marks: "map<string, double>"}
    time: at
    personal:
      subject: user_id
      fields:
        [street, born, paid, height, gift, seen, weight, pulse, photo, tags, home, marks]
products:
  parcels: {root: parcel, group: a, sink: &clear {sqlite: {path: clear.db, reveal: true}}}
  shops:
    root: shop
    group: a
    embed: {all: {many: parcel, on: {shop: name}, as: map, fields: [id, street, height]}}
    sink: *clear
  near:
    root: shop
    group: a
    embed: {near: {many: parcel, on: {shop: name}, within: [-1d, 1d], fields: [id, street]}}
    sink: *clear
  last:
    root: shop
    group: a
    embed: {last: {one: parcel, on: {shop: name}, as_of: at, fields: [id, street]}}
    sink: *clear
  past: {history: parcel, group: a, valid: at, track: [street, born], sink: *clear}
  counts: {aggregate: parcel, group: a, by: [shop], values: {n: count(*)}, sink: *clear}
"""
STREET = f"{CANARY} lane"
PHOTO = base64.b64encode(f"{CANARY} in bytes".encode()).decode()


def parcel(number: int, user: int, day: int = 1, street: str | None = STREET) -> Row:
    row = {"id": number, "user_id": user, "shop": "s", "at": f"2026-05-{day:02}T00:00:00Z"}
    told = {"born": "1907-03-11", "paid": "73912.64", "height": 173, "gift": True}
    more = {"seen": "1993-11-05T06:07:08Z", "weight": 83912.0625, "pulse": 61.5}
    home = {"the town": f"{CANARY} town", "no": None}
    parts = {"photo": PHOTO, "tags": [f'{CANARY} "tag"', None], "home": home}
    return {**row, "street": street, **told, **more, **parts, "marks": {f"{CANARY} mark": 0.5}}


def test_rows_of_a_subject_that_is_not_their_key_are_erased_in_all_forms(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(PARCELS)
    change(tmp_path, "shop", "1", {"name": "s", "at": "2026-05-02T00:00:00Z"})
    rows = [parcel(1, 1), parcel(2, 2), parcel(2, 2, 2, f"{STREET} 2"), parcel(3, 3)]
    moved = [parcel(5, 2), {**parcel(5, 3), "street": "other"}]
    change(tmp_path, "parcel", "1", *rows, parcel(4, 2), *moved)
    project = jn.load(tmp_path / "joinery.yaml")
    forms = ("parcels", "shops", "near", "last", "past", "counts")
    run(spark, project)

    before = {each: shown(tmp_path, each) for each in forms}
    first = json.loads(before["parcels"][1])
    assert parcel(1, 1) == {**first, "paid": f"{first['paid']:.2f}"}
    assert 2 == sum(STREET in each for each in before["past"].values() if '"id":2' in each)
    for each in (CANARY, PHOTO, "1907-03-11", "73912.64", "1993-11-05", "83912.0625"):
        assert {"clear.db"} == holding(tmp_path, each)

    erased(project, "parcel", 2)
    change(tmp_path, "parcel", "2", parcel(6, 2), parcel(2, 2, 3, "another"))
    run(spark, project)

    after = {each: shown(tmp_path, each) for each in forms}
    same = {at for at, each in before["parcels"].items() if after["parcels"][at] == each}
    assert {1, 3, 5} == same
    hidden = dict.fromkeys(parcel(1, 1).keys() - {"id", "user_id", "shop", "at"})
    for at in (2, 4, 6):
        assert hidden.items() <= json.loads(after["parcels"][at]).items()
    told = json.loads(after["shops"]["s"])["all"]
    assert {STREET, None, "other"} == {each["street"] for each in told.values()}
    assert {1, 3, 5} == {each["id"] for each in told.values() if each["street"]}
    assert "another" not in str(after)
    assert json.loads(after["counts"]["s"])["n"] == 6

    shutil.rmtree(tmp_path / ".joinery")
    (tmp_path / "clear.db").unlink()
    run(spark, project)
    assert after == {each: shown(tmp_path, each) for each in forms}


KEYED = """\
name: keyed
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: keys/vault.db}, master: "not a secret, since this is only a test"}
relations:
  user:
    format: debezium-json
    key: [email]
    fields: {email: string, username: string, town: string}
    personal: {subject: email, fields: [email, username], join: [username]}
  account:
    key: [phone]
    fields: {phone: long, user_id: long, plan: string}
    personal: {subject: user_id, fields: [phone]}
  star:
    key: [username, repo]
    fields: {username: string, repo: string}
    personal: {subject: username, fields: [username], join: [username]}
  visit:
    key: [id]
    fields: {id: long, email: string, page: string}
    personal: {subject: email, fields: [email]}
products:
  profile:
    root: user
    group: a
    personal_key: true
    embed: {stars: {many: star, on: [username], fields: [repo]}}
    sink: &clear {sqlite: {path: clear.db, reveal: true}}
  accounts: {root: account, group: a, personal_key: true, sink: *clear}
  visits: {root: visit, group: a, sink: *clear}
"""


def user(number: int, op: str = "c", before: int | None = None, **more: Any) -> Row:
    told = {"username": f"{CANARY}{number}", "town": "York"}
    after = None if op == "d" else {"email": email(number), **told, **more}
    image = None if before is None else {"email": email(before), "username": None, "town": None}
    source = {"connector": "postgresql"}
    return {"op": op, "before": image, "after": after, "source": source}


def star(number: int, repo: str, **more: Any) -> Row:
    return {"username": f"{CANARY}{number}", "repo": repo, **more}


def account(number: int, plan: str) -> Row:
    return {"phone": 4_930_000_000 + number, "user_id": number, "plan": plan}


def test_personal_keys_are_known_by_their_blind_index(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(KEYED)
    project = jn.load(tmp_path / "joinery.yaml")
    people = [user(each) for each in range(4)]
    change(tmp_path, "user", "1", *people, user(2, "d", 2), user(9, "u", 3))
    gone = star(1, "b", __deleted=True)
    change(tmp_path, "star", "1", star(0, "a"), star(1, "a"), star(1, "b"), gone)
    change(tmp_path, "account", "1", account(0, "free"), account(1, "free"), account(1, "paid"))
    visits = [{"id": each, "email": email(each % 2), "page": "/"} for each in range(4)]
    change(tmp_path, "visit", "1", *visits)
    run(spark, project)

    before = by_value(tmp_path, "profile", "email")
    assert {email(0), email(1), email(9)} == before.keys()
    assert [{"repo": "a"}] == before[email(1)]["stars"]
    paid = by_value(tmp_path, "accounts", "phone")
    assert {4_930_000_000: "free", 4_930_000_001: "paid"} == {
        phone: each["plan"] for phone, each in paid.items()
    }
    for each in (CANARY, "4930000001"):
        assert {"clear.db"} == holding(tmp_path, each)
    keys = set(shown(tmp_path))
    assert not any(CANARY in str(each) for each in keys)

    erased(project, "user", email(1))
    erased(project, "account", "1")
    erased(project, "visit", email(1))
    change(tmp_path, "user", "2", user(1, town="Leeds"), user(0, "u", town="Hull"))
    change(tmp_path, "account", "2", account(1, "none"))
    run(spark, project)

    after = by_value(tmp_path, "profile", "email")
    assert {email(0), email(9), None} == after.keys()
    person: dict[str, object] = {"email": None, "username": None, "town": "Leeds", "stars": []}
    assert (person, "Hull") == (after[None], after[email(0)]["town"])
    assert keys == set(shown(tmp_path))  # a row is known by the same key as before
    erasures = tmp_path / ".joinery/checkpoint/_erasures"
    assert CANARY not in "".join(each.read_text() for each in erasures.rglob("*.jsonl"))
    told = by_value(tmp_path, "accounts", "phone")
    assert ("none", "free") == (told[None]["plan"], told[4_930_000_000]["plan"])
    seen = [json.loads(each) for each in shown(tmp_path, "visits").values()]
    assert [email(0), None, email(0), None] == [each["email"] for each in seen]

    change(tmp_path, "user", "3", user(1, "d", 1))
    run(spark, project)
    assert {email(0), email(9)} == by_value(tmp_path, "profile", "email").keys()

    last = {each: shown(tmp_path, each) for each in ("profile", "accounts", "visits")}
    shutil.rmtree(tmp_path / ".joinery")
    (tmp_path / "clear.db").unlink()
    run(spark, project)
    assert last == {each: shown(tmp_path, each) for each in last}


def by_value(folder: Path, product: str, column: str) -> dict[Any, Any]:
    """Return the documents of a product by a value that they show."""
    found = map(json.loads, shown(folder, product).values())
    return {each[column]: each for each in found}


def test_what_cannot_seal_is_refused(spark: SparkSession, project: Any) -> None:
    with pytest.raises(FrameError, match="personal columns"):
        project.products["profile"].documents(spark, {"person": spark.range(1)})
