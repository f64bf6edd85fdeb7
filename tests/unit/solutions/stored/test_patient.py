"""A store-backed solution waits for its store, and repeats on a fresh connection what broke off."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from joinery.model.change import Change
from joinery.model.progress import Waiting
from joinery.retry import Patience
from joinery.solutions.stored.patient import PatientSolution
from joinery.solutions.stored.state import (
    Batch,
    BatchResult,
    StoreError,
    StoreFencedError,
    StoreUnavailableError,
)

QUICK = Patience(first_s=0.001, longest_s=0.01, failures=3, rest_s=0.02)
DOWN = StoreUnavailableError("could not reach the store", detail="Connection refused.")
BATCH = Batch("query", 3, 1, 1)
OUTCOME = BatchResult({}, usage={"requests": 1})


@dataclass(slots=True)
class Store:
    """Answers each call with the next of `answers`, and notes the calls."""

    answers: list[Exception | None]
    calls: list[str] = field(default_factory=list)

    def make(self) -> Store:
        self._answer("make")
        return self

    def apply(self, changes: Sequence[Change], batch: Batch) -> BatchResult:
        self._answer(f"apply {batch.number}")
        return OUTCOME

    def forget(self, before_us: int) -> None:
        self._answer("forget")

    def close(self) -> None:
        self._answer("close")

    def _answer(self, call: str) -> None:
        self.calls.append(call)
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer


def patient(store: Store, **how: Any) -> PatientSolution:
    how = {"patience": QUICK, **how}
    return PatientSolution(store.make, "profile", "the store of profile", **how)


def test_a_batch_that_broke_off_is_repeated_on_a_fresh_connection() -> None:
    store = Store([None, DOWN])

    assert OUTCOME == patient(store).apply([], BATCH)
    assert ["make", "apply 3", "close", "make", "apply 3"] == store.calls


def test_a_store_that_is_away_at_the_start_is_opened_with_the_first_batch() -> None:
    store = Store([DOWN] * 12)

    assert OUTCOME == patient(store).apply([], BATCH)
    assert ["make"] * 13 + ["apply 3"] == store.calls


def test_a_lost_store_that_cannot_be_closed_is_opened_again_all_the_same() -> None:
    store = Store([None, DOWN, StoreError("the connection is gone")])

    patient(store).forget(1)

    assert ["make", "forget", "close", "make", "forget"] == store.calls


def test_what_is_waited_for_is_told_and_so_is_its_end() -> None:
    told: list[Waiting | None] = []

    patient(Store([DOWN]), tell=told.append).apply([], BATCH)

    assert told[0] is not None
    assert ("profile", "the store of profile", 1) == (
        told[0].product,
        told[0].target,
        told[0].attempts,
    )
    assert "could not reach the store. Connection refused." == told[0].reason
    assert told[-1] is None


def test_an_error_that_waiting_cannot_mend_is_raised_at_once() -> None:
    store = Store([None, StoreError("the password is wrong")])

    with pytest.raises(StoreError, match="password"):
        patient(store).apply([], BATCH)

    assert ["make", "apply 3"] == store.calls


def test_a_store_that_refuses_at_the_start_is_an_error_at_once() -> None:
    with pytest.raises(StoreError, match="password"):
        patient(Store([StoreError("the password is wrong")]))


def test_a_run_that_was_replaced_does_not_open_the_store_again() -> None:
    store = Store([None, DOWN])

    def check() -> None:
        if len(store.calls) > 1:
            raise StoreFencedError("taken over")

    with pytest.raises(StoreFencedError):
        patient(store, check=check).apply([], BATCH)

    assert ["make", "apply 3", "close"] == store.calls


def test_a_run_that_ends_ends_the_wait() -> None:
    ended = threading.Event()
    solution = patient(
        Store([DOWN] * 1000),
        ended=ended.is_set,
        tell=lambda waiting: ended.set(),
        patience=Patience(first_s=600.0, longest_s=600.0),
    )

    with pytest.raises(StoreUnavailableError):
        solution.apply([], BATCH)
