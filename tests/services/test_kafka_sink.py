"""The sink suite on a Kafka topic, read as careful readers do: committed records, by version."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

# Its types do not export what it takes from its C part.
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from tests.services.committed import committed

from joinery.dev.service import Service
from joinery.model.type import LONG, STRING, Field, Struct
from joinery.sinks.kafka import KafkaSink
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import Sink, StagedBatch, make_sink
from joinery.testing.conformance import SinkCase, SinkTarget, by_tasks, sink_cases

pytestmark = pytest.mark.services
TO_END = "a run that is to end does not wait on"
EACH_CASE = pytest.mark.parametrize(
    "case",
    [
        # What waits is the same for all sinks; the producer is another after each outage.
        pytest.param(each, marks=pytest.mark.exhaustive) if each.sentence == TO_END else each
        for each in sink_cases()
    ],
    ids=str,
)
# An outage is the same to both producers.
EACH_BUT_OUTAGES = pytest.mark.parametrize(
    "case",
    [
        pytest.param(each, marks=pytest.mark.exhaustive) if each.needs == "outage" else each
        for each in sink_cases()
    ],
    ids=str,
)


@contextmanager
def cut(kafka: Service) -> Iterator[None]:
    kafka.kill()
    try:
        yield
    finally:
        kafka.start()


def target(kafka: Service, **options: object) -> SinkTarget:
    def make(product: str) -> Sink:
        given = {"topic": product, "bootstrap": kafka.address, **options}
        return make_sink("kafka", product, given, Path())

    return SinkTarget(
        make=make,
        read=lambda product: committed(kafka.address, product),
        outage=lambda: cut(kafka),
    )


def keep(case: SinkCase, examined: SinkTarget) -> None:
    outcome = case.run(examined)
    assert "" == outcome.problem
    if outcome.left_out:
        pytest.skip(outcome.left_out)


@EACH_CASE
def test_a_topic_written_in_transactions(case: SinkCase, kafka: Service) -> None:
    keep(case, target(kafka))


@pytest.mark.parametrize("case", [each for each in sink_cases() if not each.needs], ids=str)
def test_a_topic_written_in_parts(case: SinkCase, kafka: Service) -> None:
    keep(case, by_tasks(target(kafka)))


@EACH_BUT_OUTAGES
def test_a_topic_written_without_transactions(case: SinkCase, kafka: Service) -> None:
    keep(case, target(kafka, transactions=False))


def test_a_document_that_the_brokers_refuse_is_told_by_its_key(
    kafka: Service, tmp_path: Path
) -> None:
    topic = f"lowered_{uuid.uuid4().hex[:8]}"
    sink = target(kafka).make(topic)
    sink.open()
    lower(kafka, topic, most_bytes=2_000)
    staged = tmp_path / "part-00000.jsonl"
    text = "".join(uuid.uuid4().hex for _ in range(200))  # which nothing compresses
    large = StagedRow('{"id":1}', json.dumps({"id": 1, "text": text}), 7)
    staged.write_text(large.line(), encoding="utf-8")
    batch = StagedBatch(
        product=topic,
        query=topic,
        query_id="q",
        batch_id=1,
        files=(staged,),
        key=Struct((Field("id", LONG),)),
        value=Struct((Field("id", LONG), Field("text", STRING))),
    )

    written = sink.write(batch)

    sink.close()
    assert [(large, "document_refused")] == [(each.row, each.reason) for each in written.refused]
    assert [] == committed(kafka.address, topic)


def test_a_part_that_was_committed_is_not_sent_again(kafka: Service, tmp_path: Path) -> None:
    topic = f"parts_{uuid.uuid4().hex[:8]}"
    staged = tmp_path / "part-00000.jsonl"
    staged.write_text(StagedRow('{"id":1}', '{"id":1}', 7).line(), encoding="utf-8")
    batch = StagedBatch(
        product=topic,
        query=topic,
        query_id="q",
        batch_id=4,
        files=(staged,),
        key=Struct((Field("id", LONG),)),
        value=Struct((Field("id", LONG),)),
        epoch=1,
    )

    for again in (batch, replace(batch, epoch=2), replace(batch, epoch=2, batch_id=5)):
        sink = target(kafka).make(topic)
        assert isinstance(sink, KafkaSink)
        sink.open()
        sink.begin(again)
        sink.write_part(again, 0)
        sink.close()

    assert 2 == len(committed(kafka.address, topic))


def lower(kafka: Service, topic: str, *, most_bytes: int) -> None:
    """Let the brokers take smaller records than the sink was told."""
    admin = AdminClient({"bootstrap.servers": kafka.address})
    entry = ConfigEntry(
        "max.message.bytes",
        str(most_bytes),
        incremental_operation=AlterConfigOpType.SET,
    )
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(30)
