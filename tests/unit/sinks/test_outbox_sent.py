"""Which events of an outbox are known as sent."""

from __future__ import annotations

from pathlib import Path

from joinery.sinks.outbox_sent import NO_POSITION, SentEvent, SentEvents


def event(position: int, id_: str, partition: int = 0) -> SentEvent:
    return SentEvent(partition, position, f'["{id_}"]')


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_an_event_that_was_sent_is_known(tmp_path: Path) -> None:
    SentEvents(tmp_path / "query").keep(0, [event(110, "b"), event(100, "a")])

    assert {event(110, "b"), event(100, "a")} == SentEvents(tmp_path / "query").before(1)


def test_an_event_below_the_highest_position_is_new_unless_it_was_sent(tmp_path: Path) -> None:
    sent = SentEvents(tmp_path)
    sent.keep(0, [event(110, "b")])

    assert event(100, "a") not in sent.before(1)
    assert event(110, "a") not in sent.before(1)
    assert event(110, "b", partition=1) not in sent.before(1)


def test_an_event_without_a_position_is_always_new(tmp_path: Path) -> None:
    sent = SentEvents(tmp_path)
    sent.keep(0, [event(NO_POSITION, "a")])

    assert [] == [*sent.before(1)]
    assert [] == names(tmp_path)


def test_a_batch_that_runs_again_knows_what_it_knew(tmp_path: Path) -> None:
    sent = SentEvents(tmp_path)
    sent.keep(0, [event(5, "a")])
    sent.before(1)
    sent.keep(1, [event(9, "b")])

    assert {event(5, "a")} == SentEvents(tmp_path).before(1)
    assert {event(5, "a")} == sent.before(1)
    assert {event(5, "a"), event(9, "b")} == sent.before(2)


def test_the_oldest_batches_are_forgotten_once_newer_ones_have_enough_events(
    tmp_path: Path,
) -> None:
    sent = SentEvents(tmp_path, events=3)
    sent.keep(0, [event(1, "a"), event(2, "b")])
    sent.keep(1, [event(3, "c"), event(4, "d")])
    sent.keep(2, [event(5, "e")])

    expected = {event(3, "c"), event(4, "d"), event(5, "e")}
    assert expected == sent.before(3)
    assert expected == SentEvents(tmp_path, events=3).before(3)


def test_no_more_batches_are_remembered_than_declared(tmp_path: Path) -> None:
    sent = SentEvents(tmp_path, batches=2)
    for number in range(4):
        sent.before(number)
        sent.keep(number, [event(number, "a")])

    assert {event(2, "a"), event(3, "a")} == sent.before(4)
    assert {event(2, "a"), event(3, "a")} == SentEvents(tmp_path, batches=2).before(4)


def test_of_a_large_batch_the_last_events_are_remembered(tmp_path: Path) -> None:
    sent = SentEvents(tmp_path, events=2)
    sent.keep(0, [event(1, "a"), event(2, "b"), event(3, "c")])

    assert {event(2, "b"), event(3, "c")} == sent.before(1)


def test_a_file_goes_only_when_no_batch_that_may_run_again_needs_it(tmp_path: Path) -> None:
    sent = SentEvents(tmp_path, batches=2)
    for number in range(4):
        sent.before(number)
        sent.keep(number, [event(number, "a")])

    assert {event(1, "a"), event(2, "a")} == SentEvents(tmp_path, batches=2).before(3)
    assert ["1.jsonl", "2.jsonl", "3.jsonl"] == names(tmp_path)


def test_files_that_are_left_over_go_after_a_restart_too(tmp_path: Path) -> None:
    for number in range(4):
        SentEvents(tmp_path).keep(number, [event(number, "a")])

    sent = SentEvents(tmp_path, batches=2)
    sent.before(4)
    sent.keep(4, [event(4, "a")])

    assert ["2.jsonl", "3.jsonl", "4.jsonl"] == names(tmp_path)


def test_other_files_of_the_folder_are_no_batches(tmp_path: Path) -> None:
    (tmp_path / "refused.jsonl").write_text("{}\n", encoding="utf-8")
    sent = SentEvents(tmp_path)
    sent.before(0)
    sent.keep(0, [event(1, "a")])

    assert {event(1, "a")} == SentEvents(tmp_path).before(1)
