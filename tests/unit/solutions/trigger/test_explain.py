"""An explanation of `rdbms-trigger` shows its SQL, the plans of a database, what slows it down."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from tests.sqlite_file import sqlite_file
from tests.unit.solutions.trigger.shop import product

from joinery.expression.expression import build_expression
from joinery.model.type import STRING
from joinery.plan.product import DocumentForm, Product
from joinery.solutions.trigger.explain import explain_statements
from joinery.testing.changes import insert
from joinery.testing.driver import Driver

INDEX = 'CREATE INDEX "profile__star by repo_id" ON "profile__star" ("repo_id");'


@pytest.fixture
def triggered() -> Product:
    return replace(product(), solution="rdbms-trigger")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pipeline = Driver(product(), solution="rdbms-trigger", folder=tmp_path)
    pipeline.send(insert("user", id=1, name="ada"))
    return tmp_path / "rdbms-trigger.db"


def told(triggered: Product, database: str = "") -> str:
    return "\n".join(each.text for each in explain_statements([triggered], database))


def test_it_shows_the_statements(triggered: Product) -> None:
    text = told(triggered)

    assert 'FROM "wanted profile" AS wanted' in text
    assert 'FROM "changed profile/stars/r" AS changed' in text


def test_it_tells_what_has_no_sql(triggered: Product) -> None:
    root = triggered.root
    name = root.fields[1]
    odd = replace(
        name, expression=build_expression("split_part(name, 'a', 1)", {"name": STRING})[0]
    )
    root = replace(root, fields=(root.fields[0], odd))

    text = told(replace(triggered, form=DocumentForm(root)))

    assert "Documents are assembled from rows: SQLite cannot do" in text
    assert 'the function "split_part"' in text


def test_it_shows_the_plans_of_a_database(triggered: Product, file: Path) -> None:
    text = told(triggered, f"sqlite:///{file}")

    assert "USING PRIMARY KEY" in text
    assert "Every join has its index." in text


def test_it_warns_of_a_missing_index(triggered: Product, file: Path) -> None:
    with sqlite_file(file) as database:
        database.execute('DROP INDEX "profile__star by repo_id"')

    text = told(triggered, f"sqlite:///{file}")

    assert "warning: star (repo_id) has no index" in text
    assert INDEX in text


def test_what_it_says_to_run_makes_the_index(triggered: Product, file: Path) -> None:
    with sqlite_file(file) as database:
        database.execute('DROP INDEX "profile__star by repo_id"')
        database.execute(INDEX)

    assert "Every join has its index." in told(triggered, f"sqlite:///{file}")


def test_tables_that_are_not_there_yet_are_told(triggered: Product, tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "empty.db").execute("CREATE TABLE t (a)").connection.close()

    text = told(triggered, f"sqlite:///{tmp_path / 'empty.db'}")

    assert "The first run creates the tables of user, star, repo" in text


def test_it_shows_the_triggers_of_a_queue(triggered: Product) -> None:
    options = {"database": "postgresql://db/app", "schema": "own", "publish": "queue"}

    text = told(replace(triggered, solution_options=tuple(options.items())))

    assert 'FROM "own"."profile__star" AS "stars"' in text
    assert 'AFTER UPDATE ON "own"."profile__star" REFERENCING OLD TABLE' in text
    assert "pg_notify('joinery', 'profile')" in text.replace("''", "'")


def test_another_solution_has_no_statements() -> None:
    assert () == explain_statements([product()])
