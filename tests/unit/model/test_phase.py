"""A run says what it is at, and does not repeat itself."""

from __future__ import annotations

from joinery.model.phase import Phase, Phases


class Clock:
    """Moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def told(*notes: tuple[float, bool]) -> list[Phase]:
    """Return what is told of notes at their times."""
    phases: list[Phase] = []
    clock = Clock()
    watched = Phases(phases.append, clock)
    for at, caught_up in notes:
        clock.now = at
        watched.note(caught_up)
    return phases


def test_a_run_that_has_read_all_is_caught_up_and_idle_after_a_minute() -> None:
    assert told((1, False), (20, True), (50, True), (80, True), (90, True)) == [
        "caught up",
        "idle",
    ]


def test_short_batches_are_not_told() -> None:
    assert told((5, True), (6, False), (7, True), (8, False), (9, True)) == ["caught up"]


def test_a_run_that_falls_behind_is_reading_again() -> None:
    assert told((5, True), (6, False), (17, False), (30, True)) == [
        "caught up",
        "reading",
        "caught up",
    ]


def test_a_batch_ends_idleness() -> None:
    assert told((5, True), (70, True), (71, False), (72, True)) == [
        "caught up",
        "idle",
        "caught up",
    ]
