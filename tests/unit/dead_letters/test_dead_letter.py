"""A dead letter keeps its name when the same is refused again, and is open again then."""

from __future__ import annotations

import json
from typing import Any

import pytest

from joinery.dead_letters.dead_letter import DeadLetter, Resolution, parse_dead_letter, sorted_out

FACTS: dict[str, Any] = {
    "reason": "wrong_type",
    "detail": 'column "id": a text in a long',
    "source": "changes",
    "topic": "customer",
    "file": "1.jsonl",
    "line": 3,
    "time": "2026-01-02T03:04:05Z",
    "key": None,
    "value": '{"id":"x"}',
}


def line(**other: Any) -> bytes:
    return json.dumps({**FACTS, **other}).encode()


def told(*lines: bytes, marks: tuple[Resolution, ...] = ()) -> list[tuple[str, str]]:
    return [(each.place, each.state) for each in sorted_out(lines, marks)]


def test_the_same_record_refused_again_has_the_same_id() -> None:
    first, again = (
        parse_dead_letter(line()),
        parse_dead_letter(line(time="2026-01-03T00:00:00Z", detail="x")),
    )

    assert first.id == again.id


@pytest.mark.parametrize(
    "other", [{"line": 4}, {"topic": "order"}, {"reason": "poison"}, {"value": "{}"}]
)
def test_another_record_has_another_id(other: dict[str, Any]) -> None:
    assert parse_dead_letter(line()).id != parse_dead_letter(line(**other)).id


def test_conflicts_of_two_numbers_of_a_key_are_two_letters() -> None:
    one, again, other = (
        parse_dead_letter(line(reason="sequence_conflict", detail=detail, time=time))
        for detail, time in (("number 7", "1"), ("number 7", "2"), ("number 8", "2"))
    )

    assert one.id == again.id != other.id


def test_a_letter_that_stands_twice_is_told_once() -> None:
    assert [("1.jsonl:3", "open")] == told(line(), line())


def test_letters_come_in_the_order_of_their_places() -> None:
    lines = [line(line=10), line(line=9), line(file="0.jsonl", line=99)]

    assert ["0.jsonl:99", "1.jsonl:9", "1.jsonl:10"] == [place for place, _ in told(*lines)]


def test_what_was_done_about_a_letter_is_told() -> None:
    mark = Resolution(
        parse_dead_letter(line()).id, "dropped", FACTS["time"], "2026-01-04T00:00:00Z"
    )

    assert [("1.jsonl:3", "dropped")] == told(line(), marks=(mark,))


def test_a_letter_that_comes_again_after_its_replay_is_open() -> None:
    mark = Resolution(
        parse_dead_letter(line()).id, "replayed", FACTS["time"], "2026-01-04T00:00:00Z"
    )
    again = line(time="2026-01-02T03:04:05.000001Z")

    assert [("1.jsonl:3", "open")] == told(line(), again, marks=(mark,))


def test_the_latest_mark_counts() -> None:
    id = parse_dead_letter(line()).id
    marks = (
        Resolution(id, "dropped", FACTS["time"], "2026-01-05T00:00:00Z"),
        Resolution(id, "replayed", FACTS["time"], "2026-01-04T00:00:00Z"),
    )

    assert [("1.jsonl:3", "dropped")] == told(line(), marks=marks)


@pytest.mark.parametrize(
    ("facts", "kind", "of", "place"),
    [
        (FACTS, "record", "customer", "1.jsonl:3"),
        (
            {"topic": "user", "partition": 1, "offset": 7},
            "record",
            "user",
            "partition 1, offset 7",
        ),
        ({"product": "profile", "sink": "redis", "key": '{"id":1}'}, "document", "profile", None),
        ({"product": "profile", "key": '{"id":1}'}, "held", "profile", '{"id":1}'),
    ],
)
def test_a_letter_tells_what_it_is_of(
    facts: dict[str, Any], kind: str, of: str, place: str | None
) -> None:
    letter = DeadLetter("x", facts)

    assert (kind, of) == (letter.kind, letter.of)
    assert place in (None, letter.place)


def test_bytes_that_are_no_text_are_kept() -> None:
    letter = DeadLetter("x", {"key": None, "value_base64": "/w=="})

    assert (None, b"\xff") == (letter.raw("key"), letter.raw("value"))
