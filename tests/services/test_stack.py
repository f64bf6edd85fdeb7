"""The local stack on real servers: they start, survive what tests do to them, and stop."""

from __future__ import annotations

import json
import re
import time
import uuid

import psycopg
import pytest
import redis as redis_client
from confluent_kafka import Consumer, KafkaError, Producer

from joinery.dev.connect import create, delete
from joinery.dev.debezium import capture
from joinery.dev.http import ask
from joinery.dev.service import Service, State

pytestmark = pytest.mark.services


@pytest.mark.exhaustive  # test_kafka_outage.py kills one, too
def test_a_message_kept_by_kafka_survives_its_kill(kafka: Service) -> None:
    topic, before = f"t-{uuid.uuid4()}", kafka.address
    producer = Producer({"bootstrap.servers": kafka.address})
    producer.produce(topic, b"kept")
    assert producer.flush(120) == 0

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
    assert kafka.state is State.SUSPENDED

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


def test_a_value_kept_by_redis_survives_its_kill(redis: Service) -> None:
    redis_client.from_url(redis.address).set("kept", "yes")

    redis.kill()
    redis.start()

    assert redis_client.from_url(redis.address).get("kept") == b"yes"


@pytest.mark.exhaustive  # test_real_time_opensearch.py kills one, too
def test_a_document_kept_by_opensearch_survives_its_kill(opensearch: Service) -> None:
    document = f"{opensearch.address}/t-{uuid.uuid4()}/_doc/1"
    ask(f"{document}?version=7&version_type=external", method="PUT", body={"kept": True})

    opensearch.kill()
    opensearch.start()

    found = ask(document)
    assert isinstance(found, dict)
    assert (found["_source"], found["_version"]) == ({"kept": True}, 7)


@pytest.mark.exhaustive  # test_avro.py and test_kafka_avro_sink.py stop one
def test_a_schema_kept_by_the_registry_survives_its_kill(registry: Service) -> None:
    subject = f"{registry.address}/subjects/t-{uuid.uuid4()}/versions"
    ask(subject, method="POST", body={"schema": json.dumps("string")})

    registry.kill()
    registry.start()

    assert ask(subject) == [1]


def test_dynamodb_answers(dynamodb: Service) -> None:
    assert dynamodb.ready


def test_a_connector_goes_on_where_it_was_after_its_worker_is_killed(
    connect: Service, kafka: Service, postgres: Service
) -> None:
    name = f"t_{uuid.uuid4().hex}"
    with psycopg.connect(postgres.address, autocommit=True) as link:
        link.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, text text DEFAULT 'x')")
        link.execute(f"INSERT INTO {name} VALUES (1, NULL)")
    config = capture(name, database=postgres.address, tables=[f"public.{name}"])
    create(connect, name, config)
    topic = f"{name}.public.{name}"
    consumer = Consumer(
        {"bootstrap.servers": kafka.address, "group.id": name, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    first = _next(consumer)
    with psycopg.connect(postgres.address, autocommit=True) as link:
        link.execute(f"UPDATE {name} SET text = 'y'")
    second = _next(consumer)
    # Without a position past the snapshot, a new worker takes the snapshot again, without the row.
    _await_position(connect, name, of="UPDATE")

    connect.kill()
    with psycopg.connect(postgres.address, autocommit=True) as link:
        link.execute(f"DELETE FROM {name}")
    connect.start()

    following = [_next(consumer)]
    while following[-1] is not None:
        following.append(_next(consumer))
    consumer.close()
    delete(connect, name)
    assert first is not None
    assert (first["op"], first["after"]) == ("r", {"id": 1, "text": None})
    assert second is not None
    assert second["op"] == "u"
    deleted = following[-2]
    assert deleted is not None
    assert deleted["op"] == "d"


def _await_position(worker: Service, connector: str, *, of: str) -> None:
    """Wait until the worker keeps, in its file, that a connector's message `of` a kind is sent."""
    deadline = time.monotonic() + 300
    position = re.compile(rf'{connector}".{{0,200}}"messageType":"{of}"'.encode(), re.DOTALL)
    while not position.search((worker.folder / "data" / "positions").read_bytes()):
        assert time.monotonic() < deadline, "waited for a position"
        time.sleep(0.1)


def _next(consumer: Consumer) -> dict[str, object] | None:
    """Return the next change, or None for a tombstone; its topic may not be there yet."""
    deadline = time.monotonic() + 300
    while (message := consumer.poll(1)) is None or message.error():
        error = None if message is None else message.error()
        assert error is None or error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART, error
        assert time.monotonic() < deadline, "waited for a change"
    value = message.value()
    return None if value is None else json.loads(value)
