"""What a run keeps of its stores: their names, their threads, what they stage."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.semantics.document import SentDocument
from joinery.solutions.stored.state import Batch, BatchResult, Emitted, StoreError
from joinery.spark.batch import stores
from joinery.spark.batch.store_kernel import counted, write_outcome
from joinery.spark.batch.store_thread import StoreThread
from joinery.spark.batch.stores import open_store, statements_of, store_name
from joinery.spark.source.feed import feed_program
from joinery.spark.source.source import batch_time_us
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  user: {key: [id], fields: {id: long, name: string}}
products:
  profile: {root: user}
"""


@pytest.fixture
def products() -> Sequence[Product]:
    return build_plan(load_text(PROJECT)).products


@pytest.mark.parametrize(
    ("solution", "own"),
    [
        ("rdbms-store", False),
        ("{rdbms-trigger: {sql: {documents: SELECT 1}}}", True),
        ("rdbms-trigger", False),
    ],
)
def test_the_statements_of_a_user_are_part_of_the_plan(solution: str, own: bool) -> None:
    (product,) = build_plan(
        load_text(PROJECT.replace("{root: user}", f"{{root: user, solution: {solution}}}"))
    ).products

    assert own == ("SELECT 1" in statements_of([product]))
    assert own == bool(statements_of([product]))


class Here:
    """Remembers the threads that it is used from."""

    def __init__(self) -> None:
        self.threads = {threading.current_thread()}

    def apply(self, changes: Sequence[Change], batch: Batch) -> BatchResult:
        self.threads.add(threading.current_thread())
        return BatchResult({})

    def forget(self, before_us: int) -> None:
        self.threads.add(threading.current_thread())

    def close(self) -> None:
        self.threads.add(threading.current_thread())


def test_a_store_is_used_from_one_thread() -> None:
    made: list[Here] = []

    def make() -> Here:
        made.append(Here())
        return made[0]

    store = StoreThread(make)
    store.apply([], Batch("query", 0, 1, 1))
    store.forget(1)
    store.close()

    (thread,) = made[0].threads
    assert thread is not threading.current_thread()


def test_a_store_that_cannot_be_opened_says_so() -> None:
    def refuse() -> Here:
        raise StoreError("the database is not there")

    with pytest.raises(StoreError):
        StoreThread(refuse)


@pytest.mark.parametrize(
    "failure", [ValueError("no"), ConnectionError("no"), asyncio.CancelledError("no")]
)
def test_what_a_package_raises_as_its_store_is_opened_is_told_with_the_query(
    tmp_path: Path,
    products: Sequence[Product],
    failure: BaseException,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*arguments: object) -> None:
        raise failure

    monkeypatch.setattr(stores, "open_solution", refuse)
    spec = load_text(PROJECT)

    with pytest.raises(StoreError) as told:
        open_store(spec, "profile", products, tmp_path / "profile", beside=False)

    said = f'could not open the store of "profile": {type(failure).__name__}: no'
    assert said == told.value.message


@pytest.mark.parametrize("failure", [ValueError("no goodbye"), asyncio.CancelledError()])
def test_a_store_that_cannot_be_closed_is_left_without_its_thread(failure: BaseException) -> None:
    class Broken(Here):
        def close(self) -> None:
            super().close()
            raise failure

    made = Broken()

    StoreThread(lambda: made).close()

    (thread,) = made.threads - {threading.current_thread()}
    assert not thread.is_alive()


def test_a_store_keeps_its_name_with_its_checkpoint(tmp_path: Path) -> None:
    rebuilt = store_name(tmp_path, "profile", beside=True)

    assert rebuilt.startswith("profile_")
    assert rebuilt == store_name(tmp_path, "profile", beside=False)


def test_a_standing_query_names_its_store(tmp_path: Path) -> None:
    assert "profile" == store_name(tmp_path, "profile", beside=False)


def test_a_batch_has_a_time_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    for number in (7, 8):
        text = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1700000000123}\n"at"'
        (tmp_path / "offsets" / str(number)).write_text(text)

    times = [batch_time_us(tmp_path, number) for number in (7, 8)]

    assert [1700000000123007, 1700000000123008] == times


def test_an_outcome_is_staged_as_lines(products: Sequence[Product], tmp_path: Path) -> None:
    outcome = BatchResult(
        {
            "profile": Emitted(
                documents={
                    (1,): SentDocument('{"id":1,"name":"ä"}', 5),
                    (2,): SentDocument(None, 6),
                },
                dead={(3,): ("overflow", "Too many.")},
            )
        },
        relations={"user": {"applied": 2, "stale": 1}},
    )

    write_outcome(outcome, products, tmp_path, time_us=1_500_000)
    counts = counted({"relations": {"user": {"read": 3}}}, outcome, tmp_path)

    lines = (tmp_path / "profile" / "part-00000.jsonl").read_bytes()
    assert (
        '{"key":{"id":1},"value":{"id":1,"name":"ä"},"version":5}\n'
        '{"key":{"id":2},"value":null,"version":6}\n'
    ).encode() == lines
    (letter,) = (tmp_path / "dead_letters" / "part-store.jsonl").read_text().splitlines()
    assert {
        "reason": "overflow",
        "detail": "Too many.",
        "time": "1970-01-01T00:00:01.500000Z",
        "product": "profile",
        "key": '{"id":3}',
    } == json.loads(letter)
    assert {"upserts": 1, "tombstones": 1, "bytes": len(lines)} == counts["documents"]["profile"]
    assert {"read": 3, "stale": 1} == counts["relations"]["user"]


def test_a_store_holds_whole_rows(products: Sequence[Product]) -> None:
    (relation,) = feed_program(products[0].relations).relations

    assert [("id", "long"), ("name", "string")] == [
        (slot.name, str(slot.type)) for slot in relation.columns
    ]
    assert (0,) == relation.key
