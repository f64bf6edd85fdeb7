"""States from events, and versions of rows, in real-time mode, also after a kill."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.services.live_truth import LiveTruth, follow, follow_through_a_kill

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
    group: all
    sink: {{kafka: {{topic: {at}.balance}}}}
  total:
    fold: entry
    by: [account]
    sequence: no
    state: {{events: "long = 0"}}
    when: {{In: {{events: events + 1}}, Set: {{events: events + 1}}}}
    wait: 0s
    group: all
    sink: {{kafka: {{topic: {at}.total}}}}
  rates:
    history: rate
    valid: since
    group: all
    sink: {{kafka: {{topic: {at}.rates}}}}
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


def test_states_and_versions_follow_single_changes(tmp_path: Path, kafka: Service) -> None:
    truth = LiveTruth.of(tmp_path, PROJECT, kafka.address)

    follow(truth, tmp_path, Bank().some, backlog=30)


@pytest.mark.exhaustive
def test_states_and_versions_are_right_after_a_kill(tmp_path: Path, kafka: Service) -> None:
    truth = LiveTruth.of(tmp_path, PROJECT, kafka.address)

    follow_through_a_kill(truth, tmp_path, Bank().some, backlog=30)
