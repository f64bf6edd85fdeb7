"""Key-value stores on real servers: the rules of a store, and join state through crashes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

import pytest
from redis import Redis
from tests.oracle.beside import Beside
from tests.oracle.compare import failures, make_trial

from joinery.dev.service import Service
from joinery.plan.product import Product
from joinery.solutions.key_value.dynamodb import DynamoStore, ensure_table, open_client
from joinery.solutions.key_value.dynamodb_table import DynamoTable
from joinery.solutions.key_value.redis import RedisStore
from joinery.solutions.key_value.state import KeyValueJoinState, KeyValueReader
from joinery.solutions.key_value.store import KeyValueStore
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.reading import Task
from joinery.solutions.stored.state import StoreError, StoreFencedError
from joinery.testing import conformance
from joinery.testing.conformance.store_suite import STORE_RULES, Make
from joinery.testing.stores import Break, Opener, StoreRunner, check_late_record

pytestmark = pytest.mark.services
EACH_RULE = pytest.mark.parametrize("rule", STORE_RULES, ids=lambda each: each.__name__)
NUMBERS = count()
MakeRedis = Callable[[], RedisStore]


@pytest.fixture
def in_redis(redis: Service) -> MakeRedis:
    prefix = f"kv{next(NUMBERS)}"
    return lambda: RedisStore(redis.address, prefix)


@pytest.fixture
def in_dynamodb(dynamodb: Service, monkeypatch: pytest.MonkeyPatch) -> Make:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "local")
    name = f"kv{next(NUMBERS)}"

    def make() -> KeyValueStore:
        client = open_client(dynamodb.address, "us-east-1")
        ensure_table(client, name)
        return DynamoStore(DynamoTable(client, name), "p/")

    return make


def opener(make: Make) -> Opener:
    def open_(products: Sequence[Product], break_: Break[Any]) -> StoreDriver:
        return StoreDriver(products, KeyValueJoinState(products, break_(make())))

    return open_


@EACH_RULE
def test_redis(rule: Callable[[Make], None], in_redis: MakeRedis) -> None:
    rule(in_redis)


@EACH_RULE
def test_dynamodb(rule: Callable[[Make], None], in_dynamodb: Make) -> None:
    rule(in_dynamodb)


def test_join_state_in_redis_holds(in_redis: MakeRedis) -> None:
    conformance.check(StoreRunner(opener(in_redis), replay=True))


def test_a_late_record_in_redis_replaces_nothing_newer(in_redis: MakeRedis) -> None:
    check_late_record(opener(in_redis))


@pytest.mark.parametrize("seed", range(3))
def test_join_state_in_redis_is_right_after_crashes(seed: int, redis: Service) -> None:
    runner = StoreRunner(
        opener(lambda: RedisStore(redis.address, f"seed{seed}")), replay=True, crashes=6, seed=seed
    )

    assert [] == failures(make_trial([seed]), runner)
    assert runner.crashed > 0


@pytest.mark.parametrize("seed", range(2))
def test_join_state_in_dynamodb_is_right_after_crashes(seed: int, in_dynamodb: Make) -> None:
    runner = StoreRunner(opener(in_dynamodb), replay=True, crashes=3, seed=seed)

    assert [] == failures(make_trial([seed]), runner)


@pytest.mark.parametrize("store", ["in_redis", "in_dynamodb"])
def test_only_one_of_two_claims_holds(store: str, request: pytest.FixtureRequest) -> None:
    make = request.getfixturevalue(store)
    one, two = make(), make()
    one.claim((b"fence", b""), None, b"1")

    with pytest.raises(StoreFencedError):
        two.claim((b"fence", b""), None, b"2")
    two.claim((b"fence", b""), b"1", b"2")
    with pytest.raises(StoreFencedError):
        one.claim((b"fence", b""), b"1", b"3")

    assert [b"2"] == list(two.get_many([(b"fence", b"")]))


def test_redis_takes_no_writes_of_a_run_that_was_replaced(
    in_redis: MakeRedis,
) -> None:
    old, new = in_redis(), in_redis()
    old.claim((b"fence", b""), None, b"1")
    new.claim((b"fence", b""), b"1", b"2")

    with pytest.raises(StoreFencedError):
        old.put_many({(b"a", b""): b"old", (b"b", b"1"): b"old"})

    assert [None, None] == list(new.get_many([(b"a", b""), (b"b", b"1")]))


def test_redis_tells_that_it_was_emptied(in_redis: MakeRedis, redis: Service) -> None:
    store = in_redis()
    store.claim((b"fence", b""), None, b"1")
    with Redis.from_url(redis.address) as server:
        server.delete(f"{store._prefix}:fence")

    with pytest.raises(StoreError, match="was emptied while a run used it"):
        store.put_many({(b"a", b""): b"1"})


def test_redis_forgets_what_a_former_checkpoint_left(in_redis: MakeRedis, redis: Service) -> None:
    store = in_redis()
    store.put_many({(b"0/row/[*]", b""): b"1", (b"0/by", b"x"): b"1", (b"01/row", b""): b"1"})
    store.clear(b"0/")

    assert [None, None, b"1"] == list(
        store.get_many([(b"0/row/[*]", b""), (b"0/by", b"x"), (b"01/row", b"")])
    )


def test_redis_lists_its_partitions_and_is_read_by_another(
    in_redis: MakeRedis,
) -> None:
    store = in_redis()
    entries = [(f"row/{at}*".encode(), b"") for at in range(3000)]
    store.put_many({**dict.fromkeys(entries, b"x"), (b"by/*", b"a"): b"", (b"by/*", b"b"): b""})

    other = pickle.loads(pickle.dumps(store.reader()))()

    assert {partition for partition, _ in entries} == set(store.partitions(b"row/"))
    assert [b"by/*"] == list(store.partitions(b"by/*"))
    assert [b"x"] * 3000 == other.get_many(entries)
    other.close()


def test_documents_made_elsewhere_from_redis_are_the_same_through_crashes(redis: Service) -> None:
    prefix = f"beside-{next(NUMBERS)}"

    def open_(products: Sequence[Product], break_: Break[Any]) -> StoreDriver:
        store = RedisStore(redis.address, prefix)
        state = KeyValueJoinState(products, break_(store))
        team = Beside(Task(products, partial(KeyValueReader, products, store.reader())))
        return StoreDriver(products, state, together=3, team=team, alone=-1)

    assert [] == failures(make_trial([0]), StoreRunner(open_, replay=True, crashes=2))


def test_a_hash_that_is_very_large_is_read_by_a_cursor(in_redis: MakeRedis) -> None:
    store = in_redis()
    entries: dict[Any, bytes | None] = {(b"by/popular", b"%d" % n): b"" for n in range(25_000)}
    store.put_many(entries)

    assert entries == dict(store.scan([b"by/popular"]))


def test_a_redis_that_is_away_is_told(redis: Service) -> None:
    with pytest.raises(StoreError) as refused:
        RedisStore("redis://127.0.0.1:1/0", "p")

    assert "could not reach redis 127.0.0.1:1/0" in refused.value.message


def test_a_wrong_password_is_told_without_it(redis: Service) -> None:
    with Redis.from_url(redis.address) as server:
        server.config_set("requirepass", "right")
        try:
            with pytest.raises(StoreError) as refused:
                RedisStore(redis.address.replace("//", "//:wrong-word@"), "p")
        finally:
            Redis.from_url(redis.address.replace("//", "//:right@")).config_set("requirepass", "")

    assert "wrong-word" not in f"{refused.value} {refused.value.detail} {refused.value.hint}"


def test_a_key_that_is_too_long_for_dynamodb_is_told(in_dynamodb: Make) -> None:
    with pytest.raises(StoreError, match="a key is too long for DynamoDB"):
        in_dynamodb().put_many({(b"p", b"x" * 2_000): b""})
