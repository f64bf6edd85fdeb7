"""States from events, versions, patterns and groups in real-time mode, also after a kill."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.services.live_truth import LiveTruth, follow, follow_through_kills

from joinery.dev.service import Service
from joinery.testing.changes import RowChange, delete, insert

pytestmark = [pytest.mark.services, pytest.mark.spark]

PROJECT = """\
name: {at}
sources: {{changes: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{format: json}}
relations:
  entry:
    topic: {at}.entry
    append: true
    key: [id]
    fields: {{id: long, account: string, no: long, type: string, amount: long}}
  rate:
    topic: {at}.rate
    key: [currency]
    fields: {{currency: string, value: long, since: timestamp}}
  login:
    topic: {at}.login
    append: true
    fields: {{id: long, user: string, ok: boolean, at: timestamp}}
    key: [id]
    time: at
  payment:
    topic: {at}.payment
    key: [id]
    fields: {{id: long, card: string, amount: long, at: timestamp}}
    time: at
  threshold: {{topic: {at}.threshold, key: [card], fields: {{card: string, small: long}}}}
  view:
    topic: {at}.view
    append: true
    key: [id]
    fields: {{id: long, page: string, at: timestamp}}
    time: at
products:
  balance:
    fold: entry
    by: [account]
    sequence: no
    state: {{balance: "long = 0", last: long}}
    when:
      In: {{balance: balance + event.amount, last: event.no}}
      Set: {{balance: event.amount}}
    wait: 3 events
    group: states
    sink: {{kafka: {{topic: {at}.balance}}}}
  total:
    fold: entry
    by: [account]
    sequence: no
    state: {{events: "long = 0"}}
    when: {{In: {{events: events + 1}}, Set: {{events: events + 1}}}}
    wait: 0s
    group: states
    sink: {{kafka: {{topic: {at}.total}}}}
  rates:
    history: rate
    valid: since
    group: versions
    sink: {{kafka: {{topic: {at}.rates}}}}
  guessed:
    pattern: login
    by: [user]
    define: {{F: not ok, S: ok}}
    match: "F{{2,}} -> S"
    within: 10m
    fields: {{tries: count(F), since: first(F.at)}}
    group: matches
    sink: {{kafka: {{topic: {at}.guessed}}}}
  tried:
    pattern: payment
    by: [card]
    rules: {{r: {{one: threshold, on: [card]}}}}
    define: {{T: amount < r.small, L: amount >= r.small}}
    match: "T -> L"
    within: 40m
    fields: {{tries: count(T), amount: L.amount, small: L.r.small}}
    group: matches
    sink: {{kafka: {{topic: {at}.tried}}}}
  rising:
    pattern: payment
    define: {{B: amount > A.amount}}
    match: "A B"
    after: next_row
    fields: {{by: B.amount - A.amount}}
    group: matches
    sink: {{kafka: {{topic: {at}.rising}}}}
  cards:
    aggregate: payment
    by: [card]
    values: {{payments: count(*), spent: sum(amount), dearest: max(amount)}}
    group: groups
    sink: {{kafka: {{topic: {at}.cards}}}}
  hours:
    aggregate: view
    by: [page]
    window: {{tumbling: 1h}}
    values: {{views: count(*)}}
    group: groups
    sink: {{kafka: {{topic: {at}.hours}}}}
  visits:
    aggregate: view
    by: [page]
    window: {{session: 70m}}
    values: {{views: count(*)}}
    group: groups
    sink: {{kafka: {{topic: {at}.visits}}}}
run:
  checkpoint_interval: 10s
"""


class Bank:
    """Draws entries that come out of order, twice, or never; and rates for any time."""

    def __init__(self) -> None:
        self._pick = random.Random(4)
        self._id = 0
        self._next = dict.fromkeys("abc", 1)
        self._held: list[RowChange] = []

    def some(self, count: int) -> list[RowChange]:
        return [change for _ in range(count) for change in self._one()]

    def _one(self) -> list[RowChange]:
        pick = self._pick
        if self._held and pick.random() < 0.2:
            return [self._held.pop(pick.randrange(len(self._held)))]
        if pick.random() < 0.4:
            return [self._rate()]
        entry = self._entry()
        if pick.random() < 0.2:
            self._held.append(entry)
            return []
        return [entry] * (2 if pick.random() < 0.1 else 1)

    def _entry(self) -> RowChange:
        account, kind = self._pick.choice("abc"), self._pick.choice(["In", "In", "In", "Set"])
        number, amount = self._next[account], self._pick.randrange(50)
        self._id += 1
        self._next[account] += 2 if self._pick.random() < 0.1 else 1
        told = {"account": account, "no": number, "type": kind, "amount": amount}
        return insert("entry", id=self._id, **told)

    def _rate(self) -> RowChange:
        currency, day = self._pick.choice(["EUR", "USD"]), self._pick.randrange(1, 28)
        since = f"2026-01-{day:02}T00:00:00Z"
        if self._pick.random() < 0.2:
            return delete("rate", currency=currency, since=since)
        return insert("rate", currency=currency, value=self._pick.randrange(4), since=since)


class Cards:
    """Draws logins, payments that are corrected and deleted, and thresholds."""

    def __init__(self) -> None:
        self._pick = random.Random(3)
        self._number = 0

    def some(self, count: int) -> list[RowChange]:
        return [self._one() for _ in range(count)]

    def _one(self) -> RowChange:
        pick = self._pick
        self._number += 1
        card, minute = pick.choice("abc"), pick.randrange(self._number, self._number + 30)
        at = f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00Z"
        kind = pick.random()
        if kind < 0.4:
            return insert("login", id=self._number, user=card, ok=pick.random() < 0.4, at=at)
        if kind < 0.5:
            return insert("threshold", card=card, small=pick.randrange(3, 10))
        if kind < 0.57:
            return delete("payment", id=pick.randrange(120))
        return insert(
            "payment", id=pick.randrange(120), card=card, amount=pick.randrange(12), at=at
        )


class Pages:
    """Draws views of pages, half of them late, so that sessions become one."""

    def __init__(self) -> None:
        self._pick = random.Random(7)
        self._number = 0

    def some(self, count: int) -> list[RowChange]:
        return [self._one() for _ in range(count)]

    def _one(self) -> RowChange:
        self._number += 1
        at = f"2026-01-01T{self._pick.randrange(24):02}:{self._pick.choice([0, 30]):02}:00Z"
        return insert("view", id=self._number, page=self._pick.choice("abc"), at=at)


def some_of_all() -> Callable[[int], list[RowChange]]:
    """Return what draws as many changes of each kind as it is asked for."""
    every = (Bank(), Cards(), Pages())
    return lambda count: [change for each in every for change in each.some(count)]


def test_each_form_follows_single_changes(tmp_path: Path, kafka: Service) -> None:
    # Nothing is killed, and each commit begins all queries' tasks anew.
    seldom = PROJECT.replace("checkpoint_interval: 10s", "checkpoint_interval: 1m")
    truth = LiveTruth.of(tmp_path, seldom, kafka.address)

    follow(truth, tmp_path, some_of_all(), backlog=40)

    assert all(truth.expected().values()), "each product has documents"


@pytest.mark.exhaustive
@pytest.mark.parametrize("kills", [1, 4])
def test_each_form_is_right_after_kills(tmp_path: Path, kafka: Service, kills: int) -> None:
    truth = LiveTruth.of(tmp_path, PROJECT, kafka.address)

    follow_through_kills(truth, tmp_path, some_of_all(), backlog=40, kills=kills)

    assert all(truth.expected().values()), "each product has documents"
