"""`rdbms-trigger` on a real PostgreSQL: cases, random projects, crashes, the user's own SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.conformance.apart import problems_of
from tests.oracle.compare import (
    chosen_seeds,
    each_seed,
    failures,
    make_crowded_trial,
    make_trial,
)
from tests.services import triggered
from tests.services.triggered import fresh
from tests.unit.solutions.trigger.shop import product

from joinery.dev.service import Service
from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.solutions.protocol import Sent
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.state import StoreSolution
from joinery.solutions.trigger.open import statements_of
from joinery.solutions.trigger.options import TriggerOptions
from joinery.solutions.trigger.postgres import PostgresTriggerState
from joinery.solutions.trigger.tactic import StatementTactic
from joinery.testing.changes import insert, update
from joinery.testing.conformance import Case, all_cases
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import Driver, upsert
from joinery.testing.stores import Break, StoreRunner

pytestmark = pytest.mark.services
options = triggered.options
SEEDS = chosen_seeds(2)


@dataclass
class Schemas:
    """Opens a schema of its own for each run, and counts who has documents by SQL."""

    url: str
    name: str = ""
    built: Counter[bool] = field(default_factory=Counter)
    runner: StoreRunner = field(init=False)

    def run(self, project: ProjectSpec, batches: Sequence[Sequence[Change]]) -> list[Sent]:
        self.name = fresh()
        return self.runner.run(project, batches)

    def over(self, **how: Any) -> Schemas:
        self.runner = StoreRunner(self.open, counts=False, **how)
        return self

    def open(self, products: Sequence[Product], wrap: Break[PostgresTriggerState]) -> StoreSolution:
        options = TriggerOptions(database=self.url, schema=self.name)

        def tactic(product: Product, max_bytes: int | None) -> StatementTactic:
            statements = statements_of(product, product.query, options)
            self.built[bool(statements.documents)] += 1
            return StatementTactic(product, max_bytes, statements)

        state = PostgresTriggerState(products, self.url, schema=self.name)
        return StoreDriver(products, wrap(state), together=3, tactic=tactic)


@pytest.fixture(scope="module")
def schemas(postgres: Service) -> Schemas:
    return Schemas(postgres.address)


@pytest.fixture(scope="module")
def problems(schemas: Schemas) -> dict[str, str]:
    """What is wrong with each case where each batch crashes once before it runs through."""
    found = problems_of(schemas.over(replay=True, crashes=1), all_cases())
    assert schemas.runner.crashed > 0
    return found


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_postgres_holds_through_crashes(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""


def test_most_cases_are_built_in_the_database(problems: dict[str, str], schemas: Schemas) -> None:
    assert problems

    assert schemas.built[True] > 5 * schemas.built[False]


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=2))
def test_a_crash_after_any_call_changes_nothing(seed: int, schemas: Schemas) -> None:
    assert [] == failures(make_trial([seed]), schemas.over(replay=True, crashes=-1))


def test_random_projects_send_what_the_reference_sends(schemas: Schemas) -> None:
    assert [] == failures(make_trial(chosen_seeds(20)), schemas.over(replay=True))


def test_many_wide_rows_at_few_join_values(schemas: Schemas) -> None:
    assert [] == failures(make_crowded_trial([0]), schemas.over())


NEWEST = """
WITH ranked AS (
  SELECT s.user_id, r.name AS repo,
         row_number() OVER (PARTITION BY s.user_id ORDER BY s.at DESC) AS place
  FROM wanted JOIN star AS s ON s.user_id = wanted.id JOIN repo AS r ON r.id = s.repo_id
)
SELECT u.id, jsonb_build_object(
    'id', u.id, 'name', initcap(u.name),
    'stars', coalesce((SELECT json_agg(json_build_object('repo', repo))
                       FROM ranked WHERE user_id = u.id AND place = 1), '[]')) AS document
FROM wanted JOIN "user" AS u USING (id)
"""


def test_the_users_own_statement_builds_the_document(options: dict[str, object]) -> None:
    pipeline = Driver(
        product(), solution="rdbms-trigger", options={**options, "sql": {"documents": NEWEST}}
    )
    pipeline.send(insert("user", id=1, name="ada"), insert("repo", id=7, name="loom"))

    emitted = pipeline.send(insert("star", user_id=1, repo_id=7, at="2026-01-01T00:00:00Z"))

    assert [upsert(1, {"id": 1, "name": "Ada", "stars": [{"repo": "loom"}]})] == emitted


def test_a_text_with_a_nul_is_shown_as_it_is(options: dict[str, object]) -> None:
    pipeline = Driver(product(), solution="rdbms-trigger", options=options)

    emitted = pipeline.send(insert("user", id=1, name="a\0b"))

    assert [upsert(1, {"id": 1, "name": "a\0b", "stars": []})] == emitted


BY_NAME = """
relations:
  user: {key: [name], fields: {name: string}}
  star: {key: [id], fields: {id: long, user: string}}
products:
  profile:
    root: user
    embed: {stars: {many: star, on: {user: name}, fields: [id]}}
    sink: {files: {path: out}}
"""


def test_the_first_text_with_a_nul_may_be_a_join_value(options: dict[str, object]) -> None:
    named = build_plan(load_text(BY_NAME)).products[0]
    pipeline = Driver(named, solution="rdbms-trigger", options=options)
    pipeline.send(insert("user", name="ada"))

    emitted = pipeline.send(insert("star", id=1, user="a\0b"), insert("user", name="a\0b"))

    assert [upsert("a\0b", {"name": "a\0b", "stars": [{"id": 1}]})] == emitted


def test_a_repository_renamed_changes_only_who_starred_it(options: dict[str, object]) -> None:
    pipeline = Driver(product(), solution="rdbms-trigger", options=options)
    pipeline.send(
        insert("user", id=1, name="ada"),
        insert("user", id=2, name="eve"),
        insert("repo", id=7, name="loom"),
        insert("star", user_id=2, repo_id=7, at=None),
    )

    emitted = pipeline.send(update("repo", id=7, name="mill"))

    assert [upsert(2, {"id": 2, "name": "eve", "stars": [{"repo": "mill"}]})] == emitted
