"""Personal columns in the reference: hidden, joined on, and gone once their subject is erased."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import joinery as jn
from joinery.errors import JoineryError, ProjectErrors
from joinery.project.load import load_spec
from joinery.testing.driver import Driver, DriverError, upsert

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: vault.db}, master: "not a secret, since this is only a test"}
relations:
  person:
    key: [id]
    fields: {id: long, email: string, name: string}
    personal: {subject: id, fields: [email], join: [email]}
  letter:
    key: [id]
    fields: {id: long, email: string, topic: string, at: timestamp}
    personal: {subject: id, fields: [email], join: [email]}
products:
  profile:
    root: person
    embed: {letters: {many: letter, on: [email], fields: [id, email]}}
"""


def project(folder: Path, text: str = PROJECT) -> jn.Project:
    (folder / "joinery.yaml").write_text(text)
    return jn.load(folder / "joinery.yaml")


PARCELS = """\
name: post
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: vault.db}, master: "not a secret, since this is only a test"}
relations:
  shop: {key: [name], fields: {name: string, at: timestamp}, time: at}
  parcel:
    key: [id]
    fields: {id: long, user_id: long, shop: string, at: timestamp, height: int}
    time: at
    personal: {subject: user_id, fields: [height]}
products:
  parcels: {root: parcel, erased: remove}
  last: {root: shop, embed: {last: {one: parcel, on: {shop: name}, as_of: at}}}
  past: {history: parcel, valid: at, track: [user_id, height]}
  counts: {aggregate: parcel, by: [shop], values: {n: count(*)}}
"""


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    driver = Driver(project(tmp_path).products["profile"])
    driver.send(
        jn.testing.insert("person", id=1, email="ann@x.org", name="Ann"),
        jn.testing.insert("letter", id=8, email="ann@x.org", topic="cats"),
    )
    return driver


def test_personal_values_join_and_are_not_shown(driver: Driver) -> None:
    document = {"id": 1, "email": None, "name": "Ann", "letters": [{"id": 8, "email": None}]}

    assert {1: document} == driver.documents()


def test_an_erased_subject_joins_nothing_and_stays_erased(driver: Driver) -> None:
    sent = driver.erase("person", 1)
    again = driver.send(jn.testing.insert("person", id=1, email="ann@x.org", name="Anne"))

    assert [upsert(1, {"id": 1, "email": None, "name": "Ann", "letters": []})] == sent
    assert [upsert(1, {"id": 1, "email": None, "name": "Anne", "letters": []})] == again


def at(day: int) -> datetime:
    return datetime(2026, 5, day, tzinfo=UTC)


@pytest.mark.parametrize(
    ("product", "sent"),
    [
        ("parcels", [7]),
        ("last", ["s"]),
        ("past", [(7, at(day)) for day in (1, 2, 3)]),
        ("counts", []),
    ],
)
def test_rows_of_a_subject_that_is_not_their_key_are_sent_again(
    tmp_path: Path, product: str, sent: list[Any]
) -> None:
    driver = Driver(project(tmp_path, PARCELS).products[product])
    shop = [jn.testing.insert("shop", name="s", at=at(9))] if product == "last" else []
    rows = [
        jn.testing.insert("parcel", id=7, user_id=5, shop="s", at=at(day), height=day)
        for day in (1, 2, 3)
    ]
    other = jn.testing.insert("parcel", id=8, user_id=6, shop="t", at=at(1), height=180)
    driver.send(*shop, *rows, other)

    erased = driver.erase("parcel", 5)

    assert sent == [each.key for each in erased]


KEYED = """\
name: shop
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: vault.db}, master: "not a secret, since this is only a test"}
relations:
  user:
    key: [email]
    fields: {email: string, name: string, id: long}
    personal: {subject: email, fields: [email, name], join: [email]}
  letter:
    key: [email, number]
    fields: {email: string, number: int, topic: string}
    personal: {subject: email, fields: [email], join: [email]}
products:
  profile:
    root: user
    personal_key: true
    embed: {letters: {many: letter, on: [email], fields: [number, topic]}}
"""


def test_rows_are_known_by_a_personal_key_that_no_document_shows(tmp_path: Path) -> None:
    driver = Driver(project(tmp_path, KEYED).products["profile"])
    insert, delete = jn.testing.insert, jn.testing.delete
    ann = {"email": None, "name": None, "id": 1, "letters": [{"number": 7, "topic": "cats"}]}
    sent = driver.send(
        insert("user", email="ann@x.org", name="Ann", id=1),
        insert("user", email="bob@x.org", name="Bob", id=2),
        insert("letter", email="ann@x.org", number=7, topic="cats"),
        insert("letter", email="ann@x.org", number=8, topic="dogs"),
        delete("letter", email="ann@x.org", number=8),
    )

    erased = driver.erase("user", "ann@x.org")
    again = driver.send(insert("user", email="ann@x.org", name="Ann", id=3))
    gone = driver.send(delete("user", email="ann@x.org"))

    assert upsert("ann@x.org", ann) in sent
    assert [upsert("ann@x.org", {**ann, "letters": []})] == erased
    assert [upsert("ann@x.org", {**ann, "id": 3, "letters": []})] == again
    assert [jn.testing.gone("ann@x.org")] == gone


def test_explain_says_that_documents_are_known_by_a_blind_index(tmp_path: Path) -> None:
    told = str(project(tmp_path, KEYED).products["profile"].explain())

    assert "Emit profile by email (blind key)" in told


def test_other_solutions_refuse_personal_columns(tmp_path: Path) -> None:
    with pytest.raises(DriverError, match="personal columns"):
        Driver(project(tmp_path).products["profile"], "memory")


def replaced(old: str, new: str) -> str:
    assert old in PROJECT
    return PROJECT.replace(old, new)


TOLD = PROJECT.replace("fields: [email]", "fields: [id, email]").replace(
    "root: person", "root: person\n    personal_key: true"
)
"""The project with personal keys."""
KAFKA = """\
name: shop
sources: {changes: {kafka: {bootstrap: 'h:1'}}}
vault: {sqlite: {path: vault.db}, master: "not a secret, since this is only a test"}
relations:
  person:
    topic: person
    key: [id]
    fields: {id: long, email: string}
    personal: {subject: id, fields: [email]}
  other: {topic: 'TOPIC', key: [id], fields: {id: long}}
products: {profile: {root: person}}
"""
DATABASE = "postgres: {url: 'postgresql://h/d'}"
TABLED = """\
name: shop
sources: {{changes: {{files: {{path: data}}}}}}
vault: {{sqlite: {{path: vault.db}}, master: "not a secret, since this is only a test"}}
relations:
  user:
    key: [email]
    fields: {{email: string, town: string}}
    personal: {{subject: email, fields: [email]}}
products:
  profile:
    root: user
    personal_key: true
    {values}
    sink: {{sqlite: {{path: a.db, mode: {mode}, reveal: true}}}}
"""
DERIVED = """\
name: shop
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: vault.db}, master: "not a secret, since this is only a test"}
relations:
  person:
    key: [id]
    fields: {id: long, email: string, name: string, land: string}
    derive:
      domain: split_part(email, '@', 2)
      shouted: upper(land)
      whole: concat(name, ' of ', shouted)
      long: length(whole) > 10
      part: length(email) / 2
    personal: {subject: id, fields: [email, name], join: [domain]}
  host:
    key: [id]
    fields: {id: long, name: string}
    personal: {subject: id, fields: [name], join: [name]}
products:
  profile:
    root: person
    fields: [id, domain, whole, shouted]
    embed: {hosts: {many: host, on: {name: domain}, fields: [id]}}
"""


REFUSED = {
    "an expression": replaced("root: person", "root: person\n    fields: {e: lower(email)}"),
    "a condition": replaced("root: person", "root: person\n    where: email = 'x'"),
    "an expression over a derived column": DERIVED.replace(
        "[id, domain", "[id, {e: lower(domain)}"
    ),
    "a relation's condition over a derived column": DERIVED.replace(
        "    personal: {subject: id, fields: [email, name]",
        "    where: domain = 'x.org'\n    personal: {subject: id, fields: [email, name]",
    ),
    "groups by a derived column": DERIVED
    + "  n: {aggregate: person, by: [domain], values: {n: count(*)}}\n",
    "a derived column that tells rows apart": DERIVED.replace(
        "    personal: {subject: id, fields: [email, name]",
        "    unique: [[domain]]\n    personal: {subject: id, fields: [email, name]",
    ),
    "a derived column that is not joined on": DERIVED.replace(", join: [domain]", ""),
    "a join on a derived column that is no exact value": DERIVED.replace(
        "join: [domain]", "join: [domain, part]"
    ),
    "an order": replaced("fields: [id, email]}", "fields: [id, email], order: [email]}"),
    "a part of an object": replaced(
        "embed: {letters",
        "values: {n: lower(l.email)}\n    embed: {l: {one: letter, on: [id]}, letters",
    ),
    "an aggregate": replaced("root: person", "root: person\n    values: {n: max(letters.email)}"),
    "a join without a blind index": PROJECT.replace(", join: [email]}", "}", 1),
    "a join with a clear column": replaced("on: [email]", "on: {topic: email}"),
    "a personal key that is not told": PROJECT.replace("fields: [email]", "fields: [id, email]", 1),
    "a key that is told personal and is not": f"{PROJECT}    personal_key: true\n",
    "a map by a personal key": PROJECT.replace("fields: [email]", "fields: [id, email]").replace(
        "fields: [id, email]}}", "fields: [email], as: map}}\n    personal_key: true"
    ),
    "a personal key that is no exact value": PROJECT.replace("{id: long", "{id: double", 1)
    .replace("fields: [email]", "fields: [id, email]", 1)
    .replace("root: person", "root: person\n    personal_key: true"),
    "a history of a personal key": f"{TOLD}  h: {{history: letter, valid: at}}\n",
    "a product over one with a personal key": TOLD.replace(
        "root: person", "root: person\n    group: a"
    )
    + "  n: {aggregate: profile, group: a, values: {n: count(*)}}\n",
    "a join of floats": PROJECT.replace("email: string", "email: double"),
    "a join of lists": PROJECT.replace("email: string", 'email: "array<string>"'),
    "a part of a personal object": PROJECT.replace(", join: [email]", "")
    .replace("email: string, name", 'email: "struct<a: string>", name', 1)
    .replace(
        "embed: {letters: {many: letter, on: [email], fields: [id, email]}}", "values: {a: email.a}"
    ),
    "a join of two types": PROJECT.replace("email: string", "email: long", 1),
    "no vault": "\n".join(each for each in PROJECT.splitlines() if "vault" not in each),
    "a sink that keeps all": PROJECT + "    sink: {files: {path: out, reveal: true}}\n",
    "another reader of the topic": replaced(
        "products:", "  other: {topic: person, key: [id], fields: {id: long}}\nproducts:"
    ),
    "another reader by a pattern": KAFKA.replace("TOPIC", "pattern:pers.*"),
    "another reader by a pattern that may be of the same": KAFKA.replace(
        "topic: person", "topic: 'pattern:person_[a-z]+'"
    ).replace("TOPIC", "pattern:[a-z]+_b"),
    "another reader of the table": KAFKA.replace("kafka: {bootstrap: 'h:1'}", DATABASE).replace(
        "TOPIC", "public.person"
    ),
    "a table with a column for each field": TABLED.format(mode="columns", values=""),
    "groups by it": PROJECT + "  n: {aggregate: person, by: [email], values: {n: count(*)}}\n",
    "its most": PROJECT + "  n: {aggregate: person, values: {n: max(email)}}\n",
    "versions with when they were known": PROJECT
    + "  h: {history: letter, valid: at, known_at: at}\n",
    "real-time mode": PROJECT + "run: {real_time: true}\n",
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_covered_is_refused(case: str, tmp_path: Path) -> None:
    with pytest.raises(ProjectErrors) as refused:
        _ = project(tmp_path, REFUSED[case]).plan

    problems: tuple[JoineryError, ...] = refused.value.problems
    codes = {each.code for each in problems}
    assert "PLAN_PERSONAL" in codes or (case == "an order" and codes == {"PLAN_ORDER"})


@pytest.mark.parametrize("topic", ["people", "pattern:people_(a|b)", "pattern:[a-z]+_person"])
def test_a_topic_that_is_another_is_not_shared(topic: str, tmp_path: Path) -> None:
    assert project(tmp_path, KAFKA.replace("TOPIC", topic)).plan is not None


def test_a_table_of_another_source_is_not_shared(tmp_path: Path) -> None:
    text = KAFKA.replace(
        "kafka: {bootstrap: 'h:1'}}}", f"{DATABASE}}}, files: {{files: {{path: d}}}}}}"
    )
    named = text.replace("    topic: person", "    topic: person\n    source: changes")

    other = named.replace("{topic: 'TOPIC'", "{source: files, topic: person")
    assert project(tmp_path, other).plan is not None


@pytest.mark.parametrize(
    ("mode", "values"),
    [("document", ""), ("columns", "fields: [town, {address: email}]")],
)
def test_a_personal_key_is_shown_beside_its_index(mode: str, values: str, tmp_path: Path) -> None:
    assert project(tmp_path, TABLED.format(mode=mode, values=values)).plan is not None


def test_another_solution_is_refused_by_name(tmp_path: Path) -> None:
    from joinery.plan.support import refuse_unsupported

    made = project(tmp_path, f"{PROJECT}    solution: rdbms-store\n")

    with pytest.raises(ProjectErrors, match='cannot run "profile" yet: relation'):
        refuse_unsupported(made.spec, made.plan)


def test_a_count_of_rows_with_personal_columns_stays(tmp_path: Path) -> None:
    counted = replaced("root: person", "root: person\n    values: {n: size(letters)}")

    assert project(tmp_path, counted).plan is not None


def test_explain_says_what_is_derived_and_sealed(tmp_path: Path) -> None:
    told = str(project(tmp_path, DERIVED).products["profile"].explain())

    assert (
        """\
  Derive shouted = upper(land)
  Derive and seal domain = split_part(email, '@', 2), whole = concat(name, ' of ', shouted)
  Scan person [id, email, name, land, domain (blind index)]\
"""
        in told
    )


def derived(folder: Path, *, shows: str = "[id, domain, whole, shouted]") -> Driver:
    shown = DERIVED.replace("[id, domain, whole, shouted]", shows)
    return Driver(project(folder, shown).products["profile"])


def test_what_is_derived_from_personal_columns_joins_and_is_not_shown(tmp_path: Path) -> None:
    driver = derived(tmp_path)

    driver.send(
        jn.testing.insert("person", id=1, email="ann@x.org", name="Ann", land="fr"),
        jn.testing.insert("host", id=5, name="x.org"),
    )
    clear = {"id": 1, "domain": None, "whole": None, "shouted": "FR"}
    assert {1: {**clear, "hosts": [{"id": 5}]}} == driver.documents()

    sent = driver.erase("person", 1)
    assert [upsert(1, {**clear, "hosts": []})] == sent


def test_a_document_with_derived_values_alone_is_sent_again_once_erased(tmp_path: Path) -> None:
    driver = derived(tmp_path, shows="[id, whole]")
    driver.send(jn.testing.insert("person", id=1, email=None, name="Ann", land="fr"))

    assert [1] == [each.key for each in driver.erase("person", 1)]


def test_an_update_that_leaves_out_what_a_column_is_derived_from(tmp_path: Path) -> None:
    driver = derived(tmp_path, shows="[id, domain, land]")
    host = jn.testing.insert("host", id=5, name="x.org")
    driver.send(jn.testing.insert("person", id=1, email="ann@x.org", name="Ann", land="fr"), host)

    driver.send(jn.testing.update("person", id=1, land="de"))

    document = {"id": 1, "domain": None, "land": "de", "hosts": [{"id": 5}]}
    assert {1: document} == driver.documents()


def test_explain_says_what_is_joined_by_a_blind_index(tmp_path: Path) -> None:
    told = str(project(tmp_path).products["profile"].explain())

    assert "letter on email (blind index) = email (blind index)" in told


def test_the_master_key_has_to_be_long(tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(
        replaced('"not a secret, since this is only a test"', "short")
    )

    with pytest.raises(ProjectErrors) as refused:
        load_spec(tmp_path / "joinery.yaml")

    assert "shorter than 32 characters" in str(refused.value)
    assert "shorter than" in refused.value.problems[0].message
