"""Random logs of events in the reference against `functools.reduce`, after each batch."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import replace
from itertools import pairwise

import pytest
from tests.oracle.compare import each_seed
from tests.oracle.event_logs import random_log, truth

from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import Driver


def product_of(text: str) -> Product:
    return build_plan(load_text(text)).products[0]


@pytest.mark.parametrize("seed", each_seed(range(150), few=40))
def test_the_reference_keeps_the_states_that_reduce_makes(seed: int) -> None:
    log = random_log(seed)
    pick = random.Random(seed)
    cuts = sorted({0, len(log.changes), *(pick.randrange(len(log.changes)) for _ in range(6))})
    driver = Driver(product_of(log.project))

    for first, end in pairwise(cuts):
        driver.send(log.changes[first:end])

        assert truth(log, log.changes[:end]) == driver.documents()

    driver.until_closed()
    assert truth(log, log.changes, until_closed=True) == driver.documents()


@pytest.mark.parametrize("seed", each_seed(range(50), few=15))
def test_what_is_told_twice_or_read_in_another_order_makes_the_same_states(seed: int) -> None:
    log = random_log(seed)
    pick = random.Random(seed)
    product = product_of(log.project)
    relation = product.relations[0]
    parts: list[deque[Change]] = [deque(), deque(), deque()]
    for offset, told in enumerate(log.changes):
        number = pick.randrange(3)
        made = replace(told.change(relation), place=(number, offset), partition=number)
        parts[number].append(made)
    in_order = [each for part in parts for each in part]
    mixed: list[Change] = []
    while any(parts):
        mixed.append(pick.choice([each for each in parts if each]).popleft())
    mixed += pick.sample(mixed, 20)

    states = [Driver(product), Driver(product)]
    states[0].send(in_order)
    for first in range(0, len(mixed), 13):
        states[1].send(mixed[first : first + 13])
    for each in states:
        each.until_closed()

    assert states[0].documents() == states[1].documents()
