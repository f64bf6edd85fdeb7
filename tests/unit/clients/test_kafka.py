"""Properties of Kafka's Java client mean the same to the client of the sink."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from joinery.clients import kafka as kafka_client
from joinery.clients.kafka import (
    Brokers,
    client_properties,
    failure,
    kept_deletes_ms,
    make_consumer,
    sentence_of,
)
from joinery.errors import SinkError, SinkOptionError
from joinery.sinks.protocol import make_sink

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password='


def test_a_reader_without_the_client_of_kafka_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)

    with pytest.raises(SinkError, match="needs the package confluent-kafka") as refused:
        make_consumer(Brokers("localhost:1", {}))

    assert "Install Joinery with the extra kafka." == refused.value.hint


def test_a_login_of_the_java_client_is_understood() -> None:
    found = client_properties({"sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS + '"p\\"q";'})

    assert {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": 'p"q'} == found


def test_certificates_as_pem_are_understood() -> None:
    found = client_properties(
        {"ssl.truststore.type": "PEM", "ssl.truststore.location": "ca.pem", "ssl.keystore.key": "k"}
    )

    assert {"ssl.ca.location": "ca.pem", "ssl.key.pem": "k"} == found


def test_a_certificate_to_present_is_read_from_a_file_of_pem() -> None:
    found = client_properties({"ssl.keystore.type": "PEM", "ssl.keystore.location": "own.pem"})

    assert {"ssl.certificate.location": "own.pem", "ssl.key.location": "own.pem"} == found


def test_a_java_key_store_is_refused_with_what_to_write() -> None:
    with pytest.raises(SinkOptionError) as refused:
        client_properties({"ssl.truststore.location": "ca.jks"})

    assert "ssl.ca.location" in refused.value.hint


def test_a_java_key_store_beside_a_pem_file_is_left_alone() -> None:
    properties = {"ssl.truststore.location": "ca.jks", "ssl.ca.location": "ca.pem"}

    assert {"ssl.ca.location": "ca.pem"} == client_properties(properties)


def test_the_values_of_properties_are_shown_nowhere() -> None:
    brokers = Brokers("b:9092", {"sasl.password": "hunter2"})

    assert "hunter2" not in repr(brokers)
    assert "wrong … given" == brokers.masked("wrong hunter2 given")


def test_the_target_is_told_by_topic_and_brokers() -> None:
    sink = make_sink("kafka", "p", {"topic": "t", "bootstrap": "b:9092"}, Path())

    assert "kafka topic t at b:9092" == sink.target


def test_a_sink_without_brokers_is_refused() -> None:
    with pytest.raises(SinkOptionError, match="bootstrap"):
        make_sink("kafka", "p", {"topic": "t"}, Path())


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("could not write to", "could not write to Kafka at b:9092"),
        ("could not read from", "could not read from Kafka at b:9092"),
    ],
)
def test_a_failure_reads_as_a_sentence(what: str, expected: str) -> None:
    error = KafkaException(KafkaError(KafkaError._TRANSPORT))

    assert expected == getattr(failure(Brokers("b:9092", {}), error, what), "message", "")


def test_a_failure_does_not_tell_a_user_what_a_program_may_call() -> None:
    error = KafkaError(KafkaError._TIMED_OUT, "Timed out, retry call to resume")

    assert "TIMED_OUT: Timed out." == sentence_of(error)


def test_every_failure_is_named_up_to_the_brokers() -> None:
    ends = (" to", " of", " on", " from")
    for module in ("kafka", "kafka_reader", "kafka_producer"):
        text = (Path(kafka_client.__file__).parent / f"{module}.py").read_text()
        named = re.findall(r"""["'](could not [^\n]+?)["'](?=[,)\n])""", text)
        assert [] == [each for each in named if not each.endswith(ends)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"cleanup.policy": "compact", "delete.retention.ms": "5"}, 5),
        ({"cleanup.policy": "compact"}, 86_400_000),
        ({"cleanup.policy": "delete", "retention.ms": "9", "retention.bytes": "-1"}, 9),
        ({"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}, None),
        ({"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "9"}, 0),
        (
            {"cleanup.policy": "compact,delete", "delete.retention.ms": "5", "retention.ms": "-1"},
            5,
        ),
    ],
)
def test_how_long_deletes_stay_follows_from_a_topics_settings(
    settings: dict[str, str], expected: int | None
) -> None:
    assert expected == kept_deletes_ms(settings)


@pytest.mark.parametrize(
    ("properties", "level"),
    [({}, "read_committed"), ({"isolation.level": "read_uncommitted"}, "read_uncommitted")],
)
def test_what_is_committed_is_read_unless_the_project_says_otherwise(
    properties: dict[str, str], level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[dict[str, object]] = []
    monkeypatch.setattr("confluent_kafka.Consumer", taken.append)

    make_consumer(Brokers("b:9092", properties))

    assert [level] == [each["isolation.level"] for each in taken]
