"""What Kafka's client tells badly is told well; its brokers are met in tests/services."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from joinery.clients import kafka_producer
from joinery.clients.kafka import Brokers
from joinery.clients.kafka_producer import Producer
from joinery.sinks.protocol import FencedError


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

    with pytest.raises(FencedError):
        producer.finish()


def _fenced(brokers: Brokers, **settings: Any) -> FencedClient:
    return FencedClient()
