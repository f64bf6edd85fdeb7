"""The solution `dynamodb` on DynamoDB Local: cases, crashes, a grudging server, slots, cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError
from tests.oracle.compare import each_seed, failures, make_trial

import joinery as jn
from joinery.dev.service import Service
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.solutions.choose import SolutionPlace, open_solution
from joinery.solutions.key_value.dynamodb import ensure_table, open_client
from joinery.solutions.key_value.dynamodb_table import DynamoTable, Item
from joinery.solutions.single_table.registry import SqliteRegistry, give_slots, open_registry
from joinery.solutions.single_table.slot import assign
from joinery.solutions.single_table.state import SingleTableState, needs_of
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.state import Batch, StoredRow, StoreError
from joinery.testing import conformance, insert, upsert
from joinery.testing.conformance.project import load_text
from joinery.testing.stores import Break, Opener, StoreRunner

pytestmark = pytest.mark.services
NUMBERS = count()
TEXT = """
relations:
  user: {key: [email], fields: {email: string, name: string}, unique: [[name]]}
  star: {key: [name, repo], fields: {name: string, repo: long}}
  repo: {key: [id], fields: {id: long, title: string}}
products:
  profile:
    root: user
    embed:
      stars: {many: star, on: [name], fields: [repo], embed: {r: {one: repo, on: {id: repo}}}}
"""
PRODUCT = build_plan(load_text(TEXT)).products[0]


@pytest.fixture
def endpoint(dynamodb: Service, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "local")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return dynamodb.address


@pytest.fixture
def client(endpoint: str) -> Iterator[Any]:
    client: Any = open_client(endpoint, "us-east-1")
    yield client
    client.close()


@pytest.fixture
def name() -> str:
    return f"table{next(NUMBERS)}"


class GrudgingClient:
    """A client of a server that does a part of each request, and at times nothing at all."""

    def __init__(self, client: Any, random: Random) -> None:
        self._client, self._random = client, random
        self.refused = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def batch_write_item(self, *, RequestItems: dict[str, Any], **more: Any) -> Any:
        self._grudge("BatchWriteItem")
        [(table, requests)] = RequestItems.items()
        some = max(1, len(requests) // 2)
        answer = self._client.batch_write_item(RequestItems={table: requests[:some]}, **more)
        left = requests[some:]
        return {**answer, "UnprocessedItems": {table: left} if left else {}}

    def batch_get_item(self, *, RequestItems: dict[str, Any], **more: Any) -> Any:
        self._grudge("BatchGetItem")
        [(table, asked)] = RequestItems.items()
        some, left = asked["Keys"][:7], asked["Keys"][7:]
        answer = self._client.batch_get_item(RequestItems={table: {**asked, "Keys": some}}, **more)
        return {**answer, "UnprocessedKeys": {table: {**asked, "Keys": left}} if left else {}}

    def query(self, **request: Any) -> Any:
        self._grudge("Query")
        return self._client.query(**{**request, "Limit": 2})

    def _grudge(self, operation: str) -> None:
        if self._random.random() < 0.3:
            self.refused += 1
            facts = {"Error": {"Code": "ProvisionedThroughputExceededException", "Message": "!"}}
            raise ClientError(facts, operation)


def opener(client: Any, name: str, folder: Path, **more: Any) -> Opener:
    def open_(products: Sequence[Product], break_: Break[Any]) -> StoreDriver:
        table = DynamoTable(client, name, pause=lambda seconds: None)
        slots = give_slots(
            needs_of(products),
            SqliteRegistry(folder / "slots.db", name),
            table,
            lambda slots: ensure_table(client, name, slots),
        )
        state = SingleTableState(products, break_(table), slots, query="q", lag_s=0, **more)
        return StoreDriver(products, break_(state))

    return open_


def unclosed(client: Any) -> Any:
    """Return the client without what closes it, for the next one who opens."""
    return type(
        "Unclosed", (), {"__getattr__": lambda _, n: getattr(client, n), "close": lambda _: None}
    )()


@pytest.mark.parametrize("seed", each_seed(range(4), few=2))
def test_random_projects_are_right_after_crashes(
    seed: int, client: Any, name: str, tmp_path: Path
) -> None:
    open_ = opener(unclosed(client), name, tmp_path)
    runner = StoreRunner(open_, replay=True, crashes=4, seed=seed)

    assert [] == failures(make_trial([seed]), runner)
    assert runner.crashed > 0


def test_the_cases_hold_on_a_server_that_does_half_of_what_it_is_asked(
    client: Any, name: str, tmp_path: Path
) -> None:
    grudging = GrudgingClient(unclosed(client), Random(3))
    runner = StoreRunner(opener(grudging, name, tmp_path, shards=3), replay=True)

    assert [] == failures(make_trial([5, 6]), runner)
    assert grudging.refused > 10


@pytest.mark.exhaustive
def test_the_cases_hold(client: Any, name: str, tmp_path: Path) -> None:
    conformance.check(StoreRunner(opener(unclosed(client), name, tmp_path)))


def test_it_is_opened_by_name_and_tells_its_requests(endpoint: str, tmp_path: Path) -> None:
    options = {"endpoint": endpoint, "table": f"named{next(NUMBERS)}", "index_lag": 0}
    driver = jn.testing.Driver(PRODUCT, solution="dynamodb", options=options, folder=tmp_path)

    emitted = driver.send(
        insert("user", email="a", name="ann"),
        insert("star", name="ann", repo=1),
        insert("repo", id=1, title="x"),
    )

    stars = [{"repo": 1, "r": {"id": 1, "title": "x"}}]
    assert [upsert("a", {"email": "a", "name": "ann", "stars": stars})] == emitted
    assert driver.counters["dynamodb_write_units"] > 0
    assert driver.counters["dynamodb_queries"] > 0


def test_a_value_of_a_slot_is_queried_once_a_batch(client: Any, name: str, tmp_path: Path) -> None:
    driver = opener(unclosed(client), name, tmp_path)([PRODUCT], lambda each: each)
    assert isinstance(driver, StoreDriver)
    table = cast(SingleTableState, driver._state)._table  # which counts, and forwards the rest
    changes = [insert("user", email=f"{n}", name=f"n{n}") for n in range(30)]
    changes += [insert("star", name=f"n{n % 30}", repo=n) for n in range(90)]
    relations = {each.name: each for each in PRODUCT.relations}
    told = [each.change(relations[each.relation]) for each in changes]
    before = table.usage.snapshot()

    driver.apply(told, Batch("q", 0, 1, 1))

    used = table.usage.since(before)
    values = 30 + 30 + 90  # names of users, names of stars, and repositories that climb to stars
    assert used["dynamodb_queries"] <= values + 1  # and one for the marks
    assert used["dynamodb_requests"] < 40


def test_a_large_row_is_cut_and_comes_back_whole(client: Any, name: str) -> None:
    ensure_table(client, name)
    table = DynamoTable(client, name)
    large = "ü".encode() * 700_000
    table.put({("a", "1"): Item(large), ("a", "2"): Item(b"small")})

    assert {("a", "1"): large, ("a", "2"): b"small"} == table.get([("a", "1"), ("a", "2")])
    assert large == DynamoTable(client, name).partitions(["a"])[0]["a", "1"]

    again = DynamoTable(client, name)
    again.get([("a", "1")])
    again.put({("a", "1"): Item(b"now small"), ("a", "2"): None})

    assert {("a", "1"): b"now small"} == again.get([("a", "1"), ("a", "2")])
    assert 1 == client.scan(TableName=name)["Count"]


def test_a_lost_registry_is_built_again_from_the_table(
    client: Any, name: str, tmp_path: Path
) -> None:
    def slots(file: str, *needs: tuple[str, tuple[str, ...]]) -> dict[Any, int]:
        return give_slots(
            needs,
            open_registry("", name, tmp_path / file),
            DynamoTable(client, name),
            lambda slots: ensure_table(client, name, slots),
        )

    first = slots("one.db", ("star", ("repo",)), ("user", ("name",)))
    more = slots("one.db", ("star", ("at",)), ("user", ("name",)))
    assert first.items() <= more.items()

    assert more == slots("two.db", ("star", ("repo",)), ("star", ("at",)), ("user", ("name",)))
    assert more == open_registry("", name, tmp_path / "two.db").read()


def test_the_registry_may_be_in_postgresql(client: Any, name: str, postgres: Service) -> None:
    for _ in range(2):
        registry = open_registry(postgres.address, name, Path("unused"))
        slots = give_slots(
            [("star", ("repo",))],
            registry,
            DynamoTable(client, name),
            lambda slots: ensure_table(client, name, slots),
        )

    assert {("star", ("repo",)): 1} == slots == registry.read()


def test_a_registry_of_another_table_is_refused(client: Any, name: str, tmp_path: Path) -> None:
    registry = SqliteRegistry(tmp_path / "slots.db", name)
    table = DynamoTable(client, name)
    make = partial(ensure_table, client, name)
    give_slots([("star", ("repo",))], registry, table, make)
    other = SqliteRegistry(tmp_path / "other.db", name)
    other.add({("star", ("repo",)): 2})

    with pytest.raises(StoreError, match="the slot registry differs from the table"):
        give_slots([("star", ("repo",))], other, table, make)


def test_too_many_joins_are_refused_before_anything_is_written(
    endpoint: str, client: Any, tmp_path: Path
) -> None:
    columns = [f"c{at}" for at in range(21)]
    fields = ", ".join(f"{each}: long" for each in ("id", *columns))
    embeds = ", ".join(
        f"e{at}: {{many: thing, on: {{{each}: id}}}}" for at, each in enumerate(columns)
    )
    text = f"""
relations: {{thing: {{key: [id], fields: {{{fields}}}}}}}
products: {{p: {{root: thing, embed: {{{embeds}}}}}}}
"""
    product = build_plan(load_text(text)).products[0]
    place = SolutionPlace(tmp_path, "toomany")

    with pytest.raises(jn.JoineryError, match="needs more than the 20 indexes"):
        open_solution("dynamodb", [product], {"endpoint": endpoint}, place)

    assert "joinery-toomany" not in client.list_tables()["TableNames"]


def test_a_table_with_other_keys_is_refused(client: Any, name: str) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        BillingMode="PAY_PER_REQUEST",
    )

    with pytest.raises(StoreError) as refused:
        ensure_table(client, name)

    assert "It has id (HASH, N); it needs pk (HASH, S), sk (RANGE, S)." == refused.value.detail


def test_another_number_of_shards_is_refused(client: Any, name: str, tmp_path: Path) -> None:
    opener(unclosed(client), name, tmp_path, shards=2)([PRODUCT], lambda each: each).apply(
        [], Batch("q", 0, 1, 1)
    )

    with pytest.raises(StoreError, match="over 2 shards, not 1"):
        opener(unclosed(client), name, tmp_path)([PRODUCT], lambda each: each).apply(
            [], Batch("q", 1, 1, 2)
        )


def test_deletes_are_forgotten_after_their_time(client: Any, name: str, tmp_path: Path) -> None:
    table = DynamoTable(client, name)
    slots = assign(needs_of([PRODUCT]), {})
    ensure_table(client, name, ["GSI_1", "GSI_2"])
    state = SingleTableState([PRODUCT], table, slots, query="q", lag_s=0)
    state.begin(Batch("q", 0, 1, 1))
    gone = {(n,): StoredRow(None, False, 1, True, at) for n, at in (("a", 1), ("b", 5))}
    state.write("user", gone)
    state.forget(5)

    assert {("b",)} == set(state.rows("user", gone))


def test_an_endpoint_that_is_away_is_told() -> None:
    client: Any = open_client("http://127.0.0.1:1", "us-east-1")

    with pytest.raises(StoreError, match="EndpointConnectionError"):
        ensure_table(client, "table")
