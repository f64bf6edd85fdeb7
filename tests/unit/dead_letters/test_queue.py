"""Dead letters are found, put back in their places, and dropped, and nothing is lost."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from tests.sqlite_file import sqlite_file

from joinery.dead_letters.queue import DeadLetterQueue, DeadLetterSelectionError, Selection, grouped
from joinery.dead_letters.replay import line_of
from joinery.delivery.action_log import ActionLog
from joinery.delivery.control import who
from joinery.plan.build import build_plan
from joinery.project.load import load_spec

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
  login: {key: [id], append: true, fields: {id: long, name: string}}
products:
  profile: {root: customer, sink: {sqlite: {path: shop.db}}}
streams:
  entered: {from: login, steps: [{select: [name]}], sink: {sqlite: {path: shop.db}}}
"""
NOW = time.time_ns() // 1000
WEEK = 7 * 24 * 3600 * 1_000_000


@pytest.fixture
def queue(tmp_path: Path) -> DeadLetterQueue:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    spec = load_spec(tmp_path / "joinery.yaml")
    return DeadLetterQueue(spec, build_plan(spec))


def write(folder: Path, *letters: dict[str, Any], name: str = "profile-000001-0000000000") -> None:
    path = folder / ".joinery/dead_letters" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in letters))


def record(line: int, value: str | None = "{broken", **other: Any) -> dict[str, Any]:
    return {
        "reason": "undecodable",
        "detail": "no JSON",
        "source": "changes",
        "topic": "customer",
        "file": "1.jsonl",
        "line": line,
        "time": f"2026-01-02T03:04:{line:02}Z",
        "key": None,
        "value": value,
        **other,
    }


def refused(version: int, name: str = "Ada") -> dict[str, Any]:
    return {
        "reason": "document_refused",
        "detail": "why",
        "product": "profile",
        "sink": "",
        "time": "2026-01-02T03:04:05Z",
        "key": '{"id":1}',
        "value": f'{{"id":1,"name":"{name}"}}',
        "version": NOW + version,
    }


def replayed(folder: Path) -> list[bytes]:
    files = sorted((folder / "data/customer").glob("*.replay.jsonl"))
    return [line for file in files for line in file.read_bytes().splitlines()]


def test_a_folder_without_letters_has_none(queue: DeadLetterQueue) -> None:
    assert [] == queue.find(Selection())


def test_letters_are_grouped_by_reason_and_topic(queue: DeadLetterQueue, tmp_path: Path) -> None:
    write(tmp_path, record(3), record(1), record(2, reason="wrong_type"))

    told = [
        (each.reason, each.of, each.count, each.first[-3:], each.last[-3:], each.newest.place)
        for each in grouped(queue.find(Selection()))
    ]

    assert [
        ("undecodable", "customer", 2, "01Z", "03Z", "1.jsonl:3"),
        ("wrong_type", "customer", 1, "02Z", "02Z", "1.jsonl:2"),
    ] == told


def test_a_relation_whose_topic_has_letters_is_told_to_be_asked_for_by_its_topic(
    tmp_path: Path,
) -> None:
    text = PROJECT.replace("customer: {key", "customer: {topic: crm.customer, key")
    (tmp_path / "joinery.yaml").write_text(text)
    spec = load_spec(tmp_path / "joinery.yaml")
    queue = DeadLetterQueue(spec, build_plan(spec))
    before = queue.find(Selection(of="customer"))
    write(tmp_path, record(1, topic="crm.customer"))

    with pytest.raises(DeadLetterSelectionError) as refused:
        queue.find(Selection(of="customer"))

    assert ([], 'Use "crm.customer".') == (before, refused.value.hint)


def test_a_slip_is_found_beside_topics_that_a_pattern_names(tmp_path: Path) -> None:
    text = PROJECT.replace("customer: {key", 'customer: {topic: "pattern:crm[.].*", key')
    text = text.replace("files: {path: data}", "kafka: {bootstrap: 'localhost:9092'}")
    (tmp_path / "joinery.yaml").write_text(text)
    spec = load_spec(tmp_path / "joinery.yaml")
    queue = DeadLetterQueue(spec, build_plan(spec))
    write(tmp_path, record(1, topic="crm.customer"))

    assert [] == queue.find(Selection(of="crm.visitor")) == queue.find(Selection(of="customer"))
    with pytest.raises(DeadLetterSelectionError) as refused:
        queue.find(Selection(of="crn.customer"))
    assert 'Use "crm.customer".' == refused.value.hint


def test_records_go_back_to_their_lines_in_order(queue: DeadLetterQueue, tmp_path: Path) -> None:
    write(tmp_path, record(12), record(3, '{"id":1}', key='{"id":1}'), record(4, None, key="7"))

    kept = queue.replay(queue.find(Selection()))

    assert [] == kept
    assert [
        b'3\t{"key":{"id":1},"value":{"id":1}}',
        b'4\t{"key":7,"value":null}',
        b"12\t{broken",
    ] == replayed(tmp_path)
    (noted,) = ActionLog(tmp_path / ".joinery/checkpoint").actions()
    assert ("dlq replay", ("customer",), "3 dead letters") == (noted.verb, noted.about, noted.told)


def test_what_was_put_back_is_not_listed_any_more(queue: DeadLetterQueue, tmp_path: Path) -> None:
    write(tmp_path, record(1))
    queue.replay(queue.find(Selection()))

    assert [] == queue.find(Selection())
    assert ["replayed"] == [each.state for each in queue.find(Selection(closed=True))]


def test_a_record_whose_mark_was_not_made_is_put_back_once(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    write(tmp_path, record(1), record(2, '{"id":2}'))
    queue.replay(queue.find(Selection()))
    (tmp_path / ".joinery/dead_letters/.marks.jsonl").unlink()  # as a kill before it leaves it
    again = queue.find(Selection())

    kept = queue.replay(again[1:])
    kept += queue.replay(again[:1])

    assert ([], []) == (kept, queue.find(Selection()))
    assert [b"1\t{broken", b'2\t{"id":2}'] == replayed(tmp_path)


def test_another_value_is_put_back_beside_the_first(queue: DeadLetterQueue, tmp_path: Path) -> None:
    write(tmp_path, record(1))
    (letter,) = queue.find(Selection())
    queue.replay([letter.with_value('{"id":"one"}')])
    (letter,) = queue.find(Selection(closed=True))

    queue.replay([letter.with_value('{"id":1}')])

    assert [b'1\t{"id":"one"}', b'1\t{"id":1}'] == replayed(tmp_path)


def test_what_was_refused_again_is_put_back_again(queue: DeadLetterQueue, tmp_path: Path) -> None:
    write(tmp_path, record(1))
    queue.replay(queue.find(Selection()))
    write(tmp_path, record(1, time="2026-01-02T03:05:00Z"), name="profile-000001-0000000001")

    assert [] == queue.replay(queue.find(Selection()))

    assert [b"1\t{broken", b"1\t{broken"] == replayed(tmp_path)


def test_a_record_that_was_refused_for_two_reasons_is_put_back_once(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    write(tmp_path, record(1), record(1, reason="wrong_type", time="2026-01-02T03:05:00Z"))

    assert [] == queue.replay(queue.find(Selection()))
    (tmp_path / ".joinery/dead_letters/.marks.jsonl").unlink()
    assert [] == queue.replay(queue.find(Selection()))

    assert [b"1\t{broken"] == replayed(tmp_path)


def test_of_two_who_put_a_letter_back_the_second_is_told_of_the_first(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    write(tmp_path, record(1), record(2))
    seen_by_both = queue.find(Selection())
    queue.replay(seen_by_both[:1], by="ada")

    (kept,) = queue.replay([each.with_value('{"id":3}') for each in seen_by_both])

    assert "1.jsonl:1" == kept.letter.place
    assert re.fullmatch("it was replayed meanwhile, at 2.* by ada", kept.why)
    assert [b"1\t{broken", b'2\t{"id":3}'] == replayed(tmp_path)


def test_what_is_dropped_stays_where_it_is(queue: DeadLetterQueue, tmp_path: Path) -> None:
    write(tmp_path, record(1), record(2))
    queue.drop(queue.find(Selection())[:1])

    assert ["1.jsonl:2"] == [each.place for each in queue.find(Selection())]
    assert 2 == len(queue.find(Selection(closed=True)))


def test_who_did_it_is_kept(queue: DeadLetterQueue, tmp_path: Path) -> None:
    write(tmp_path, record(1), record(2), record(3))
    queue.drop(queue.find(Selection())[:1], by="ada")
    queue.replay(queue.find(Selection())[:1], by="ben")
    queue.drop(queue.find(Selection()))

    done = [(each.state, each.by) for each in queue.find(Selection(closed=True))]
    assert [("dropped", "ada"), ("replayed", "ben"), ("dropped", who())] == done


def test_a_record_is_put_back_without_a_plan_and_a_document_is_not(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    write(tmp_path, record(1), refused(1))
    planless = DeadLetterQueue(load_spec(tmp_path / "joinery.yaml"), None)

    kept = planless.replay(planless.find(Selection()))

    assert ["document"] == [each.letter.kind for each in kept]
    assert "Use joinery dlq replay." in kept[0].why
    assert [b"1\t{broken"] == replayed(tmp_path)


def test_a_mark_that_a_crash_cut_off_is_as_if_it_was_never_made(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    write(tmp_path, record(1), record(2))
    with (tmp_path / ".joinery/dead_letters/.marks.jsonl").open("w") as marks:
        marks.write('{"id": "abc", "sta')

    queue.drop(queue.find(Selection())[:1])

    assert ["1.jsonl:2"] == [each.place for each in queue.find(Selection())]


def test_bytes_that_are_no_text_come_back_as_they_were(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    letter = record(1)
    del letter["value"]
    write(tmp_path, {**letter, "value_base64": "e/99"})

    queue.replay(queue.find(Selection()))

    assert [b"1\t{\xff}"] == replayed(tmp_path)


def test_a_record_that_was_cut_is_read_from_its_file(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    file = tmp_path / "data/customer/1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text('{"id":1}\n{"id":2,"name":"a long name"}\n')
    write(tmp_path, record(2, '{"id":2,"na', cut=True))

    queue.replay(queue.find(Selection()))

    assert [b'2\t{"id":2,"name":"a long name"}'] == replayed(tmp_path)


def test_a_cut_record_that_begins_its_file_has_no_byte_order_mark(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    (tmp_path / "data/customer").mkdir(parents=True)
    (tmp_path / "data/customer/1.jsonl").write_bytes(b'\xef\xbb\xbf{"id":1}\n')
    write(tmp_path, record(1, "{", cut=True))

    queue.replay(queue.find(Selection()))

    assert [b'1\t{"id":1}'] == replayed(tmp_path)


def test_a_cut_record_whose_file_is_gone_is_kept(queue: DeadLetterQueue, tmp_path: Path) -> None:
    write(tmp_path, record(2, '{"id":2,"na', cut=True))

    kept = queue.replay(queue.find(Selection()))

    assert ["holds only the beginning of its record" in each.why for each in kept] == [True]
    assert 1 == len(queue.find(Selection()))


def test_a_document_goes_to_the_sink_that_refused_it(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    target = f"sqlite {tmp_path / 'shop.db'}, table profile"
    write(tmp_path, {**refused(7), "sink": target}, {**refused(8, "Ada L."), "sink": target})

    kept = queue.replay(queue.find(Selection()))

    assert [] == kept
    assert [(1, '{"id":1,"name":"Ada L."}', NOW + 8)] == documents(tmp_path)


def test_a_document_older_than_the_sinks_changes_nothing(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    target = f"sqlite {tmp_path / 'shop.db'}, table profile"
    write(tmp_path, {**refused(8, "new"), "sink": target})
    queue.replay(queue.find(Selection()))
    write(tmp_path, {**refused(7, "old"), "sink": target}, name="profile-000001-0000000001")

    kept = queue.replay(queue.find(Selection()))

    assert [] == kept
    assert [(1, '{"id":1,"name":"new"}', NOW + 8)] == documents(tmp_path)


def test_a_document_that_was_cut_is_kept_and_the_others_are_sent(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    target = f"sqlite {tmp_path / 'shop.db'}, table profile"
    cut = {**refused(7), "value": '{"id":1,"name":"Ad', "cut": True}
    whole = {**refused(7, "Ben"), "key": '{"id":2}'}
    write(tmp_path, {**cut, "sink": target}, {**whole, "sink": target})

    kept = queue.replay(queue.find(Selection()))

    assert ['{"id":1}'] == [each.letter.facts["key"] for each in kept]
    assert "holds only the beginning of its document" in kept[0].why
    assert [(2, whole["value"], NOW + 7)] == documents(tmp_path)
    assert ['{"id":1}'] == [each.place for each in queue.find(Selection())]


def test_a_document_that_was_cut_is_sent_with_a_value_that_is_given(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    target = f"sqlite {tmp_path / 'shop.db'}, table profile"
    write(tmp_path, {**refused(7), "value": '{"id":1,"na', "cut": True, "sink": target})
    (letter,) = queue.find(Selection())

    kept = queue.replay([letter.with_value('{"id":1,\n "name":"Ada"}')])

    assert [] == kept
    assert [(1, '{"id":1,  "name":"Ada"}', NOW + 7)] == documents(tmp_path)


@pytest.mark.parametrize(
    ("broken", "line"),
    [
        ('{"key":{"id":1},"value":{"id":1}', '{"key":{"id":1}, "value":{"id":1}}'),
        ('{"id":"x"}', '{"key":null,"value":{"key":{"id":1}, "value":{"id":1}}}'),
    ],
)
def test_what_is_given_for_a_line_that_is_no_json_may_have_a_key(
    queue: DeadLetterQueue, tmp_path: Path, broken: str, line: str
) -> None:
    write(tmp_path, record(4, broken))
    (letter,) = queue.find(Selection())

    kept = queue.replay([letter.with_value('{"key":{"id":1},\n"value":{"id":1}}')])

    assert [] == kept
    assert [f"4\t{line}".encode()] == replayed(tmp_path)


@pytest.mark.parametrize("value", ['{"id":1,"na', "[1]"])
def test_a_value_that_is_no_document_is_not_sent(
    queue: DeadLetterQueue, tmp_path: Path, value: str
) -> None:
    target = f"sqlite {tmp_path / 'shop.db'}, table profile"
    write(tmp_path, {**refused(7), "sink": target})
    (letter,) = queue.find(Selection())

    kept = queue.replay([letter.with_value(value)])

    assert ["the value is not a JSON object" in each.why for each in kept] == [True]
    assert not (tmp_path / "shop.db").exists()


def test_a_document_of_before_what_sinks_remember_of_deletes_is_kept(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    target = f"sqlite {tmp_path / 'shop.db'}, table profile"
    write(tmp_path, {**refused(-WEEK - 1), "sink": target}, {**refused(-WEEK - 2), "sink": target})

    kept = queue.replay(queue.find(Selection()))

    assert 2 == len(kept)
    assert "its root may have been deleted since: it is older than 7d" in kept[0].why
    assert not documents(tmp_path)
    assert 2 == len(queue.find(Selection()))


def test_an_event_of_a_stream_is_sent_however_old(queue: DeadLetterQueue, tmp_path: Path) -> None:
    target = f"sqlite {tmp_path / 'shop.db'}, table entered"
    write(tmp_path, {**refused(-2 * WEEK), "product": "entered", "sink": target})

    kept = queue.replay(queue.find(Selection()))

    assert [] == kept
    assert [(1, '{"id":1,"name":"Ada"}', NOW - 2 * WEEK)] == documents(tmp_path, "entered")


def documents(folder: Path, table: str = "profile") -> list[Any]:

    with sqlite_file(folder / "shop.db") as database:
        there = database.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        return database.execute(f"SELECT * FROM {table}").fetchall() if there else []


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"product": "profile"}, "sent by itself once it is back within its limits"),
        ({"product": "profile", "sink": "redis a"}, 'has no sink "redis a" any more'),
        ({"product": "gone", "sink": "redis a"}, 'no product "gone"'),
        ({"source": "gone"}, 'no source "gone"'),
    ],
)
def test_what_cannot_be_put_back_is_told_and_stays_open(
    queue: DeadLetterQueue, tmp_path: Path, other: dict[str, Any], why: str
) -> None:
    write(tmp_path, {**record(1), "version": 1, **other})

    kept = queue.replay(queue.find(Selection()))

    assert [True] == [why in each.why for each in kept]
    assert 1 == len(queue.find(Selection()))


def test_an_event_that_an_outbox_could_not_send_is_not_put_back(tmp_path: Path) -> None:
    text = (
        "name: shop\n"
        'sources: {changes: {kafka: {bootstrap: "localhost:9092"}}}\n'
        "relations: {event: {topic: event, key: [id], fields: {id: string, body: string}}}\n"
        "products:\n"
        "  events:\n"
        "    outbox: {relation: event, key: id, value: body}\n"
        '    sink: {kafka: {topic: "{id}"}}\n'
    )
    (tmp_path / "joinery.yaml").write_text(text)
    spec = load_spec(tmp_path / "joinery.yaml")
    queue = DeadLetterQueue(spec, build_plan(spec))
    target = "kafka topics {id} at localhost:9092"
    write(tmp_path, {**refused(1), "product": "events", "sink": target})

    (kept,) = queue.replay(queue.find(Selection()))

    assert kept.why.startswith(
        'product "events" is an outbox, whose refused events are not replayed'
    )
    assert 1 == len(queue.find(Selection()))


def test_an_id_that_is_not_there_or_not_the_only_one_is_refused(
    queue: DeadLetterQueue, tmp_path: Path
) -> None:
    write(tmp_path, *(record(each) for each in range(1, 40)))

    with pytest.raises(DeadLetterSelectionError, match='there is no dead letter "zz"'):
        queue.find(Selection(ids=("zz",)))
    with pytest.raises(DeadLetterSelectionError, match='"" is the beginning of 39 dead letters'):
        queue.find(Selection(ids=("",)))


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        (None, b'{"id":1}', b'{"id":1}'),
        (None, b'{\n "id":1}', b'{  "id":1}'),
        (b"1", b"{}", b'{"key":1,"value":{}}'),
        (None, b'{"key":1,"value":2}', b'{"key":null,"value":{"key":1,"value":2}}'),
        (None, None, b'{"key":null,"value":null}'),
        pytest.param(None, b"[" * 9000, b"[" * 9000, id="nested deeper than Python reads"),
    ],
)
def test_a_line_is_read_as_the_same_key_and_value(
    key: bytes | None, value: bytes | None, line: bytes
) -> None:
    assert line == line_of(key, value)
