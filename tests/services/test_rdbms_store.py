"""`rdbms-store` on a real PostgreSQL: cases, random projects, crashes, values, and bad input."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import psycopg
import pytest
from tests.conformance.apart import apart, problems_of
from tests.conformance.group_cases import CASES as GROUP_CASES
from tests.oracle.beside import Beside
from tests.oracle.compare import (
    chosen_seeds,
    each_seed,
    failures,
    make_crowded_trial,
    make_trial,
)
from tests.unit.solutions.relational.products import (
    FIRST,
    PRODUCT,
    SECOND,
    STAR,
    VALUES,
    product,
    relation,
    stored,
)

from joinery.dev.service import Service
from joinery.model.change import Change
from joinery.model.type import INT, LONG, STRING, DataType, Decimal, Field
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.semantics.document import SentDocument
from joinery.solutions.key_value.memory import MemoryStore
from joinery.solutions.key_value.state import KeyValueJoinState
from joinery.solutions.protocol import Sent
from joinery.solutions.relational.postgres import PostgresState, postgres_reader
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.reading import Task
from joinery.solutions.stored.state import (
    Batch,
    Emitted,
    StoreError,
    StoreFencedError,
    StoreSolution,
)
from joinery.spark.recovery.takeover import carry
from joinery.testing import conformance
from joinery.testing.conformance import Case, all_cases
from joinery.testing.conformance.project import load_text
from joinery.testing.stores import Break, StoreRunner

pytestmark = pytest.mark.services
SEEDS = chosen_seeds(3)
NAMED = """
relations:
  user: {key: [id], fields: {id: string}}
products:
  users: {root: user}
"""


def fresh() -> str:
    return f"joinery {uuid.uuid4().hex}"


@dataclass
class Schemas:
    """Opens a schema of its own for each run."""

    url: str
    name: str = ""
    runner: StoreRunner = field(init=False)

    def run(self, project: ProjectSpec, batches: Sequence[Sequence[Change]]) -> list[Sent]:
        self.name = fresh()
        return self.runner.run(project, batches)

    def over(self, **how: Any) -> Schemas:
        self.runner = StoreRunner(self.open, **how)
        return self

    def open_shared(self, products: Sequence[Product], wrap: Break[PostgresState]) -> StoreSolution:
        state = PostgresState(products, self.url, schema=self.name)
        query = products[0].query
        reader = partial(postgres_reader, products, self.url, schema=self.name, name=query)
        team = Beside(Task(products, reader))
        return StoreDriver(products, wrap(state), together=3, team=team, alone=-1)

    def open(self, products: Sequence[Product], wrap: Break[PostgresState]) -> StoreSolution:
        state = PostgresState(products, self.url, schema=self.name)
        return StoreDriver(products, wrap(state), together=3)


@pytest.fixture(scope="module")
def schemas(postgres: Service) -> Schemas:
    return Schemas(postgres.address)


@pytest.fixture(scope="module")
def problems(schemas: Schemas) -> dict[str, str]:
    return problems_of(schemas.over(replay=True), all_cases())


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_postgres_holds(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""


@pytest.mark.exhaustive
@pytest.mark.parametrize("crashes", [2, 6])
def test_all_cases_hold_through_crashes(crashes: int, schemas: Schemas) -> None:
    """SQLite's are in `make test`, and here groups and random projects that crash at any call."""
    for part in apart(all_cases()):
        conformance.check(schemas.over(replay=True, crashes=crashes), part)

    assert schemas.runner.crashed > 0


def test_groups_hold_through_crashes(schemas: Schemas) -> None:
    conformance.check(schemas.over(replay=True, crashes=4), GROUP_CASES)

    assert schemas.runner.crashed > 0


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=3))
def test_a_crash_after_any_call_changes_nothing(seed: int, schemas: Schemas) -> None:
    assert [] == failures(make_trial([seed]), schemas.over(replay=True, crashes=-1))


def test_documents_made_elsewhere_are_the_same_through_crashes(schemas: Schemas) -> None:
    schemas.runner = StoreRunner(schemas.open_shared, replay=True, crashes=3)

    assert [] == failures(make_trial([SEEDS[0]]), schemas)


def test_a_root_with_a_nul_is_marked_and_found_elsewhere(schemas: Schemas) -> None:
    schemas.runner = StoreRunner(schemas.open_shared, replay=True, crashes=3)
    batch = [Change("user", {"id": key}, {"id": key}) for key in ("a", "b\0c", "d", "e", "f", "g")]

    sent = schemas.run(load_text(NAMED), [batch])

    assert 6 == len(sent[0].lines["users"])


def test_texts_with_a_nul_are_carried_over_to_another_store(schemas: Schemas) -> None:
    products = build_plan(load_text(NAMED)).products
    keys = [("a",), ("b\0c",), ("d\ue000",)]
    batch = [Change("user", {"id": key}, {"id": key}) for (key,) in keys]
    schemas.over().run(load_text(NAMED), [batch])
    held = PostgresState(products, schemas.url, schema=schemas.name)
    target = KeyValueJoinState(products, MemoryStore())

    assert 0 == held.last_number("query")
    carry(held, target, products, Batch("query", 0, 0, 0))

    target.begin(Batch("query", 1, 1, 2))
    assert {key: {"id": key[0]} for key in keys} == {
        key: each.row for key, each in target.rows("user", keys).items()
    }
    assert {*keys} == {*target.sent("users", keys)}
    held.close()


def test_many_wide_rows_at_few_join_values(schemas: Schemas) -> None:
    assert [] == failures(make_crowded_trial([0]), schemas.over())


@pytest.fixture
def schema() -> str:
    return fresh()


@pytest.fixture
def state(postgres: Service, schema: str) -> Iterator[PostgresState]:
    opened = PostgresState([PRODUCT], postgres.address, schema=schema)
    opened.begin(FIRST)
    yield opened
    opened.close()


def test_rows_come_back_as_they_were_written(state: PostgresState) -> None:
    rows = {
        (1,): stored({"id": 1, "name": "a"}),
        (2,): stored({"id": 2, "name": "\0 \ue000"}, visible=False),
        (3,): stored(None),
    }
    state.rows("user", [(1,)])
    state.write("user", rows)

    assert rows == state.rows("user", [(1,), (2,), (3,), (4,)])


def test_a_text_with_a_nul_is_found_again_by_the_next_run(
    state: PostgresState, postgres: Service, schema: str
) -> None:
    row = {"user_id": 1, "repo": "a\0b"}
    state.write("star", {("a\0b", 1): stored(row)})
    state.acknowledge(FIRST, {})
    state.close()
    again = PostgresState([PRODUCT], postgres.address, schema=schema)
    again.begin(SECOND)

    assert {("a\0b", 1): stored(row)} == again.rows("star", [("a\0b", 1)])
    again.close()


def test_a_batch_that_was_acknowledged_tells_what_it_sent(
    state: PostgresState, postgres: Service, schema: str
) -> None:
    done = {"p": Emitted({(2,): SentDocument("{}", 9), (1,): SentDocument(None, 8)})}
    state.acknowledge(FIRST, done)
    state.close()
    again = PostgresState([PRODUCT], postgres.address, schema=schema)

    assert again.begin(FIRST)
    assert done == again.emitted(FIRST)
    assert [(2,), (1,)] == list(again.emitted(FIRST)["p"].documents)
    assert not again.begin(SECOND)
    again.close()


def test_a_replaced_run_is_refused_for_good(
    state: PostgresState, postgres: Service, schema: str
) -> None:
    state.acknowledge(FIRST, {})
    newer = PostgresState([PRODUCT], postgres.address, schema=schema)
    newer.begin(Batch("q", 1, 2, 2_000_000))
    newer.close()

    with pytest.raises(StoreFencedError, match="another run"):
        state.begin(SECOND)


def test_a_new_checkpoint_begins_with_empty_tables_above_the_old_versions(
    state: PostgresState,
) -> None:
    state.write("user", {(1,): stored({"id": 1, "name": "a"})})
    state.acknowledge(FIRST, {"p": Emitted({(1,): SentDocument("{}", 9)})})

    assert not state.begin(Batch("other", 0, 1, 3_000_000))
    assert {} == state.rows("user", [(1,)])
    assert {(1,): SentDocument(None, 9)} == state.sent("p", [(1,)])


def test_deletes_and_gone_roots_are_forgotten_in_time(state: PostgresState) -> None:
    state.write("user", {(1,): stored(None), (2,): stored({"id": 2, "name": "b"})})
    gone = {(1,): SentDocument(None, 5), (2,): SentDocument("{}", 5)}
    state.acknowledge(FIRST, {"p": Emitted(gone)})
    state.forget(1_000_001)

    assert [(2,)] == list(state.rows("user", [(1,), (2,)]))
    assert [(2,)] == list(state.sent("p", [(1,), (2,)]))


def test_a_column_is_added_and_another_widened(
    state: PostgresState, postgres: Service, schema: str
) -> None:
    state.write("star", {("a", 1): stored({"user_id": 1, "repo": "a"})})
    state.acknowledge(FIRST, {})
    state.close()
    columns = (Field("user_id", LONG), Field("repo", STRING), Field("price", Decimal(9, 2)))
    wider = product(
        relation("user", "id", Field("id", LONG)), relation("star", "repo user_id", *columns)
    )
    again = PostgresState([wider], postgres.address, schema=schema)
    again.begin(SECOND)
    found = again.rows("star", [("a", 1)])[("a", 1)].row
    again.write("star", {("b", 1 << 40): stored({"user_id": 1 << 40, "repo": "b", "price": None})})

    assert {"user_id": 1, "repo": "a", "price": None} == found
    again.close()


def test_a_column_of_another_type_is_refused(
    state: PostgresState, postgres: Service, schema: str
) -> None:
    state.acknowledge(FIRST, {})
    other = relation("user", "id", Field("id", LONG), Field("name", INT))

    with pytest.raises(StoreError, match="does not fit") as told:
        PostgresState([product(other, STAR)], postgres.address, schema=schema)

    assert 'Its column "name" is text, but has to be integer.' == told.value.detail


@pytest.mark.parametrize("table", ["p__user", "p__documents__p", "p__batch"])
def test_a_table_of_somebody_else_is_refused(postgres: Service, schema: str, table: str) -> None:
    with psycopg.connect(postgres.address) as connection:
        connection.execute(f'CREATE SCHEMA "{schema}"')
        connection.execute(f'CREATE TABLE "{schema}"."{table}" (x int)')

    with pytest.raises(StoreError, match=f'table "{table}" does not fit'):
        PostgresState([PRODUCT], postgres.address, schema=schema)


def test_statements_take_as_long_as_they_take(postgres: Service, schema: str) -> None:
    url = f"{postgres.address}?options=-c%20statement_timeout%3D9s"
    state = PostgresState([PRODUCT], url, schema=schema)

    assert ("0",) == state._link.execute("SHOW statement_timeout").fetchone()
    state.close()


def test_a_double_is_told_with_all_its_digits(postgres: Service, schema: str) -> None:
    url = f"{postgres.address}?options=-c%20extra_float_digits%3D0"
    state = PostgresState([PRODUCT], url, schema=schema)

    told = state._link.execute("SELECT (0.1::float8 + 0.2::float8)::text").fetchone()

    assert ("0.30000000000000004",) == told
    state.close()


def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    with pytest.raises(StoreError, match="could not connect") as told:
        PostgresState([PRODUCT], "postgresql://ada:secret@127.0.0.1:1/shop")

    assert "secret" not in f"{told.value} {told.value.detail} {told.value.hint}"


def test_a_user_who_is_not_known_is_told(postgres: Service) -> None:
    url = postgres.address.replace("joinery@", "nobody:secret@")

    with pytest.raises(StoreError, match="could not connect") as told:
        PostgresState([PRODUCT], url)

    assert "nobody" in told.value.detail
    assert "secret" not in told.value.detail


def test_a_server_that_dies_within_a_batch_is_told(postgres: Service, state: PostgresState) -> None:
    with psycopg.connect(postgres.address, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND application_name = 'joinery'"
        )

    with pytest.raises(StoreError, match="could not use the database"):
        state.rows("user", [(1,)])


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, each) for kind, many in VALUES for each in [*many, None]]
)
def test_a_value_comes_back_as_it_was(
    kind: DataType, value: object, postgres: Service, schema: str
) -> None:
    typed = relation("user", "id", Field("id", LONG), Field("value", kind))
    state = PostgresState([product(typed, STAR)], postgres.address, schema=schema)
    state.begin(FIRST)
    state.write("user", {(1,): stored({"id": 1, "value": value})})

    found = state.rows("user", [(1,)])[(1,)]

    assert found.row is not None
    assert repr(value) == repr(found.row["value"])
    state.close()
