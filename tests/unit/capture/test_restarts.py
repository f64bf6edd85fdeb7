"""A capture that cannot begin is waited for; one that keeps ending in vain is given up."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.capture.restarts import Restarts
from joinery.capture.spool import CaptureError
from joinery.model.progress import Waiting


@pytest.fixture
def told() -> list[tuple[str, int] | None]:
    """What is waited for, and after how many attempts; None where that is over."""
    return []


@pytest.fixture
def restarts(told: list[tuple[str, int] | None]) -> Restarts:
    def note(target: str, waiting: Waiting | None) -> None:
        assert target == "source db"
        told.append((waiting.reason, waiting.attempts) if waiting else None)

    return Restarts("db", Path("capture.log"), note)


def test_a_server_that_is_away_is_waited_for_until_the_process_begins(
    restarts: Restarts, told: list[tuple[str, int] | None]
) -> None:
    for _ in range(9):
        assert restarts.away("no answer") <= 5.0
    restarts.begin(1)
    restarts.begin(1)

    assert told == [*(("no answer", each) for each in range(1, 10)), None]


def test_a_process_that_gets_on_is_started_again_however_often_it_ends(
    restarts: Restarts, told: list[tuple[str, int] | None]
) -> None:
    for place in range(9):
        restarts.begin(place)
        restarts.ended("killed", place + 1, passes=False)

    assert told == []


def test_a_process_that_keeps_ending_in_vain_is_given_up(restarts: Restarts) -> None:
    for _ in range(4):
        restarts.begin(1)
        restarts.ended("a bug", 1, passes=False)
    restarts.begin(1)

    with pytest.raises(CaptureError, match='source "db" keeps failing: a bug'):
        restarts.ended("a bug", 1, passes=False)


def test_what_passes_gives_up_nothing_and_is_told_until_the_log_moves(
    restarts: Restarts, told: list[tuple[str, int] | None]
) -> None:
    for _ in range(9):
        restarts.begin(1)
        restarts.ended("no connection to spare", 1, passes=True)
    restarts.begin(1)
    restarts.ended("no connection to spare", 2, passes=True)
    restarts.begin(2)

    assert told == [*(("no connection to spare", each) for each in range(1, 10)), None]
