from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.solutions.relational.products import PRODUCT

from joinery.errors import SpecError
from joinery.solutions.choose import SolutionPlace, open_solution
from joinery.testing import Driver, insert, upsert


def test_the_database_is_a_file_in_the_checkpoint_unless_named(tmp_path: Path) -> None:
    open_solution("rdbms-store", [PRODUCT], {}, SolutionPlace(tmp_path / "q", "q")).close()

    assert (tmp_path / "q" / "rdbms-store.db").is_file()


def test_a_relative_path_begins_at_the_project(tmp_path: Path) -> None:
    place = SolutionPlace(tmp_path / "q", "q", project=tmp_path / "project")
    options = {"database": "sqlite:///data/rows.db"}
    open_solution("rdbms-store", [PRODUCT], options, place).close()

    assert (tmp_path / "project" / "data" / "rows.db").is_file()


@pytest.mark.parametrize("database", ["mysql://root:secret@host/db", "sqlite:///", "rows.db"])
def test_another_database_is_refused_without_telling_its_password(
    database: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError) as told:
        open_solution(
            "rdbms-store", [PRODUCT], {"database": database}, SolutionPlace(tmp_path, "q")
        )

    assert "secret" not in f"{told.value} {told.value.detail} {told.value.hint}"


def test_the_test_driver_runs_it() -> None:
    driver = Driver(PRODUCT, solution="rdbms-store")

    emitted = driver.send(insert("user", id=1), insert("star", repo="a", user_id=1))

    assert [upsert(1, {"id": 1, "stars": [{"user_id": 1, "repo": "a"}]})] == emitted
