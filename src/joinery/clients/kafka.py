"""The door to Kafka's brokers: topics made, records produced, errors told apart.

Properties are named as Kafka's own Java client names them, so that a project file means the
same wherever it runs; librdkafka's other names are taken too.

Invariant: no message holds the value of a property.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from joinery.errors import SinkError, SinkOptionError, SinkUnavailableError, needs_extra

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

DEFAULT_MAX_BYTES = 1_048_588
_DAY_MS = 86_400_000  # Kafka's own default of delete.retention.ms
ANSWER_S = 10.0
_JAAS = re.compile(r'(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')
FENCED = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
_PASSING = (
    "_ALL_BROKERS_DOWN",
    "_TRANSPORT",
    "_RESOLVE",
    "_TIMED_OUT",
    "_TIMED_OUT_QUEUE",
    "_MSG_TIMED_OUT",
    "_PURGE_QUEUE",
    "_PURGE_INFLIGHT",
    "_STATE",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "NOT_COORDINATOR",
    "CONCURRENT_TRANSACTIONS",
    "LEADER_NOT_AVAILABLE",
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "THROTTLING_QUOTA_EXCEEDED",
)
_SECURITY = ("AUTH", "SSL", "SECURITY", "SASL")


class NoAccessError(SinkError):
    """The brokers do not know the user, or do not allow it what was asked."""


class ProducerFencedError(SinkUnavailableError):
    """The brokers take nothing more from a producer.

    Another of its id began: of another run, or of this one and late, as where a request was
    answered only after an outage. Or the brokers ended its transaction, which had timed out.
    """


@dataclass(frozen=True, slots=True)
class Brokers:
    """Where the brokers are, and how to speak to them.

    Attributes:
        bootstrap: `host:port`, with commas between several.
        properties: Of Kafka's client.
    """

    bootstrap: str
    properties: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Brokers({self.bootstrap!r})"

    def settings(self) -> dict[str, Any]:
        """Return librdkafka's settings; it prints nothing by itself."""
        return {
            "log_level": 0,
            "logger": _silent(),
            "socket.connection.setup.timeout.ms": 5_000,
            "reconnect.backoff.max.ms": 2_000,
            **client_properties(self.properties),
            "bootstrap.servers": self.bootstrap,
        }

    def target(self, topic: str) -> str:
        """Return what messages and dead letters call a topic."""
        return f"kafka topic {topic} at {self.bootstrap}"

    def masked(self, text: str) -> str:
        """Return `text` without the values of properties."""
        for value in self.properties.values():
            if len(value) > 3:
                text = text.replace(value, "…")
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic as it stands.

    Attributes:
        max_bytes: The largest record batch it takes.
        compacted: Whether it keeps the newest record of each key.
        deletes_ms: How long it keeps the record of a delete at least, in milliseconds; None for
            ever.
    """

    max_bytes: int = DEFAULT_MAX_BYTES
    compacted: bool = True
    deletes_ms: int | None = _DAY_MS


def client_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties of Kafka's Java client by the names that librdkafka has for them.

    Raises:
        SinkOptionError: A trust store is not a file of PEM certificates.

    Example:
        >>> client_properties({"sasl.jaas.config": 'Plain required username="u" password="p";'})
        {'sasl.username': 'u', 'sasl.password': 'p'}
    """
    named: dict[str, str] = {}
    for name, value in properties.items():
        if name == "sasl.jaas.config":
            found = {part: re.sub(r"\\(.)", r"\1", text) for part, text in _JAAS.findall(value)}
            named |= {f"sasl.{part}": text for part, text in found.items()}
        elif name == "ssl.truststore.location" and _pem(properties, "ssl.truststore.type"):
            named["ssl.ca.location"] = value
        elif name == "ssl.keystore.location" and _pem(properties, "ssl.keystore.type"):
            named |= dict.fromkeys(("ssl.certificate.location", "ssl.key.location"), value)
        elif name in _RENAMED:
            named[_RENAMED[name]] = value
        elif name not in _JAVA_ONLY:
            named[name] = value
    if "ssl.truststore.location" in properties and "ssl.ca.location" not in named:
        raise SinkOptionError(
            'property "ssl.truststore.location" is not a file of PEM certificates',
            hint="Add the property ssl.ca.location, or ssl.truststore.type: PEM.",
        )
    return named


def _pem(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "").upper() == "PEM"


_RENAMED = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "delivery.timeout.ms": "message.timeout.ms",
}
_JAVA_ONLY = (
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
    "ssl.keystore.type",
    "ssl.protocol",
    "ssl.enabled.protocols",
    "sasl.client.callback.handler.class",
    "sasl.login.callback.handler.class",
)


def describe_topic(brokers: Brokers, name: str) -> Topic | None:
    """Return a topic as it stands, or None where there is none.

    Raises:
        SinkUnavailableError: No broker answers.
        SinkError: The brokers refuse us.
    """
    from confluent_kafka import KafkaException, TopicCollection

    # Its types do not export what it takes from its C part.
    from confluent_kafka.admin import (  # type: ignore[attr-defined]
        ConfigResource,
        ResourceType,
    )

    admin = _admin(brokers)
    try:
        admin.describe_topics(TopicCollection([name]), request_timeout=ANSWER_S)[name].result()
    except KafkaException as error:
        if code_of(error) == "UNKNOWN_TOPIC_OR_PART":
            return None
        raise failure(brokers, error, f'could not describe topic "{name}" of') from error
    resource = ConfigResource(ResourceType.TOPIC, name)
    try:
        asked = admin.describe_configs([resource], request_timeout=ANSWER_S)
        settings = {key: entry.value for key, entry in asked[resource].result().items()}
    except KafkaException as error:
        if "AUTHORIZATION" in code_of(error):
            return Topic()  # one may write where one may not look
        raise failure(brokers, error, f'could not describe topic "{name}" of') from error
    return Topic(
        max_bytes=int(settings.get("max.message.bytes") or DEFAULT_MAX_BYTES),
        compacted="compact" in (settings.get("cleanup.policy") or ""),
        deletes_ms=kept_deletes_ms(settings),
    )


def kept_deletes_ms(settings: Mapping[str, str | None]) -> int | None:
    """Return how long a topic keeps the record of a delete at least; None forever.

    Args:
        settings: Of the topic, as the brokers tell them.

    Example:
        >>> kept_deletes_ms({"cleanup.policy": "compact", "delete.retention.ms": "60000"})
        60000
        >>> kept_deletes_ms({"cleanup.policy": "delete", "retention.ms": "-1"})
    """
    policy = settings.get("cleanup.policy") or ""
    limits: list[int] = []
    if "compact" in policy:
        limits.append(int(settings.get("delete.retention.ms") or _DAY_MS))
    if "delete" in policy:
        limits.append(int(settings.get("retention.ms") or 0))
        # By size anything may go at any time.
        limits.append(-1 if int(settings.get("retention.bytes") or -1) < 0 else 0)
    return min((each for each in limits if each >= 0), default=None)


def create_topic(
    brokers: Brokers,
    name: str,
    *,
    partitions: int | None,
    replication: int | None,
    settings: Mapping[str, str],
) -> None:
    """Create a topic; one that another has created meanwhile is as good.

    Raises:
        SinkUnavailableError: No broker answers.
        SinkError: The brokers refuse us.
    """
    from confluent_kafka import KafkaException

    # Its types do not export what it takes from its C part.
    from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

    wanted = NewTopic(
        name,
        num_partitions=partitions or -1,
        replication_factor=replication or -1,
        config=dict(settings),
    )
    admin = _admin(brokers)  # held, since its answers end with it
    try:
        admin.create_topics([wanted], request_timeout=ANSWER_S)[name].result()
    except KafkaException as error:
        if code_of(error) != "TOPIC_ALREADY_EXISTS":
            raise failure(brokers, error, f'could not create topic "{name}" on') from error


def numbers_of_group(brokers: Brokers, group: str) -> list[int]:
    """Return the numbers that are kept as offsets of a consumer group; none where it is unknown.

    Raises:
        SinkUnavailableError: No broker answers.
        NoAccessError: The user may not read the group.
    """
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

    admin = _admin(brokers)  # held, since its answers end with it
    try:
        asked = admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)], request_timeout=ANSWER_S
        )
        found = asked[group].result().topic_partitions
    except KafkaException as error:
        raise failure(brokers, error, "could not read a consumer group of") from error
    return [each.offset for each in found if each.offset >= 0]


def _silent() -> logging.Logger:
    """Return a logger that keeps librdkafka from printing; what it says comes as errors too."""
    logger = logging.getLogger("joinery.clients.librdkafka")
    logger.disabled = True
    return logger


def _admin(brokers: Brokers) -> Any:
    from confluent_kafka.admin import AdminClient

    return _made(brokers, AdminClient)


def _made(brokers: Brokers, client: Callable[[dict[str, Any]], Any], **settings: Any) -> Any:
    from confluent_kafka import KafkaException

    try:
        return client({**brokers.settings(), **settings})
    except KafkaException as error:
        raise SinkOptionError(
            "Kafka's client does not accept these properties",
            detail=brokers.masked(sentence_of(error.args[0])),
            hint="Check properties of the sink.",
        ) from error


def make_producer(brokers: Brokers, *, defaults: Mapping[str, Any], **settings: Any) -> Any:
    """Return a producer of Kafka's client.

    Args:
        brokers: Where.
        defaults: What the brokers' properties may say otherwise.
        settings: What they may not.
    """
    from confluent_kafka import Producer

    return _made(brokers, Producer, **{**defaults, **brokers.settings(), **settings})


def make_consumer(brokers: Brokers, group: str = "joinery") -> Any:
    """Return a consumer that reads from where it is told, tells the end, and commits nothing.

    It reads what is committed, unless the brokers' properties say otherwise, as a run does.
    """
    with needs_extra("kafka", "reading Kafka needs the package confluent-kafka", SinkError):
        from confluent_kafka import Consumer

    return _made(
        brokers,
        Consumer,
        **{
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": brokers.properties.get("isolation.level", "read_committed"),
        },
    )


def topic_partition(topic: str, partition: int, offset: int = -1001, text: str = "") -> Any:
    """Return a place for Kafka's client, with a text; without an offset it is the partition."""
    from confluent_kafka import TopicPartition

    return TopicPartition(topic, partition, offset, text)


def kafka_errors() -> tuple[type[Any], ...]:
    """Return what Kafka's client raises.

    A fatal error comes bare, or as the cause of a SystemError where a callback was under way.
    """
    from confluent_kafka import KafkaError, KafkaException

    return (KafkaException, KafkaError, SystemError)


def error_of(raised: Any) -> Any:
    """Return the KafkaError that an exception is, holds or has for its cause."""
    from confluent_kafka import KafkaError

    if isinstance(raised, SystemError):
        if raised.__cause__ is None:
            raise raised
        return error_of(raised.__cause__)
    return raised if isinstance(raised, KafkaError) else raised.args[0]


def failure(brokers: Brokers, error: Any, what: str, reason: str = "") -> Exception:
    """Return the error of a failure of Kafka's client.

    Args:
        brokers: Who failed.
        error: What the client raised.
        what: What could not be done, up to the brokers: `could not write to`.
        reason: What is known besides.
    """
    known = error_of(error)
    name = known.name()
    message = f"{what} Kafka at {brokers.bootstrap}"
    detail = brokers.masked(" ".join(part for part in (sentence_of(known), reason) if part))
    if name in FENCED:
        return ProducerFencedError(
            f"Kafka at {brokers.bootstrap} aborted a transaction of this run", detail=detail
        )
    if any(word in f"{name} {detail}".upper() for word in _SECURITY):
        hint = "Check properties of the sink, and the user's permissions."
        return NoAccessError(message, detail=detail, hint=hint)
    if name in _PASSING or known.retriable() or known.txn_requires_abort():
        hint = "Check that a broker listens there."
        return SinkUnavailableError(message, detail=detail, hint=hint)
    return SinkError(message, detail=detail, hint="Check topic and properties of the sink.")


def code_of(error: Any) -> str:
    """Return the name of an error's code."""
    return str(error_of(error).name())


def sentence_of(error: KafkaError) -> str:
    """Return an error as a sentence, without what it tells a program to call."""
    text = error.str().removesuffix(", retry call to resume")
    return f"{error.name().strip('_')}: {text}."
