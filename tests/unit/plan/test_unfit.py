"""Options of solutions that do not fit their products are refused without a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.plan.check import check

PROJECT = """\
sources: {{changes: {{files: {{path: data}}}}}}
relations:
  user: {{key: [id], fields: {{id: long, {column}: string}}}}
products:
  profile:
    root: user
    solution: {solution}
    sink: {{files: {{path: out}}}}
"""

SERVER = "postgresql://host/name"
LONG = "a_column_whose_name_is_longer_than_the_sixty_three_bytes_of_postgresql"


def told(folder: Path, solution: str, column: str = "name") -> list[str]:
    """Return the problems of a project, each as `line code message`."""
    file = folder / "joinery.yaml"
    file.write_text(PROJECT.format(solution=solution, column=column), encoding="utf-8")
    return [f"{each.line} {each.code} {each.message} {each.detail}" for each in check(file)]


@pytest.mark.parametrize(
    "solution",
    [
        "spark-state",
        "kv",
        "rdbms-store",
        f"{{rdbms-store: {{database: '{SERVER}'}}}}",
        f"{{rdbms-trigger: {{database: '{SERVER}', publish: queue, views: {{user: people}}}}}}",
        "{rdbms-trigger: {sql: {documents: SELECT 1}}}",
    ],
)
def test_what_fits_is_not_refused(tmp_path: Path, solution: str) -> None:
    assert [] == told(tmp_path, solution)


@pytest.mark.parametrize(
    ("solution", "problem"),
    [
        ("{rdbms-trigger: {publish: queue}}", "only PostgreSQL has a queue"),
        ("{rdbms-trigger: {views: {star: stars}}}", 'read no relation "star"'),
        ("{rdbms-trigger: {views: {user: {name: a, columns: {b: no}}}}}", 'no column "no"'),
        ("{rdbms-trigger: {sql: {affected: {}}}}", "no documents"),
        (
            "{rdbms-trigger: {sql: {documents: SELECT 1, affected: {star: {a: b}}}}}",
            'reads no relation "star"',
        ),
        ("{rdbms-store: {database: 'sqlite://'}}", "a database that it can use"),
        (f"{{rdbms-store: {{database: '{SERVER}', schema: {LONG}}}}}", "PostgreSQL cannot name"),
    ],
)
def test_what_does_not_fit_is_refused_at_the_solution(
    tmp_path: Path, solution: str, problem: str
) -> None:
    (found,) = told(tmp_path, solution)
    assert found.startswith("7 ")
    assert problem in found


@pytest.mark.parametrize("solution", ["rdbms-store", "rdbms-trigger"])
def test_names_that_a_database_does_not_take_are_refused(tmp_path: Path, solution: str) -> None:
    (found,) = told(tmp_path, f"{{{solution}: {{database: '{SERVER}'}}}}", column=LONG)
    assert f'PostgreSQL cannot name a table or column "{LONG}"' in found
    (found,) = told(tmp_path, solution, column="ID")
    assert 'SQLite cannot tell the columns of "user", "id" and "ID" apart' in found
