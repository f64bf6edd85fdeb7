"""`rdbms-trigger` over SQLite files: cases, random projects, crashes; each in its own file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import pytest
from tests.oracle.compare import chosen_seeds, failures, make_crowded_trial, make_trial

from joinery.model.change import Change
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.solutions.protocol import Sent
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.state import StoreSolution
from joinery.solutions.trigger.sqlite import SqliteTriggerState
from joinery.solutions.trigger.statement.layout import QueryLayout
from joinery.solutions.trigger.statement.product import product_statements
from joinery.solutions.trigger.statement.sqlite import SqliteDialect
from joinery.solutions.trigger.tactic import StatementTactic
from joinery.testing import conformance
from joinery.testing.conformance import Case, all_cases
from joinery.testing.stores import Break, StoreRunner, check_replaced

SEEDS = chosen_seeds(4)


@dataclass
class Files:
    """Opens a file of its own for each run, and counts who has documents by SQL."""

    folder: Path
    path: Path = Path()
    built: Counter[bool] = field(default_factory=Counter)

    def run(self, project: ProjectSpec, batches: Sequence[Sequence[Change]]) -> list[Sent]:
        self.path = Path(mkdtemp(dir=self.folder)) / "state.db"
        return self.runner.run(project, batches)

    def over(self, runner: StoreRunner) -> Files:
        self.runner = runner
        return self

    def open(self, products: Sequence[Product], wrap: Break[SqliteTriggerState]) -> StoreSolution:
        layout, dialect = QueryLayout(products[0].query), SqliteDialect()

        def tactic(product: Product, max_bytes: int | None) -> StatementTactic:
            statements = product_statements(product, layout, dialect)
            self.built[bool(statements.documents and statements.affected)] += 1
            return StatementTactic(product, max_bytes, statements)

        state = wrap(SqliteTriggerState(products, self.path))
        return StoreDriver(products, state, together=3, tactic=tactic)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="module")
def problems(files: Files) -> dict[str, str]:
    """What is wrong with each case where each batch crashes twice before it runs through."""
    runner = StoreRunner(files.open, replay=True, counts=False, crashes=2)
    outcomes = conformance.examine(files.over(runner))
    assert runner.crashed > 0
    return {each.case.sentence: each.problem for each in outcomes}


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_sqlite_holds_through_crashes(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""


def test_most_cases_are_built_in_the_database(problems: dict[str, str], files: Files) -> None:
    assert problems

    assert files.built[True] > 5 * files.built[False]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crash_after_any_call_changes_nothing(seed: int, files: Files) -> None:
    runner = StoreRunner(files.open, replay=True, crashes=-1)

    assert [] == failures(make_trial([seed]), files.over(runner))


def test_random_projects_send_what_the_reference_sends(files: Files) -> None:
    trial = make_trial(chosen_seeds(40))

    assert [] == failures(trial, files.over(StoreRunner(files.open, replay=True)))


def test_many_wide_rows_at_few_join_values(files: Files) -> None:
    assert [] == failures(make_crowded_trial([0]), files.over(StoreRunner(files.open)))


def test_what_a_document_that_settles_replaces_is_told(files: Files, tmp_path: Path) -> None:
    files.path = tmp_path / "state.db"

    check_replaced(files.open)
