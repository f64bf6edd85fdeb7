"""`rdbms-store` over SQLite files: cases, random projects, crashes; each case a file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import pytest
from tests.oracle.beside import Beside
from tests.oracle.compare import chosen_seeds, each_seed, failures, make_crowded_trial, make_trial

from joinery.model.change import Change
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.solutions.protocol import Sent
from joinery.solutions.relational.sqlite import SqliteState, sqlite_reader
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.reading import Task
from joinery.solutions.stored.state import StoreSolution
from joinery.testing import conformance
from joinery.testing.conformance import Case, all_cases
from joinery.testing.stores import Break, StoreRunner, check_replaced

SEEDS = chosen_seeds(6)


@dataclass
class Files:
    """Opens a file of its own for each run."""

    folder: Path
    path: Path = Path()

    def run(self, project: ProjectSpec, batches: Sequence[Sequence[Change]]) -> list[Sent]:
        self.path = Path(mkdtemp(dir=self.folder)) / "state.db"
        return self.runner.run(project, batches)

    def over(self, runner: StoreRunner) -> Files:
        self.runner = runner
        return self

    def open_shared(self, products: Sequence[Product], wrap: Break[SqliteState]) -> StoreSolution:
        state = SqliteState(products, self.path)
        task = Task(products, partial(sqlite_reader, products, self.path, products[0].query))
        return StoreDriver(products, wrap(state), together=3, team=Beside(task), alone=-1)

    def open(self, products: Sequence[Product], wrap: Break[SqliteState]) -> StoreSolution:
        return StoreDriver(products, wrap(SqliteState(products, self.path)), together=3)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="module")
def problems(files: Files) -> dict[str, str]:
    outcomes = conformance.examine(files.over(StoreRunner(files.open, replay=True)))
    return {each.case.sentence: each.problem for each in outcomes}


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_sqlite_holds(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""


@pytest.mark.parametrize("crashes", [2, pytest.param(6, marks=pytest.mark.exhaustive)])
def test_all_cases_hold_through_crashes(crashes: int, files: Files) -> None:
    runner = StoreRunner(files.open, replay=True, crashes=crashes)

    conformance.check(files.over(runner))

    assert runner.crashed > 0


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=3))
def test_a_crash_after_any_call_changes_nothing(seed: int, files: Files) -> None:
    runner = files.over(StoreRunner(files.open, replay=True, crashes=-1))

    assert [] == failures(make_trial([seed]), runner)


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_documents_made_elsewhere_are_the_same_through_any_crash(seed: int, files: Files) -> None:
    runner = files.over(StoreRunner(files.open_shared, replay=True, crashes=-1))

    assert [] == failures(make_trial([seed]), runner)


@pytest.mark.exhaustive
def test_all_cases_hold_where_documents_are_made_elsewhere(files: Files) -> None:
    conformance.check(files.over(StoreRunner(files.open_shared, replay=True)))


def test_many_wide_rows_at_few_join_values(files: Files) -> None:
    runner = files.over(StoreRunner(files.open))

    assert [] == failures(make_crowded_trial([0]), runner)


def test_what_a_document_that_settles_replaces_is_told(files: Files, tmp_path: Path) -> None:
    files.path = tmp_path / "state.db"

    check_replaced(files.open)
    files.path = tmp_path / "shared.db"
    check_replaced(files.open_shared)
