"""What Kafka's client tells badly is told well; its brokers are met in tests/services."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from joinery.clients import kafka_producer
from joinery.clients.kafka import Brokers, ProducerFencedError
from joinery.clients.kafka_producer import Note, Producer
from joinery.errors import SinkOptionError, SinkUnavailableError

_TASKS = Path("/proc/self/task")


class FencedClient:
    """Does what the client was seen to do when a later producer of its id is there."""

    def init_transactions(self, timeout: float) -> None:
        pass

    def begin_transaction(self) -> None:
        pass

    def flush(self, timeout: float) -> int:
        raise SystemError("flush returned NULL without setting an exception")

    def abort_transaction(self, timeout: float) -> None:
        raise KafkaException(KafkaError(KafkaError._FENCED, "taken over", fatal=True))

    def __len__(self) -> int:
        return 1


def test_a_fatal_error_that_the_client_raises_without_its_reason_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_producer, "make_producer", _fenced)
    producer = Producer(Brokers("nowhere:1", {}), transactional_id="one")
    producer.begin()

    with pytest.raises(ProducerFencedError):
        producer.finish()


def _fenced(brokers: Brokers, **settings: Any) -> FencedClient:
    return FencedClient()


class StuckClient(FencedClient):
    """Does what the client was seen to do after its broker was killed and came back."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def list_topics(self, topic: str, timeout: float) -> None:
        pass

    def send_offsets_to_transaction(self, *given: object) -> None:
        self.over.wait()

    def abort_transaction(self, timeout: float) -> None:
        raise AssertionError("it would wait, too")

    def __len__(self) -> int:
        return 0


class Reader:
    def consumer_group_metadata(self) -> None:
        pass


def test_a_client_that_never_answers_is_an_outage_and_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_producer, "_STUCK_S", 0.1)
    client = StuckClient()
    monkeypatch.setattr(kafka_producer, "make_producer", lambda *_, **__: client)
    monkeypatch.setattr(kafka_producer, "make_consumer", lambda *_: Reader())
    producer = Producer(Brokers("nowhere:1", {}), transactional_id="one")
    producer.begin()

    with pytest.raises(SinkUnavailableError, match="could not write to Kafka at nowhere:1"):
        producer.note(Note("group", "topic"), 1)
    producer.abandon()
    client.over.set()

    assert producer.stuck


def _threads() -> list[str]:
    """Return the names of the threads of Kafka's clients."""
    tasks = (each / "comm" for each in _TASKS.iterdir())
    return [name for each in tasks if (name := each.read_text()).startswith("rdk")]


@pytest.mark.skipif(not _TASKS.exists(), reason="only Linux tells of threads there")
def test_a_producer_that_could_not_begin_does_not_go_on_trying(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_producer, "ANSWER_S", 0.1)
    gc.collect()
    gc.disable()
    try:
        before = _threads()
        with pytest.raises(SinkUnavailableError):
            Producer(Brokers("127.0.0.1:9", {}), transactional_id="one")

        assert before == _threads()
    finally:
        gc.enable()


def test_properties_of_a_sink_go_before_the_settings_of_its_producer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[dict[str, Any]] = []
    monkeypatch.setattr("confluent_kafka.Producer", taken.append)

    Producer(Brokers("b:9092", {"compression.type": "zstd"}), **{"compression.type": "lz4"})

    assert "zstd" == taken[0]["compression.type"]


@pytest.mark.parametrize("most", [1, 2**31 - 1])
def test_a_topic_may_take_less_or_more_than_its_client_may_be_told(most: int) -> None:
    settings: dict[str, Any] = {"message.max.bytes": most}
    producer = Producer(Brokers("127.0.0.1:9", {}), **settings)

    assert producer.send("t", None, b"x" * 100, [])
    assert producer.send("t", None, b"x" * 2_000, []) == (most > 2_000)


def test_a_shorter_transaction_has_no_record_outlive_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_producer, "ANSWER_S", 0.1)
    brokers = Brokers("127.0.0.1:9", {"transaction.timeout.ms": "30000"})

    with pytest.raises(SinkUnavailableError):
        Producer(brokers, transactional_id="one", **{"message.timeout.ms": 60_000})


@pytest.mark.parametrize("acks", ["0", "1"])
def test_properties_may_not_have_a_record_count_that_not_all_brokers_have(acks: str) -> None:
    brokers = Brokers("127.0.0.1:9", {"enable.idempotence": "false", "acks": acks})

    with pytest.raises(SinkOptionError, match="does not accept these properties"):
        Producer(brokers, acks="all")
