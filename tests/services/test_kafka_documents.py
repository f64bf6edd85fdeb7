"""Documents are read back from a topic of Kafka: the newest of each key, whoever wrote it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from tests.services.captured import until
from tests.services.log import Log

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_reader import read_edges
from joinery.dev.service import Service
from joinery.errors import SinkError
from joinery.model.type import LONG, Field, Struct
from joinery.sinks.kafka_log import VERSION_HEADER, standing_keys
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import StagedBatch, make_sink
from joinery.sinks.reader import DocumentReader, Held, make_reader

pytestmark = pytest.mark.services
KEY = Struct((Field("id", LONG),))


class Topic:
    """A topic of documents of one key column `id`."""

    def __init__(self, kafka: Service, folder: Path) -> None:
        self.name, self.bootstrap = f"documents_{uuid.uuid4().hex[:8]}", kafka.address
        self.log, self._folder, self._batches = Log(kafka.address, {}), folder, 0

    @property
    def options(self) -> dict[str, object]:
        return {"topic": self.name, "bootstrap": self.bootstrap, "partitions": 2}

    def write(self, *rows: StagedRow) -> None:
        self._batches += 1
        part = self._folder / f"{self._batches}.part"
        part.write_text("".join(each.line() for each in rows), encoding="utf-8")
        sink = make_sink("kafka", "item", self.options, self._folder)
        sink.open()
        sink.write(
            StagedBatch(
                product="item",
                query="item",
                query_id="q",
                batch_id=self._batches,
                files=(part,),
                key=KEY,
                value=Struct(()),
                epoch=1,
            )
        )
        sink.close()
        # A commit returns before the broker has ended the transaction in each partition.
        until(lambda: self._edges("read_committed") == self._edges("read_uncommitted"))

    def _edges(self, isolation: str) -> Mapping[int, tuple[int, int]]:
        return read_edges(Brokers(self.bootstrap, {"isolation.level": isolation}), self.name)

    def reader(self, **more: object) -> DocumentReader:
        given, folder = {**self.options, **more}, self._folder
        value = Struct(())
        return make_reader("kafka", given, product="item", folder=folder, key=KEY, value=value)


@pytest.fixture
def topic(kafka: Service, tmp_path: Path) -> Topic:
    return Topic(kafka, tmp_path)


def row(number: int, value: str | None, version: int) -> StagedRow:
    return StagedRow(f'{{"id":{number}}}', value, version)


def held(reader: DocumentReader) -> dict[str, Held]:
    return dict(reader.read(sorted(reader.keys())))


def test_the_newest_documents_are_read_back_and_again_what_came_since(topic: Topic) -> None:
    topic.write(*(row(number, f'{{"a":{number}}}', 10) for number in range(20)))
    with closing(topic.reader()) as reader:
        first = held(reader)
        topic.write(row(1, None, 11), row(2, '{"a":"new"}', 11), row(3, '{"a":"old"}', 9))
        then = held(reader)
        spelled = reader.read(['{ "id": 2.0 }', '{"id":99}'])

    numbers = {f'{{"id":{number}}}': Held(f'{{"a":{number}}}', 10) for number in range(20)}
    assert numbers == first
    del numbers['{"id":1}']
    assert {**numbers, '{"id":2}': Held('{"a":"new"}', 11)} == then
    assert {'{ "id": 2.0 }': Held('{"a":"new"}', 11)} == spelled


def test_what_others_wrote_replaces_what_stood_before_it(topic: Topic) -> None:
    topic.log.create(topic.name)  # They may put a key into another partition.
    topic.write(row(1, '{"a":1}', 10), row(2, '{"a":2}', 10), row(3, '{"a":3}', 10))
    topic.log.put(topic.name, '{"a":"theirs"}', key='{"id":1}')
    topic.log.put(topic.name, None, key='{"id":2}')
    topic.log.put(topic.name, b"\xff", key=b"no JSON")
    topic.log.put(topic.name, "no key")

    with closing(topic.reader()) as reader:
        found = held(reader)

    assert Held('{"a":"theirs"}', 10) == found['{"id":1}']
    assert {'{"id":1}', '{"id":3}', '"no JSON"'} == found.keys()


def test_what_retention_has_removed_and_a_topic_made_anew_are_seen(topic: Topic) -> None:
    topic.log.create(topic.name, 2, settings={"cleanup.policy": "delete"})
    topic.write(*(row(number, "{}", 10) for number in range(20)))
    with closing(topic.reader()) as reader:
        assert 20 == len(held(reader))
        for partition in (0, 1):
            topic.log.cut(topic.name, -1, partition)
        assert {} == held(reader)

        topic.write(row(7, "{}", 11))
        assert ['{"id":7}'] == list(held(reader))

        admin = AdminClient({"bootstrap.servers": topic.bootstrap})
        admin.delete_topics([topic.name])[topic.name].result(30)
        until(lambda: topic.name not in admin.list_topics().topics)
        assert {} == held(reader)

        topic.write(row(8, "{}", 1))
        until(lambda: ['{"id":8}'] == list(held(reader)))


def test_what_is_not_committed_is_no_document(topic: Topic) -> None:
    topic.write(row(1, "{}", 10))
    producer = Producer({"bootstrap.servers": topic.bootstrap, "transactional.id": topic.name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic.name, b"{}", b'{"id":2}')
    producer.flush(30)

    with closing(topic.reader()) as reader:
        assert ['{"id":1}'] == list(held(reader))
        producer.abort_transaction(30)
        assert ['{"id":1}'] == list(held(reader))


def test_a_topic_that_the_brokers_refuse_is_not_taken_for_one_that_is_not_there(
    topic: Topic,
) -> None:
    topic.name = "no/topic"
    with closing(topic.reader()) as reader, pytest.raises(SinkError, match="could not read topic"):
        list(reader.keys())


def test_keys_are_told_page_by_page_while_documents_are_read(topic: Topic) -> None:
    topic.write(*(row(number, "{}", 10) for number in range(2500)))
    with closing(topic.reader()) as reader:
        told = reader.keys()
        first = next(told)
        assert {first: Held("{}", 10)} == reader.read([first])
        rest = list(told)

    assert sorted(f'{{"id":{number}}}' for number in range(2500)) == sorted([first, *rest])


def test_a_version_beyond_63_bits_is_none(topic: Topic) -> None:
    topic.log.create(topic.name)
    topic.write(row(1, '{"a":1}', 10))
    producer = Producer({"bootstrap.servers": topic.bootstrap})
    for version in ("9223372036854775808", "9" * 5000):
        headers: list[tuple[str, str | bytes | None]] = [(VERSION_HEADER, version)]
        producer.produce(topic.name, b'{"a":"theirs"}', b'{"id":1}', headers=headers)
    producer.flush(30)

    with closing(topic.reader()) as reader:
        assert {'{"id":1}': Held('{"a":"theirs"}', 10)} == held(reader)


def test_the_keys_that_stand_are_those_whose_highest_version_is_a_document(topic: Topic) -> None:
    topic.log.create(topic.name)
    topic.write(*(row(number, "{}", 10) for number in (1, 2, 3)))
    topic.write(row(1, None, 9), row(2, None, 11))
    topic.log.put(topic.name, "{}", key='{"id":4}')
    topic.log.put(topic.name, None, key='{"id":3}')
    topic.write(row(2, "{}", 10))

    standing = standing_keys(Brokers(topic.bootstrap, {}), topic.name)

    assert {'{"id":1}', '{"id":4}'} == set(standing)


def test_documents_in_avro_are_not_read_back_yet(topic: Topic) -> None:
    with pytest.raises(SinkError, match="in avro cannot be read back"):
        topic.reader(format="avro")
