"""The driver of store-backed solutions over rows in memory: cases, random projects, crashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.oracle.compare import chosen_seeds, each_seed, failures, make_crowded_trial, make_trial

from joinery.plan.product import Product
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.state import JoinState
from joinery.testing import conformance
from joinery.testing.conformance import Case, all_cases
from joinery.testing.memory_state import MemoryState
from joinery.testing.stores import (
    Break,
    Opener,
    StoreRunner,
    check_late_record,
    check_replaced,
)

SEEDS = chosen_seeds(30)


def opener() -> Opener:
    states: list[JoinState] = []

    def open_(products: Sequence[Product], wrap: Break[Any]) -> StoreDriver:
        if not states:
            states.append(MemoryState(products))
        return StoreDriver(products, wrap(states[0]), together=3)

    return open_


@pytest.fixture(scope="module")
def problems() -> dict[str, str]:
    outcomes = conformance.examine(StoreRunner(opener(), replay=True))
    return {each.case.sentence: each.problem for each in outcomes}


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_the_driver_holds(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""


def test_all_cases_hold_through_crashes() -> None:
    runner = StoreRunner(opener(), replay=True, crashes=6)

    conformance.check(runner)

    assert runner.crashed > 0


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
def test_a_crash_after_any_call_changes_nothing(seed: int) -> None:
    runner = StoreRunner(opener(), replay=True, crashes=-1)

    assert [] == failures(make_trial([seed]), runner)


def test_a_record_that_is_put_back_replaces_nothing_newer() -> None:
    check_late_record(opener())


def test_many_wide_rows_at_few_join_values() -> None:
    assert [] == failures(make_crowded_trial([0]), StoreRunner(opener()))


def test_what_a_document_that_settles_replaces_is_told() -> None:
    check_replaced(opener())
