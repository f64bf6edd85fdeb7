"""Which events of an outbox were told before."""

from __future__ import annotations

from pathlib import Path

from joinery.sinks.outbox import NO_POSITION, HighestSent, MarkFolder


def test_an_event_below_the_mark_was_seen() -> None:
    mark = HighestSent().past(5, "a").past(7, "b")

    assert [mark.seen(5, "a"), mark.seen(6, "new"), mark.seen(8, "c")] == [True, True, False]


def test_events_of_one_position_are_told_apart() -> None:
    mark = HighestSent().past(7, "a").past(7, "b")

    assert [mark.seen(7, "a"), mark.seen(7, "b"), mark.seen(7, "c")] == [True, True, False]


def test_an_event_without_a_position_is_always_new() -> None:
    mark = HighestSent().past(7, "a").past(NO_POSITION, "b")

    assert not mark.seen(NO_POSITION, "b")
    assert mark == HighestSent().past(7, "a")


def test_marks_are_those_of_the_batch_before(tmp_path: Path) -> None:
    folder = MarkFolder(tmp_path / "marks")
    first, second = (
        {0: HighestSent().past(5, "a")},
        {0: HighestSent().past(9, "b"), 2: HighestSent()},
    )

    folder.keep(0, first)
    folder.keep(1, second)

    assert [{}, first, second] == [folder.before(each) for each in (0, 1, 2)]


def test_old_marks_are_forgotten(tmp_path: Path) -> None:
    folder = MarkFolder(tmp_path)
    for number in range(12):
        folder.keep(number, {0: HighestSent().past(number, "a")})

    assert len(list(tmp_path.iterdir())) == 5
    assert folder.before(12) == {0: HighestSent().past(11, "a")}
