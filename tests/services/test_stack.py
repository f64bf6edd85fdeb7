"""The local stack on real servers: they start, survive what tests do to them, and stop."""

from __future__ import annotations

import uuid

import psycopg
import pytest
from confluent_kafka import Consumer, Producer

from joinery.stack.service import Service

pytestmark = pytest.mark.services


def test_a_message_kept_by_kafka_survives_its_kill(kafka: Service) -> None:
    topic, before = f"t-{uuid.uuid4()}", kafka.address
    producer = Producer({"bootstrap.servers": kafka.address})
    producer.produce(topic, b"kept")
    assert producer.flush(30) == 0

    kafka.kill()
    assert not kafka.running
    kafka.start()

    assert kafka.address == before
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.address,
            "group.id": topic,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert message.value() == b"kept"


def test_a_suspended_kafka_answers_again_when_resumed(kafka: Service) -> None:
    kafka.suspend()
    assert kafka.suspended
    assert not kafka.ready

    kafka.resume()

    kafka.wait_until_ready()


def test_a_row_kept_by_postgres_survives_its_kill(postgres: Service) -> None:
    table, before = f"t_{uuid.uuid4().hex}", postgres.address
    with psycopg.connect(postgres.address) as link:
        link.execute(f"CREATE TABLE {table} AS SELECT 1 AS one")

    postgres.kill()
    assert not postgres.running
    postgres.start()

    assert postgres.address == before
    with psycopg.connect(postgres.address) as link:
        assert link.execute(f"SELECT one FROM {table}").fetchone() == (1,)


def test_postgres_decodes_logically(postgres: Service) -> None:
    with psycopg.connect(postgres.address) as link:
        assert link.execute("SHOW wal_level").fetchone() == ("logical",)
