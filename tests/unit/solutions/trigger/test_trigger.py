"""`rdbms-trigger` by name: generated statements, and the user's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.sqlite_file import sqlite_file
from tests.unit.solutions.trigger.shop import PROJECT, product

from joinery.errors import SpecError
from joinery.plan.build import build_plan
from joinery.solutions.choose import SolutionPlace, open_solution
from joinery.solutions.stored.state import StoreError
from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import Driver, gone, upsert

NEWEST = """
WITH ranked AS (
  SELECT s.user_id, r.name AS repo,
         row_number() OVER (PARTITION BY s.user_id ORDER BY s.at DESC) AS place
  FROM wanted JOIN star AS s ON s.user_id = wanted.id JOIN repo AS r ON r.id = s.repo_id
)
SELECT u.id, json_object(
    'id', u.id, 'name', upper(u.name),
    'stars', (SELECT json_group_array(json_object('repo', repo))
              FROM ranked WHERE user_id = u.id AND place = 1)) AS document
FROM wanted JOIN user AS u USING (id)
"""


def driver(**sql: Any) -> Driver:
    options = {"sql": sql} if sql else {}
    return Driver(product(), solution="rdbms-trigger", options=options)


def filled(pipeline: Driver) -> Driver:
    pipeline.send(
        insert("user", id=1, name="ada"),
        insert("user", id=2, name="eve"),
        insert("repo", id=7, name="loom"),
        insert("repo", id=8, name="mill"),
        insert("star", user_id=1, repo_id=7, at="2026-01-01T00:00:00Z"),
    )
    return pipeline


def document(id: int, name: str, *repos: str) -> Any:
    return upsert(id, {"id": id, "name": name, "stars": [{"repo": each} for each in repos]})


def test_a_change_two_joins_away_sends_the_document_again() -> None:
    pipeline = filled(driver())

    emitted = pipeline.send(update("repo", id=7, name="jacquard"))

    assert [document(1, "ada", "jacquard")] == emitted


def test_the_users_own_statement_builds_the_document() -> None:
    pipeline = filled(driver(documents=NEWEST))

    emitted = pipeline.send(insert("star", user_id=1, repo_id=8, at="2026-01-02T00:00:00Z"))

    assert [document(1, "ADA", "mill")] == emitted


def test_a_root_that_the_users_statement_leaves_out_is_gone() -> None:
    named = NEWEST + " WHERE u.name <> 'ada'"
    pipeline = filled(driver(documents=named))

    emitted = pipeline.send(update("user", id=2, name="ada"))

    assert [gone(2)] == emitted


def test_a_root_that_the_users_statement_gives_null_has_no_document() -> None:
    pipeline = filled(driver(documents="SELECT id, NULL AS document FROM wanted"))

    assert [] == pipeline.send(update("user", id=2, name="ada"))


@pytest.mark.parametrize("given", ["'x'", "json_object('id', 'one')", "json_object('stars', 7)"])
def test_a_document_of_another_type_is_told(given: str) -> None:
    statement = f"SELECT id, {given} AS document FROM wanted"

    with pytest.raises(StoreError) as refused:
        driver(documents=statement).send(insert("user", id=1, name="ada"))

    assert "returns other documents than" in refused.value.message
    assert "id: long" in refused.value.detail


def test_declared_pairs_lead_from_a_changed_row_to_the_roots() -> None:
    pipeline = filled(driver(documents=NEWEST, affected={"star": {"id": "user_id"}}))

    emitted = pipeline.send(delete("star", user_id=1, repo_id=7))

    assert [document(1, "ADA")] == emitted


def test_a_declared_statement_leads_from_a_changed_row_to_the_roots() -> None:
    everyone = "SELECT u.id FROM user AS u WHERE EXISTS (SELECT 1 FROM changed)"
    total = (
        "SELECT u.id, json_object('id', u.id, 'name', (SELECT max(name) FROM repo),"
        " 'stars', json('[]')) AS document FROM wanted JOIN user AS u USING (id)"
    )
    pipeline = filled(driver(documents=total, affected={"repo": everyone}))

    emitted = pipeline.send(insert("repo", id=9, name="zuse"))

    assert [document(1, "zuse"), document(2, "zuse")] == emitted


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ({"affected": {}}, "no documents"),
        ({"documents": "SELECT 1", "other": "x"}, "other"),
        ({"documents": "SELECT 1", "affected": {"fork": {"id": "id"}}}, '"fork"'),
        ({"documents": "SELECT 1", "affected": {"star": {"id": "nothing"}}}, "nothing"),
    ],
)
def test_sql_of_another_shape_is_refused(sql: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError) as refused:
        driver(**sql)

    assert told in refused.value.detail


def test_a_statement_that_the_database_refuses_is_told_before_anything_is_written() -> None:
    with pytest.raises(SpecError, match="the database rejects documents") as refused:
        driver(documents="SELECT id, lost AS document FROM user")

    assert "no such column: lost" in refused.value.detail


def test_a_document_too_wide_for_one_statement_is_assembled_from_rows() -> None:
    columns = [f"c{number}" for number in range(600)]
    fields = ", ".join(f"{each}: long" for each in columns)
    wide = PROJECT.replace(
        "fields: {id: long, name: string}}\n  star",
        f"fields: {{id: long, name: string, {fields}}}}}\n  star",
    )
    shown = wide.replace("    fields: [id, name]", f"    fields: [id, {', '.join(columns)}]")
    pipeline = Driver(build_plan(load_text(shown)).products[0], solution="rdbms-trigger")

    (emitted,) = pipeline.send(insert("user", id=1, c599=7))

    assert emitted.value is not None
    assert 7 == emitted.value["c599"]


def test_a_view_shows_the_rows_of_a_relation_under_names_of_its_own(tmp_path: Path) -> None:
    views = {"star": "stars", "user": {"name": "people", "columns": {"who": "name"}}}
    pipeline = Driver(
        product(), solution="rdbms-trigger", options={"views": views}, folder=tmp_path
    )
    filled(pipeline).send(delete("user", id=2))

    with sqlite_file(tmp_path / "rdbms-trigger.db") as database:
        people = database.execute("SELECT * FROM people").fetchall()
        stars = database.execute("SELECT user_id, repo_id FROM stars").fetchall()

    assert [("ada",)] == people
    assert [(1, 7)] == stars


def test_a_rebuild_leaves_a_view_on_the_tables_that_stand(tmp_path: Path) -> None:
    options = {"views": {"user": "people"}, "database": f"sqlite:///{tmp_path / 'state.db'}"}
    place = SolutionPlace(tmp_path, "p")
    for each in (place, replace(place, query="p_rebuilt", beside=True)):
        open_solution("rdbms-trigger", [product()], options, each).close()

    with sqlite_file(tmp_path / "state.db") as database:
        ((shown,),) = database.execute("SELECT sql FROM sqlite_master WHERE name = 'people'")
    assert '"p__user"' in shown


@pytest.mark.parametrize(
    ("views", "told"),
    [
        ({"fork": "forks"}, '"fork"'),
        ({"user": {"name": "people", "columns": {"who": "nothing"}}}, '"nothing"'),
        ({"user": {"columns": {"who": "name"}}}, "needs a name"),
        ("people", "instead of a map"),
    ],
)
def test_a_view_of_what_is_not_there_is_refused(views: Any, told: str) -> None:
    with pytest.raises(SpecError) as refused:
        Driver(product(), solution="rdbms-trigger", options={"views": views})

    assert told in refused.value.detail
