"""The sink suite on a Kafka topic, read as careful readers do: committed records, by version."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
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
from tests.services.sink_variants import parts_of

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


@pytest.mark.parametrize("case", parts_of(each for each in sink_cases() if not each.needs))
def test_a_topic_written_in_parts(case: SinkCase, kafka: Service) -> None:
    keep(case, by_tasks(target(kafka)))


@EACH_BUT_OUTAGES
def test_a_topic_written_without_transactions(case: SinkCase, kafka: Service) -> None:
    keep(case, target(kafka, transactions=False))


@pytest.mark.parametrize("transactions", [True, False])
def test_a_topic_that_takes_less_or_more_during_a_run_is_asked_again(
    kafka: Service, tmp_path: Path, transactions: bool
) -> None:
    topic = f"limits_{uuid.uuid4().hex[:8]}"
    sink = target(kafka, transactions=transactions).make(topic)
    sink.open()
    small = [document(number, 500) for number in range(100)]
    large = document(100, 6_000)

    limit(kafka, topic, most_bytes=2_000)  # less than small documents have together
    lowered = sink.write(batch_of(tmp_path, topic, 1, [*small, large]))
    limit(kafka, topic, most_bytes=50_000)
    raised = sink.write(batch_of(tmp_path, topic, 2, [large]))

    sink.close()
    assert [(large, "document_too_large")] == [(each.row, each.reason) for each in lowered.refused]
    assert f'Topic "{topic}" takes at most 2000 bytes (max.message.bytes).' == (
        lowered.refused[0].detail
    )
    assert () == raised.refused
    assert {each.key for each in (*small, large)} == {
        each.key for each in committed(kafka.address, topic)
    }


def document(number: int, size: int) -> StagedRow:
    """Return a document of a text that nothing compresses."""
    text = "".join(uuid.uuid4().hex for _ in range(size // 32))
    return StagedRow(f'{{"id":{number}}}', json.dumps({"id": number, "text": text}), 7)


def batch_of(folder: Path, topic: str, number: int, rows: Sequence[StagedRow]) -> StagedBatch:
    staged = folder / f"part-{number}.jsonl"
    staged.write_text("".join(each.line() for each in rows), encoding="utf-8")
    return StagedBatch(
        product=topic,
        query=topic,
        query_id="q",
        batch_id=number,
        files=(staged,),
        key=Struct((Field("id", LONG),)),
        value=Struct((Field("id", LONG), Field("text", STRING))),
    )


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


def limit(kafka: Service, topic: str, *, most_bytes: int) -> None:
    """Let the brokers take other records than the sink was told."""
    admin = AdminClient({"bootstrap.servers": kafka.address})
    entry = ConfigEntry(
        "max.message.bytes",
        str(most_bytes),
        incremental_operation=AlterConfigOpType.SET,
    )
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(30)
