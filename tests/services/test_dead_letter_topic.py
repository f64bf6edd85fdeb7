"""Dead letters in a Kafka topic, and records of Kafka put back, on a real broker."""

from __future__ import annotations

import json
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.services.log import Log

from joinery.clients.kafka import Brokers, describe_topic
from joinery.clients.kafka_reader import read_record, read_topic
from joinery.dead_letters.dead_letter import DeadLetter, Resolution, sorted_out
from joinery.dead_letters.folder import PatientDeadLetters
from joinery.dead_letters.replay import ReplayError
from joinery.dead_letters.replay_kafka import replay_kafka
from joinery.dead_letters.topic import DeadLetterTopic, DeadLetterTopicReader
from joinery.dev.kafka import kafka as kafka_service
from joinery.dev.service import Service
from joinery.model.progress import Waiting
from joinery.sinks.protocol import FencedError, SinkUnavailableError

pytestmark = pytest.mark.services


@pytest.fixture
def topic() -> str:
    return f"letters-{uuid.uuid4().hex[:8]}"


def brokers(kafka: Service) -> Brokers:
    return Brokers(kafka.address, {})


def part(folder: Path, *offsets: int, value: str = "{broken") -> Path:
    file = folder / f"{uuid.uuid4().hex}.jsonl"
    lines = (
        {
            "reason": "undecodable",
            "detail": "no JSON",
            "source": "changes",
            "topic": "customer",
            "partition": 0,
            "offset": offset,
            "time": "2026-01-02T03:04:05Z",
            "key": None,
            "value": value,
        }
        for offset in offsets
    )
    file.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return file


def put(writer: Any, *parts: Path, check: Any = lambda: None) -> None:
    writer.put(parts, query_id="q", batch_id=0, check=check)


def places(kafka: Service, topic: str) -> list[tuple[str, str]]:
    reader = DeadLetterTopicReader(brokers(kafka), topic)
    return [(each.place, each.state) for each in sorted_out(reader.lines(), reader.marks())]


def test_a_topic_that_is_not_there_holds_no_letters(kafka: Service, topic: str) -> None:
    assert [] == places(kafka, topic)


def test_letters_are_kept_and_told_in_order(kafka: Service, topic: str, tmp_path: Path) -> None:
    writer = DeadLetterTopic(brokers(kafka), topic)

    put(writer, part(tmp_path, 10, 9), part(tmp_path, 8))
    put(writer, part(tmp_path, 7))

    writer.close()
    expected = [f"partition 0, offset {each}" for each in (7, 8, 9, 10)]
    assert expected == [place for place, _ in places(kafka, topic)]


def test_a_batch_without_letters_needs_no_broker(topic: str, tmp_path: Path) -> None:
    nowhere = DeadLetterTopic(Brokers("127.0.0.1:9", {}), topic)

    put(nowhere, part(tmp_path))


def test_letters_of_a_batch_that_ran_again_are_told_once(
    kafka: Service, topic: str, tmp_path: Path
) -> None:
    writer = DeadLetterTopic(brokers(kafka), topic)
    letters = part(tmp_path, 1, 2)
    put(writer, letters)

    put(writer, letters)

    writer.close()
    assert 2 == len(places(kafka, topic))


def test_marks_are_kept_beside_the_letters(kafka: Service, topic: str, tmp_path: Path) -> None:
    writer = DeadLetterTopic(brokers(kafka), topic)
    put(writer, part(tmp_path, 1, 2))
    writer.close()
    reader = DeadLetterTopicReader(brokers(kafka), topic)
    first = next(sorted_out(reader.lines(), ()))

    reader.mark([Resolution(first.id, "dropped", first.time, "2026-01-03T00:00:00Z")])

    assert ["dropped", "open"] == [state for _, state in places(kafka, topic)]


def test_a_letter_that_is_too_large_keeps_the_beginning_of_its_record(
    kafka: Service, topic: str, tmp_path: Path
) -> None:
    Log(kafka.address, {}).create(topic, settings={"max.message.bytes": "200000"})
    writer = DeadLetterTopic(brokers(kafka), topic)

    put(writer, part(tmp_path, 1, value="x" * 300_000), part(tmp_path, 2))

    writer.close()
    reader = DeadLetterTopicReader(brokers(kafka), topic)
    told = [(each.cut, len(each.raw("value") or b"")) for each in sorted_out(reader.lines(), ())]
    assert [(True, 64 << 10), (False, 7)] == told


def test_a_run_that_was_replaced_writes_no_letters(
    kafka: Service, topic: str, tmp_path: Path
) -> None:
    def replaced() -> None:
        raise FencedError("another run has taken over")

    writer = DeadLetterTopic(brokers(kafka), topic)
    with pytest.raises(FencedError):
        put(writer, part(tmp_path, 1), check=replaced)
    writer.close()

    assert [] == places(kafka, topic)


def test_a_broker_that_is_down_is_told_or_waited_for(topic: str, tmp_path: Path) -> None:
    with kafka_service(tmp_path / "kafka").started() as down:
        writer = DeadLetterTopic(brokers(down), topic)
        put(writer, part(tmp_path, 1))
        down.kill()
        with pytest.raises(SinkUnavailableError):
            put(writer, part(tmp_path, 2))
        writer.close()
        waiting = threading.Event()

        def tell(told: Waiting | None) -> None:
            if told:
                waiting.set()

        patient = PatientDeadLetters(writer, ended=lambda: False, tell=tell)
        thread = threading.Thread(target=put, args=(patient, part(tmp_path, 2)), daemon=True)
        thread.start()
        assert waiting.wait(120)
        down.start()
        thread.join(180)
        patient.close()

        assert not thread.is_alive()
        assert 2 == len(places(down, topic))


def letter(topic: str, offset: int, value: str | None = "{}", **more: Any) -> DeadLetter:
    facts = {"topic": topic, "partition": 0, "offset": offset, "key": None, "value": value}
    return DeadLetter(f"id{offset}", {**facts, **more})


def test_records_are_put_back_beside_their_topic_with_their_places(
    kafka: Service, topic: str
) -> None:
    replay_kafka(brokers(kafka), [letter(topic, 3, key='{"id":1}'), letter(topic, 4, None)])

    told = [
        (each.key, each.value) for each in read_topic(brokers(kafka), f"{topic}.joinery-replay")
    ]
    assert [
        (b'00000000000000000000000000003k{"id":1}', b"{}"),
        (b"00000000000000000000000000004n", None),
    ] == told
    assert describe_topic(brokers(kafka), topic) is None


def test_a_record_is_put_back_once_for_each_time_that_it_was_refused(
    kafka: Service, topic: str
) -> None:
    first, later = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"
    replay_kafka(brokers(kafka), [letter(topic, 3, time=first)])
    replay_kafka(brokers(kafka), [letter(topic, 3, time=first), letter(topic, 4, time=first)])
    replay_kafka(brokers(kafka), [letter(topic, 4, time=later)])

    places = [each.key for each in read_topic(brokers(kafka), f"{topic}.joinery-replay")]

    assert [3, 4, 4] == [int(each[10:29]) for each in places if each]


def test_a_cut_record_is_read_from_its_topic(kafka: Service, topic: str) -> None:
    log = Log(kafka.address, {})
    log.put(topic, {"id": 1, "name": "a long name"})
    log.put(topic, {"id": 2, "name": "a longer name"})

    replay_kafka(brokers(kafka), [letter(topic, 1, '{"id": 2, "na', cut=True)])

    (record,) = read_topic(brokers(kafka), f"{topic}.joinery-replay")
    assert {"id": 2, "name": "a longer name"} == json.loads(record.value or b"")


def test_a_cut_record_that_is_gone_is_refused(kafka: Service, topic: str) -> None:
    Log(kafka.address, {}).create(topic)

    with pytest.raises(ReplayError, match="only the beginning of its record, which is gone"):
        replay_kafka(brokers(kafka), [letter(topic, 99, cut=True)])
    assert read_record(brokers(kafka), topic, 0, 99) is None
