"""Personal columns in the reference: hidden, joined on, and gone once their subject is erased."""

from __future__ import annotations

from pathlib import Path

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


def test_other_solutions_refuse_personal_columns(tmp_path: Path) -> None:
    with pytest.raises(DriverError, match="personal columns"):
        Driver(project(tmp_path).products["profile"], "memory")


def replaced(old: str, new: str) -> str:
    assert old in PROJECT
    return PROJECT.replace(old, new)


REFUSED = {
    "an expression": replaced("root: person", "root: person\n    fields: {e: lower(email)}"),
    "a condition": replaced("root: person", "root: person\n    where: email = 'x'"),
    "a derived column": replaced(
        "{id: long, email: string, name: string}",
        "{id: long, email: string, name: string}\n    derive: {e: lower(email)}",
    ),
    "an order": replaced("fields: [id, email]}", "fields: [id, email], order: [email]}"),
    "a part of an object": replaced(
        "embed: {letters",
        "values: {n: lower(l.email)}\n    embed: {l: {one: letter, on: [id]}, letters",
    ),
    "an aggregate": replaced("root: person", "root: person\n    values: {n: max(letters.email)}"),
    "a join without a blind index": PROJECT.replace(", join: [email]}", "}", 1),
    "a join with a clear column": replaced("on: [email]", "on: {topic: email}"),
    "a subject that is not the key": PROJECT.replace("subject: id", "subject: name", 1),
    "a personal key": PROJECT.replace("fields: [email]", "fields: [id]", 1),
    "a number": PROJECT.replace("email: string", "email: long", 1),
    "no vault": "\n".join(each for each in PROJECT.splitlines() if "vault" not in each),
    "a sink that keeps all": PROJECT + "    sink: {files: {path: out, reveal: true}}\n",
    "another reader of the topic": replaced(
        "products:", "  other: {topic: person, key: [id], fields: {id: long}}\nproducts:"
    ),
    "groups": PROJECT + "  n: {aggregate: person, values: {n: count(*)}}\n",
    "versions": PROJECT + "  h: {history: letter, valid: at}\n",
    "a database's own log": replaced(
        "files: {path: data}", "postgres: {url: postgresql://db/shop}"
    ),
    "real-time mode": PROJECT + "run: {real_time: true}\n",
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_covered_is_refused(case: str, tmp_path: Path) -> None:
    with pytest.raises(ProjectErrors) as refused:
        project(tmp_path, REFUSED[case]).plan  # noqa: B018

    problems: tuple[JoineryError, ...] = refused.value.problems
    codes = {each.code for each in problems}
    assert "PLAN_PERSONAL" in codes or (case == "an order" and codes == {"PLAN_ORDER"})


def test_another_solution_is_refused_by_name(tmp_path: Path) -> None:
    from joinery.plan.support import refuse_unsupported

    made = project(tmp_path, f"{PROJECT}    solution: rdbms-store\n")

    with pytest.raises(ProjectErrors, match='cannot run "profile" yet: relation'):
        refuse_unsupported(made.spec, made.plan)


def test_a_count_of_rows_with_personal_columns_stays(tmp_path: Path) -> None:
    counted = replaced("root: person", "root: person\n    values: {n: size(letters)}")

    assert project(tmp_path, counted).plan


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
