"""Patterns in real-time mode: matches come and go with single rows, also after a kill."""

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
products:
  guessed:
    pattern: login
    by: [user]
    define: {{F: not ok, S: ok}}
    match: "F{{2,}} -> S"
    within: 10m
    fields: {{tries: count(F), since: first(F.at)}}
    group: all
    sink: {{kafka: {{topic: {at}.guessed}}}}
  tried:
    pattern: payment
    by: [card]
    rules: {{r: {{one: threshold, on: [card]}}}}
    define: {{T: amount < r.small, L: amount >= r.small}}
    match: "T -> L"
    within: 40m
    fields: {{tries: count(T), amount: L.amount, small: L.r.small}}
    group: all
    sink: {{kafka: {{topic: {at}.tried}}}}
  rising:
    pattern: payment
    define: {{B: amount > A.amount}}
    match: "A B"
    after: next_row
    fields: {{by: B.amount - A.amount}}
    group: all
    sink: {{kafka: {{topic: {at}.rising}}}}
run:
  checkpoint_interval: 10s
"""


class Bank:
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


def test_matches_follow_single_rows(tmp_path: Path, kafka: Service) -> None:
    truth = LiveTruth.of(tmp_path, PROJECT, kafka.address)

    follow(truth, tmp_path, Bank().some, backlog=40)

    assert all(truth.expected().values()), "there are matches of each pattern"


@pytest.mark.exhaustive
def test_matches_are_right_after_a_kill(tmp_path: Path, kafka: Service) -> None:
    truth = LiveTruth.of(tmp_path, PROJECT, kafka.address)

    follow_through_a_kill(truth, tmp_path, Bank().some, backlog=40)

    assert all(truth.expected().values()), "there are matches of each pattern"
