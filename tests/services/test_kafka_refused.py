"""A producer that the brokers refuse ends its run only if another run is behind that."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

# Its types do not export what it takes from its C part.
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from tests.services.committed import committed

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_reader import read_topic
from joinery.delivery.outlet import PatientSink
from joinery.dev.kafka import kafka as kafka_service
from joinery.dev.service import Service
from joinery.model.progress import Waiting
from joinery.model.type import LONG, Field, Struct
from joinery.sinks.line import StagedRow
from joinery.sinks.outbox import POSITION_HEADER, EventShape, OutboxSink
from joinery.sinks.protocol import FencedError, Sink, StagedBatch, make_sink
from joinery.testing.conformance import SinkTarget, by_tasks

pytestmark = pytest.mark.services
_SOON = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A broker that ends transactions in time, and denies what it is told to."""
    with kafka_service(tmp_path_factory.mktemp("kafka"), properties=_SOON).started() as service:
        yield service


@pytest.fixture
def topic() -> str:
    """The topic of a test, which names its product and its query, too."""
    return f"t{uuid.uuid4().hex[:8]}"


def sink_of(broker: Service, topic: str, writer: str = "driver", **options: object) -> Sink:
    given = {"topic": topic, "bootstrap": broker.address, **options}

    def make(product: str) -> Sink:
        return make_sink("kafka", product, given, Path())

    target = SinkTarget(make=make, read=lambda product: committed(broker.address, product))
    return (by_tasks(target) if writer == "tasks" else target).make(topic)


def staged(folder: Path, topic: str, batch_id: int, check: Callable[[], None]) -> StagedBatch:
    file = folder / f"{batch_id}" / "part-00000.jsonl"
    file.parent.mkdir(parents=True)
    rows = (
        StagedRow(json.dumps({"id": each}), json.dumps({"id": each}), batch_id + 1)
        for each in range(20)
    )
    file.write_text("".join(row.line() for row in rows), encoding="utf-8")
    return StagedBatch(
        product=topic,
        query=topic,
        query_id=topic,
        batch_id=batch_id,
        files=(file,),
        key=Struct((Field("id", LONG),)),
        value=Struct((Field("id", LONG),)),
        epoch=1,
        check=check,
    )


def nothing() -> None:
    """The check of a batch whose run holds its lease."""


class Once:
    """Does something the so-manieth time it is called."""

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        self._at, self._act, self.calls = at, act, 0

    def __call__(self) -> None:
        self.calls += 1
        if self.calls == self._at:
            self._act()


def begin_another(broker: Service, name: str) -> None:
    """Begin a producer, as one does that had asked before an outage."""
    settings = {"bootstrap.servers": broker.address, "transactional.id": name, "log_level": 0}
    Producer(settings).init_transactions(30)


@pytest.mark.parametrize(("writer", "part", "at"), [("driver", "", 2), ("tasks", "-1", 7)])
def test_a_batch_is_sent_once_by_a_run_whose_own_late_producer_got_in_its_way(
    broker: Service, topic: str, tmp_path: Path, writer: str, part: str, at: int
) -> None:
    told: list[Waiting | None] = []
    sink = PatientSink(sink_of(broker, topic, writer), topic, tell=told.append)
    sink.open()
    sink.write(staged(tmp_path, topic, 0, nothing))
    name = f"joinery-{topic}-{topic}-{topic}{part}"
    late = Once(at, lambda: begin_another(broker, name))

    sink.write(staged(tmp_path, topic, 1, late))
    sink.write(staged(tmp_path, topic, 2, nothing))
    sink.close()

    assert late.calls >= at
    assert [1] * 20 + [2] * 20 + [3] * 20 == sorted(
        row.version for row in committed(broker.address, topic)
    )
    assert ["waiting", "over"] == ["waiting" if each else "over" for each in told]


def test_events_are_sent_once_by_a_run_whose_own_late_producer_got_in_its_way(
    broker: Service, topic: str, tmp_path: Path
) -> None:
    shape = EventShape(topic=topic, id=("id",), key="id", value="id")
    events = OutboxSink(Brokers(broker.address, {}), shape, tmp_path / "marks", one_log=True)
    sink = PatientSink(events, topic)
    sink.open()
    sink.write(staged(tmp_path, topic, 0, nothing))
    late = Once(2, lambda: begin_another(broker, f"joinery-{topic}-{topic}-outbox"))

    sink.write(staged(tmp_path, topic, 1, late))
    sink.close()

    assert late.calls > 2
    assert [1] * 20 + [2] * 20 == positions(broker, topic)


def positions(broker: Service, topic: str) -> list[int]:
    """Return the positions of the events in a topic."""
    records = read_topic(Brokers(broker.address, {}), topic)
    return [int(dict(each.headers)[POSITION_HEADER]) for each in records]


def test_a_batch_that_takes_longer_than_a_transaction_may_is_told_as_that(
    broker: Service, topic: str, tmp_path: Path
) -> None:
    told: list[Waiting | None] = []
    properties = dict.fromkeys(("transaction.timeout.ms", "message.timeout.ms"), "1000")
    sink = PatientSink(sink_of(broker, topic, properties=properties), topic, tell=told.append)
    sink.open()
    sink.write(staged(tmp_path, topic, 0, nothing))

    sink.write(staged(tmp_path, topic, 1, Once(2, lambda: time.sleep(2.5))))
    sink.close()

    assert [1] * 20 + [2] * 20 == [row.version for row in committed(broker.address, topic)]
    waiting = next(each for each in told if each)
    assert f"Kafka at {broker.address} aborted a transaction of this run" in waiting.reason
    assert "open for longer than transaction.timeout.ms, 1 s" in waiting.reason


@pytest.mark.parametrize("writer", ["driver", "tasks"])
def test_a_run_whose_lease_says_nothing_is_refused_once_another_has_begun(
    broker: Service, topic: str, tmp_path: Path, writer: str
) -> None:
    first, second = (PatientSink(sink_of(broker, topic, writer), topic) for _ in range(2))
    first.open()
    first.write(staged(tmp_path, topic, 0, nothing))
    second.open()
    second.write(replace(staged(tmp_path, topic, 1, nothing), epoch=2))

    for _ in range(2):
        with pytest.raises(FencedError, match="another run of"):
            first.write(staged(tmp_path / uuid.uuid4().hex, topic, 2, nothing))
    second.write(replace(staged(tmp_path, topic, 3, nothing), epoch=2))
    first.close()
    second.close()

    assert [1] * 20 + [2] * 20 + [4] * 20 == [
        row.version for row in committed(broker.address, topic)
    ]


def test_a_copy_of_a_run_is_refused_once_the_original_has_begun_after_it(
    broker: Service, topic: str, tmp_path: Path
) -> None:
    copy, original = (PatientSink(sink_of(broker, topic), topic) for _ in range(2))
    for batch_id, sink in enumerate((copy, original)):
        sink.open()
        sink.write(staged(tmp_path, topic, batch_id, nothing))

    with pytest.raises(FencedError, match="another run of"):
        copy.write(staged(tmp_path, topic, 2, nothing))
    original.close()
    copy.close()


def test_a_user_who_may_note_nothing_writes_and_is_told_what_cannot_be_known(
    broker: Service, topic: str, tmp_path: Path
) -> None:
    group = f"joinery-{topic}-{topic}-{topic}-run"
    forbid(broker, group)
    sink = PatientSink(sink_of(broker, topic), topic)
    sink.open()
    sink.write(staged(tmp_path, topic, 0, nothing))
    late = Once(2, lambda: begin_another(broker, group.removesuffix("-run")))

    with pytest.raises(FencedError) as ended:
        sink.write(staged(tmp_path, topic, 1, late))
    sink.close()

    assert "the brokers may have aborted a transaction" in ended.value.detail
    assert "Read on the topic" in ended.value.hint
    assert [1] * 20 == [row.version for row in committed(broker.address, topic)]


def forbid(broker: Service, group: str) -> None:
    """Keep everybody from a consumer group."""
    admin = AdminClient({"bootstrap.servers": broker.address})
    rule = AclBinding(
        ResourceType.GROUP,
        group,
        ResourcePatternType.LITERAL,
        "User:ANONYMOUS",
        "*",
        AclOperation.READ,
        AclPermissionType.DENY,
    )
    for done in admin.create_acls([rule]).values():
        done.result(30)
