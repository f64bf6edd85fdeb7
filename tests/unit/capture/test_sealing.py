"""The keys of a capture's lines: another each day, asked for again with growing pauses."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import date

import pytest

from joinery.capture.sealing import LineSeal, Sealing
from joinery.capture.spool import CaptureError
from joinery.vault.keys import VaultUnavailableError

MONDAY, TUESDAY = date(2026, 1, 5), date(2026, 1, 6)
TABLE = "public.customer"
HOUR_S = 3600


class Days:
    """A calendar, a clock and a vault that a test turns, and what was asked of the vault."""

    def __init__(self) -> None:
        self.day, self.now_s, self.away = MONDAY, 0.0, False
        self.asked: list[date] = []

    def seal(self, day: date) -> LineSeal:
        self.asked.append(day)
        if self.away:
            raise VaultUnavailableError("the vault is away")
        return LineSeal(tables=(TABLE,), name=day.isoformat(), key="")

    def sealing(self) -> Sealing:
        return Sealing("db", self.seal, day=lambda: self.day, clock=lambda: self.now_s)

    def pass_hour(self, look: Callable[[], object]) -> None:
        """Let an hour pass in which somebody looks twice a second."""
        for _ in range(2 * HOUR_S):
            look()
            self.now_s += 0.5


def test_another_day_has_another_key_which_is_told_once() -> None:
    days = Days()
    sealing = days.sealing()
    sealing.begin()
    days.day = TUESDAY

    told = [sealing.renewed() for _ in range(3)]

    assert [TUESDAY.isoformat()] == [each.name for each in told if each is not None]
    assert [MONDAY, TUESDAY] == days.asked


def test_a_vault_that_is_away_is_asked_ever_more_seldom_and_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    days = Days()
    sealing = days.sealing()
    sealing.begin()
    days.day, days.away = TUESDAY, True

    with caplog.at_level(logging.WARNING):
        days.pass_hour(sealing.renewed)
    asked = len(days.asked)
    days.away = False
    days.pass_hour(sealing.renewed)

    assert 60 <= asked < 400
    assert ["RUN_VAULT_AWAY the vault is away"] == [
        each.getMessage().partition("trying again: ")[2] for each in caplog.records
    ]
    assert asked + 1 == len(days.asked)


def test_what_is_personal_and_not_sealed_is_refused() -> None:
    sealing = Sealing("db", None)

    with pytest.raises(CaptureError, match=f"table {TABLE} has personal columns now"):
        sealing.check((TABLE,))
    assert sealing.begin() is None
