"""Join state over any key-value store: rows, who joins them, and what a crash leaves."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
from tests.unit.solutions.key_value.broken import BrokenStore

from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.semantics.document import SentDocument
from joinery.solutions.key_value.memory import MemoryStore
from joinery.solutions.key_value.state import KeyValueJoinState
from joinery.solutions.key_value.store import Address
from joinery.solutions.stored.state import (
    Batch,
    Emitted,
    StoreBehindError,
    StoredRow,
    StoreError,
    StoreFencedError,
)
from joinery.testing.conformance.project import load_text

PRODUCT: Product = build_plan(
    load_text("""
relations:
  user: {key: [email], fields: {email: string, name: string}, unique: [[name]]}
  star: {key: [name, repo], fields: {name: string, repo: int}}
  repo: {key: [id], fields: {id: long, title: string}}
products:
  p:
    root: user
    embed:
      stars: {many: star, on: [name], embed: {r: {one: repo, on: {id: repo}}}}
    sink: {files: {path: out}}
""")
).products[0]


def batch(number: int, *, epoch: int = 1, query_id: str = "q") -> Batch:
    return Batch(query_id, number, epoch, number * 1_000_000)


def row(**columns: Any) -> StoredRow:
    return StoredRow(columns, True, None, False, 1)


def gone(*, changed_us: int = 1) -> StoredRow:
    return StoredRow(None, False, 7, True, changed_us)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def state(store: MemoryStore) -> KeyValueJoinState:
    state = KeyValueJoinState([PRODUCT], store)
    state.begin(batch(0))
    return state


def entries(store: MemoryStore, head: bytes) -> set[tuple[bytes, bytes]]:
    return {(p, s) for p, sorts in store._partitions.items() if p.startswith(head) for s in sorts}


def test_a_row_comes_back_as_it_was_stored(state: KeyValueJoinState) -> None:
    ann = StoredRow({"email": "a", "name": None}, False, 2**62, True, 9, (1, 2**62))
    state.write("user", {("a",): ann, ("b",): gone()})
    state.begin(batch(0))

    assert {("a",): ann, ("b",): gone()} == state.rows("user", [("a",), ("b",), ("c",)])


def test_rows_are_found_by_either_side_of_an_edge(state: KeyValueJoinState) -> None:
    state.write("user", {("a",): row(email="a", name="ann"), ("b",): row(email="b", name="ann")})
    state.write("star", {("ann", 1): row(name="ann", repo=1), ("bob", 1): row(name="bob", repo=1)})

    users = state.matching("user", ("name",), [("ann",), ("no",)])
    assert ["a", "b"] == sorted(each["email"] for each in users)
    assert ["ann", "bob"] == sorted(
        each["name"] for each in state.matching("star", ("repo",), [(1,)])
    )


def test_rows_are_found_by_their_key(state: KeyValueJoinState) -> None:
    state.write("repo", {(1,): row(id=1, title="x"), (2,): StoredRow(None, False, 1, True, 1)})

    assert [{"id": 1, "title": "x"}] == state.matching("repo", ("id",), [(1,), (2,), (3,)])


def test_a_key_in_another_order_is_a_key(state: KeyValueJoinState) -> None:
    state.write("star", {("ann", 1): row(name="ann", repo=1)})

    assert [{"name": "ann", "repo": 1}] == state.matching("star", ("repo", "name"), [(1, "ann")])


def test_a_moved_row_leaves_its_old_join_value(
    state: KeyValueJoinState, store: MemoryStore
) -> None:
    state.write("user", {("a",): row(email="a", name="ann")})
    state.write("user", {("a",): row(email="a", name="bob")})

    assert [] == state.matching("user", ("name",), [("ann",)])
    assert {(b'0/by/user/name/["bob"]', b'["a"]')} == entries(store, b"0/by/")


@pytest.mark.parametrize(
    "after",
    [
        row(email="a", name=None),
        gone(),
        StoredRow({"email": "a", "name": "ann"}, False, None, False, 1),
    ],
    ids=["null", "deleted", "hidden"],
)
def test_a_row_that_joins_nothing_leaves_the_auxiliary_table(
    after: StoredRow, state: KeyValueJoinState, store: MemoryStore
) -> None:
    state.write("user", {("a",): row(email="a", name="ann")})
    state.begin(batch(0))
    state.write("user", {("a",): after})

    assert set() == entries(store, b"0/by/")
    assert [] == state.matching("user", ("name",), [("ann",)])


@pytest.mark.parametrize("at", range(6))
def test_after_a_crash_in_a_write_both_values_are_right_in_the_end(at: int) -> None:
    store = MemoryStore()
    first = KeyValueJoinState([PRODUCT], store)
    first.begin(batch(0))
    first.write("user", {(n,): row(email=n, name=f"old{n}") for n in "abcdef"})
    first.acknowledge(batch(0), {})
    moved = {(n,): row(email=n, name=f"new{n}") for n in "abcdef"}
    broken = KeyValueJoinState([PRODUCT], BrokenStore(store, at=at, random=Random(at)))

    for again in (broken, KeyValueJoinState([PRODUCT], store)):
        try:
            again.begin(batch(1))
            again.matching("user", ("name",), [(f"old{n}",) for n in "abcdef"])
            again.write("user", moved)
        except StoreError:
            pass

    after = KeyValueJoinState([PRODUCT], store)
    after.begin(batch(1))
    found = after.matching(
        "user", ("name",), [(f"{age}{n}",) for n in "abcdef" for age in ("old", "new")]
    )
    assert [f"new{n}" for n in "abcdef"] == sorted(each["name"] for each in found)
    after.write("user", {})
    assert {(b'0/by/user/name/["new%c"]' % n, b'["%c"]' % n) for n in b"abcdef"} == entries(
        store, b"0/by/"
    )


def test_marks_of_all_tries_are_pending_until_the_batch_is_acknowledged(store: MemoryStore) -> None:
    for roots in ({("a",), ("b",)}, {("c",)}):
        state = KeyValueJoinState([PRODUCT], store)
        state.begin(batch(0))
        state.mark({"p": roots})

    assert {"p": {("a",), ("b",), ("c",)}} == state.pending()

    state.acknowledge(batch(0), {})
    assert {} == state.pending()


SENT = Emitted(
    documents={("a",): SentDocument('{"n":1}\n', 5), ("b",): SentDocument(None, 6)},
    dead={("c",): ("overflow", "More rows.")},
    silent={("c",): SentDocument('{"n":2}', 3, failing=True)},
)


def test_an_acknowledged_batch_tells_again_what_it_sent(store: MemoryStore) -> None:
    state = KeyValueJoinState([PRODUCT], store)
    assert not state.begin(batch(0))
    state.acknowledge(batch(0), {"p": SENT})

    again = KeyValueJoinState([PRODUCT], store)
    assert again.begin(batch(0))
    assert {"p": SENT} == again.emitted(batch(0))
    assert {**SENT.documents, **SENT.silent} == again.sent("p", [("a",), ("b",), ("c",), ("d",)])


@pytest.mark.parametrize("at", range(7))
def test_a_crash_within_acknowledge_leaves_all_of_it_or_nothing(at: int) -> None:
    store = MemoryStore()
    before = KeyValueJoinState([PRODUCT], store)
    before.begin(batch(0))
    before.acknowledge(batch(0), {"p": Emitted({("a",): SentDocument("{}", 1)})})
    broken = KeyValueJoinState([PRODUCT], BrokenStore(store, at=at, random=Random(at)))
    try:
        broken.begin(batch(1))
        broken.mark({"p": {("a",), ("b",), ("c",)}})
        broken.acknowledge(batch(1), {"p": SENT})
    except StoreError:
        pass

    after = KeyValueJoinState([PRODUCT], store)
    acknowledged = after.begin(batch(1))
    held = after.sent("p", [("a",), ("b",), ("c",)])

    if acknowledged:
        assert ({"p": SENT}, {**SENT.documents, **SENT.silent}) == (after.emitted(batch(1)), held)
        assert {} == after.pending()
    else:
        assert {("a",): SentDocument("{}", 1)} == held
        assert after.pending() in ({}, {"p": {("a",), ("b",), ("c",)}})


def test_only_the_last_batch_is_kept(store: MemoryStore) -> None:
    for number in range(3):
        state = KeyValueJoinState([PRODUCT], store)
        state.begin(batch(number))
        state.acknowledge(batch(number), {"p": SENT})

    assert {b"0/emitted/2.0"} == {place for place, _ in entries(store, b"0/emitted/")}


def test_an_older_run_writes_nothing_more(store: MemoryStore) -> None:
    old, new = KeyValueJoinState([PRODUCT], store), KeyValueJoinState([PRODUCT], store)
    old.begin(batch(0, epoch=1))
    new.begin(batch(0, epoch=2))

    with pytest.raises(StoreFencedError):
        old.mark({"p": {("a",)}})
    with pytest.raises(StoreFencedError):
        old.write("user", {("a",): row(email="a", name="ann")})
    with pytest.raises(StoreFencedError):
        old.acknowledge(batch(0, epoch=1), {})
    with pytest.raises(StoreFencedError):
        KeyValueJoinState([PRODUCT], store).begin(batch(0, epoch=1))


class Pausing(MemoryStore):
    """Lets something happen before the entry `done` is put."""

    before_done: Callable[[], None] | None = None

    def put_many(self, entries: Mapping[Address, bytes | None]) -> None:
        happen, self.before_done = self.before_done, None
        if happen is not None and any(place.endswith(b"/done") for place, _ in entries):
            happen()
        elif happen is not None:
            self.before_done = happen
        super().put_many(entries)


def test_a_run_that_was_replaced_while_it_ended_a_batch_alters_no_document() -> None:
    store = Pausing()
    older = Emitted({("a",): SentDocument('{"n":1}', 1)})
    newer = Emitted({("a",): SentDocument('{"n":2}', 2)})
    old, new = KeyValueJoinState([PRODUCT], store), KeyValueJoinState([PRODUCT], store)
    old.begin(batch(0))

    def replaced() -> None:
        for number, emitted in enumerate((older, newer)):
            new.begin(batch(number, epoch=2))
            new.acknowledge(batch(number, epoch=2), {"p": emitted})

    store.before_done = replaced
    with pytest.raises(StoreFencedError):
        old.acknowledge(batch(0), {"p": older})

    assert newer.documents == new.sent("p", [("a",)])


def test_a_checkpoint_behind_the_store_is_refused(store: MemoryStore) -> None:
    state = KeyValueJoinState([PRODUCT], store)
    for number in range(3):
        state.begin(batch(number))
        state.acknowledge(batch(number), {})

    with pytest.raises(StoreError) as refused:
        state.begin(batch(1))

    assert "the store is ahead of the checkpoint" in refused.value.message


def test_a_store_that_is_emptied_within_a_batch_is_told_as_that(
    state: KeyValueJoinState, store: MemoryStore
) -> None:
    store.clear(b"")

    with pytest.raises(StoreError, match="the store of p was emptied") as lost:
        state.mark({"p": {("a",)}})
    assert not isinstance(lost.value, StoreFencedError)


def test_a_store_behind_its_checkpoint_is_refused(state: KeyValueJoinState) -> None:
    with pytest.raises(StoreBehindError, match="behind the checkpoint"):
        state.begin(batch(1))
    state.begin(batch(0))
    state.acknowledge(batch(0), {})

    with pytest.raises(StoreBehindError) as refused:
        state.begin(batch(2))

    detail = "Its last batch is 0, and the checkpoint continues with batch 2."
    assert detail == pickle.loads(pickle.dumps(refused.value)).detail
    assert not state.begin(batch(1))


def test_another_checkpoint_takes_the_store_over_and_begins_with_nothing(
    state: KeyValueJoinState, store: MemoryStore
) -> None:
    state.write("user", {("a",): row(email="a", name="ann")})
    state.acknowledge(batch(0), {"p": SENT})

    other = KeyValueJoinState([PRODUCT], store)
    assert not other.begin(batch(0, query_id="other"))
    assert ({}, {}) == (other.rows("user", [("a",)]), other.sent("p", [("a",)]))
    assert set() == entries(store, b"0/")
    with pytest.raises(StoreFencedError):
        state.mark({"p": {("a",)}})


@pytest.mark.parametrize(("number", "query_id"), [(4, "other"), (1, "other")])
def test_a_store_that_lacks_what_a_checkpoint_committed_is_refused(
    number: int, query_id: str, state: KeyValueJoinState, store: MemoryStore
) -> None:
    state.acknowledge(batch(0), {})

    for held in (store, MemoryStore()):
        with pytest.raises(StoreError, match="does not hold the join state"):
            KeyValueJoinState([PRODUCT], held).begin(batch(number, query_id=query_id))


def test_deletes_are_forgotten_after_their_time(
    state: KeyValueJoinState, store: MemoryStore
) -> None:
    state.write("user", {("a",): gone(changed_us=1), ("b",): gone(changed_us=5)})
    state.write("user", {("c",): gone(changed_us=1)})
    state.write("user", {("c",): row(email="c", name="cy")})

    state.forget(5)
    state.begin(batch(0))

    assert {("b",), ("c",)} == set(state.rows("user", [("a",), ("b",), ("c",)]))
    assert {(b"0/gone/user", b'["b"]')} == entries(store, b"0/gone/")


def test_a_row_under_a_stale_entry_too_is_found_once(
    state: KeyValueJoinState, store: MemoryStore
) -> None:
    state.write("user", {("a",): row(email="a", name="new")})
    store.put_many({(b'0/by/user/name/["old"]', b'["a"]'): b""})

    found = state.matching("user", ("name",), [("old",), ("new",)])
    state.write("user", {})

    assert [{"email": "a", "name": "new"}] == found
    assert {(b'0/by/user/name/["new"]', b'["a"]')} == entries(store, b"0/by/")


def test_a_document_that_went_is_forgotten_after_its_retention(store: MemoryStore) -> None:
    state = KeyValueJoinState([PRODUCT], store)
    went, later = SentDocument(None, 3, False), SentDocument(None, 9, False)
    failing, stands = SentDocument(None, 3, True), SentDocument("{}", 3, False)
    told = {("a",): went, ("b",): later, ("c",): failing, ("d",): stands}
    state.begin(batch(0))
    state.acknowledge(batch(0), {"p": Emitted(told)})
    state.begin(batch(1))

    state.forget(5)

    keys = [("a",), ("b",), ("c",), ("d",)]
    assert {("b",): later, ("c",): failing, ("d",): stands} == state.sent("p", keys)
    assert {(b"0/gone_sent/p", b'["b"]')} == entries(store, b"0/gone_sent/")


def test_a_store_that_was_opened_anew_forgets_with_a_later_batch(
    state: KeyValueJoinState, store: MemoryStore
) -> None:
    state.write("user", {("a",): gone(changed_us=1)})
    state.acknowledge(batch(0), {"p": Emitted({("a",): SentDocument(None, 3)})})
    again = KeyValueJoinState([PRODUCT], store)

    again.forget(5)
    assert not again.begin(batch(1))
    assert [("a",)] == list(again.rows("user", [("a",)]))
    again.forget(5)

    assert ({}, {}) == (again.rows("user", [("a",)]), again.sent("p", [("a",)]))


def test_a_document_that_came_back_is_not_forgotten(store: MemoryStore) -> None:
    state = KeyValueJoinState([PRODUCT], store)
    back = SentDocument("{}", 4, False)
    for number, sent in enumerate((SentDocument(None, 3, False), back)):
        state.begin(batch(number))
        state.acknowledge(batch(number), {"p": Emitted({("a",): sent})})
    state.begin(batch(2))

    state.forget(50)

    assert {("a",): back} == state.sent("p", [("a",)])
    assert set() == entries(store, b"0/gone_sent/")
