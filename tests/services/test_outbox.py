"""Events of an outbox, through a real broker to the topics of their aggregates."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.services.log import Log, headers_of
from tests.services.project_folder import ProjectFolder

from joinery.dead_letters.queue import DeadLetterQueue, Selection
from joinery.delivery.restored import RestoredError
from joinery.dev.service import Service
from joinery.spark.batch.run import Run, RunOptions, run
from joinery.spark.batch.setup import OutboxRefusedError
from joinery.spark.jar import kafka_jars
from joinery.spark.jvm import add_jars
from joinery.spark.recovery.attempt import QueryFailedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]

PROJECT = """\
name: shop
sources: {{changes: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{source: changes, format: debezium-json}}
relations:
  event:
    topic: {at}.outbox
    key: [id]
    fields:
      {{id: string, aggregatetype: string, aggregateid: string, type: string, payload: string}}
products:
  events: {{outbox: event, sink: {{kafka: {{topic: "{at}.{{aggregatetype}}", partitions: 1}}}}}}
"""


@dataclass(frozen=True, slots=True)
class Shop(ProjectFolder):
    """A project of one outbox, its folder and the prefix of its topics."""

    spark: SparkSession
    log: Log
    at: str

    def event(
        self, lsn: int | None, number: int, kind: str, id_: str, op: str = "c"
    ) -> dict[str, Any]:
        """Return a change of the outbox, as Debezium writes it."""
        row = {
            "id": f"e{number}",
            "aggregatetype": kind,
            "aggregateid": id_,
            "type": "Placed",
            "payload": json.dumps({"n": number, "ü": "é"}, ensure_ascii=False),
        }
        images = {"before": row} if op == "d" else {"after": row}
        return {"op": op, "source": {"lsn": lsn}, **images}

    def tell(self, lsn: int | None, number: int, kind: str, id_: str, op: str = "c") -> None:
        """Append a change of the outbox."""
        self.put(self.event(lsn, number, kind, id_, op))

    def put(self, event: dict[str, Any]) -> None:
        """Append an event of Debezium."""
        row = event.get("after") or event["before"]
        self.log.put(f"{self.at}.outbox", event, key={"id": row["id"]})

    def once(self) -> Run:
        """Run to the end of what there is."""
        ended = run(self.spark, self, once=True)
        assert ended.await_termination(300)
        return ended

    def sent(self, kind: str) -> list[tuple[str, int, dict[str, str]]]:
        """Return the committed events of a topic: key, number and headers."""
        consumer = Consumer({"bootstrap.servers": self.log.bootstrap, "group.id": "reader"})
        place = TopicPartition(f"{self.at}.{kind}", 0, 0)
        consumer.assign([place])
        try:
            return list(_read(consumer, place))
        finally:
            consumer.close()

    def letters(self) -> list[dict[str, Any]]:
        """Return the dead letters."""
        files = sorted((self.folder / ".joinery/dead_letters").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def _read(consumer: Consumer, place: TopicPartition) -> Iterator[tuple[str, int, dict[str, str]]]:
    _, end = consumer.get_watermark_offsets(place, timeout=30)
    while (at := consumer.position([place])[0].offset) < 0 or at < end:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            number = json.loads(message.value() or b"{}")["n"]
            yield (message.key() or b"").decode(), number, headers_of(message)
        elif at < 0 and end == 0:
            return


@pytest.fixture
def shop(spark: SparkSession, kafka: Service, tmp_path: Path) -> Shop:
    """The project on the broker."""
    add_jars(spark, kafka_jars())
    made = Shop(tmp_path, spark, Log(kafka.address, {}), f"t{uuid.uuid4().hex[:8]}")
    text = PROJECT.format(bootstrap=kafka.address, at=made.at)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    made.log.create(f"{made.at}.outbox", settings={"max.message.bytes": "3000000"})
    return made


def test_events_go_to_the_topics_of_their_aggregates_in_order(shop: Shop) -> None:
    for number in range(20):
        shop.tell(100 + number, number, "order" if number % 2 else "parcel", f"a{number % 3}")
        shop.tell(100 + number, number, "order", "a", op="d")

    ended = shop.once()

    orders, parcels = shop.sent("order"), shop.sent("parcel")
    assert list(range(1, 20, 2)) == [number for _, number, _ in orders]
    assert list(range(0, 20, 2)) == [number for _, number, _ in parcels]
    expected = {"id": "e1", "eventType": "Placed", "joinery.position": "101"}
    assert ("a1", 1, expected) == orders[0]
    counts = ended.progress.relations["event"]
    assert (40, 20) == (counts["read"], counts["ignored_deletes"])


def test_what_a_connector_tells_again_is_not_sent_again(shop: Shop) -> None:
    for number in range(5):
        shop.tell(100 + number // 2, number, "order", "a")
    shop.once()
    for number in range(2, 8):
        shop.tell(100 + number // 2, number, "order", "a")
    shop.tell(None, 9, "order", "a")

    ended = shop.once()

    assert [0, 1, 2, 3, 4, 5, 6, 7, 9] == [number for _, number, _ in shop.sent("order")]
    assert {"older": 3} == ended.progress.latest["events"].counters["events"]


def test_events_of_transactions_that_overlap_are_all_sent_once(shop: Shop) -> None:
    shop.tell(110, 0, "order", "a")
    shop.tell(100, 1, "order", "a")
    shop.once()
    shop.tell(110, 0, "order", "a")
    shop.tell(100, 1, "order", "a")
    shop.tell(105, 2, "order", "a")

    ended = shop.once()

    assert [0, 1, 2] == [number for _, number, _ in shop.sent("order")]
    assert {"older": 2} == ended.progress.latest["events"].counters["events"]


def test_a_dead_letter_that_is_put_back_is_sent_once(shop: Shop) -> None:
    mended = shop.event(100, 0, "order", "a")
    shop.put({**mended, "after": {**mended["after"], "payload": 0}})
    shop.tell(101, 1, "order", "a")
    shop.once()
    queue = DeadLetterQueue(shop.spec, shop.plan)
    (letter,) = queue.find(Selection())
    again = replace(letter, facts={**letter.facts, "value": json.dumps(mended)})
    assert [] == queue.replay([again])
    (done,) = queue.find(Selection(closed=True))
    same = replace(done, facts={**letter.facts, "value": json.dumps(mended, indent=1)})
    assert [] == queue.replay([same])

    shop.once()

    assert [1, 0] == [number for _, number, _ in shop.sent("order")]
    assert [] == queue.find(Selection())


def test_a_batch_that_runs_again_after_a_crash_sends_nothing_twice(shop: Shop) -> None:
    shop.tell(100, 0, "order", "a")
    shop.once()
    shop.tell(101, 1, "order", "a")

    # Kafka takes the batch's transaction; what follows it fails, and the batch is not committed.
    (marks,) = (shop.folder / ".joinery/checkpoint/events/outbox").iterdir()
    (marks / ".1.jsonl.part").mkdir()
    with pytest.raises(QueryFailedError):
        shop.once()
    assert [0, 1] == [number for _, number, _ in shop.sent("order")]
    (marks / ".1.jsonl.part").rmdir()
    shop.tell(102, 2, "order", "a")
    shop.once()
    shop.once()

    assert [0, 1, 2] == [number for _, number, _ in shop.sent("order")]


def test_an_event_that_has_no_topic_is_a_dead_letter(shop: Shop) -> None:
    shop.tell(100, 0, "no such topic!", "a")
    shop.tell(101, 1, "order", "a")

    shop.once()

    assert [1] == [number for _, number, _ in shop.sent("order")]
    assert ["unroutable"] == [each["reason"] for each in shop.letters()]


def test_a_refused_event_is_a_dead_letter_also_when_its_batch_runs_again(shop: Shop) -> None:
    shop.log.create(f"{shop.at}.parcel", settings={"max.message.bytes": "2000"})
    shop.tell(100, 0, "order", "a")
    shop.tell(101, 1, "parcel", "a" * 4_000)

    # Kafka takes the batch's transaction; its letters cannot be kept, and it is not committed.
    letters = shop.folder / ".joinery/dead_letters"
    letters.parent.mkdir(exist_ok=True)
    letters.write_text("in the way", encoding="utf-8")
    with pytest.raises(QueryFailedError, match="could not keep dead letters"):
        shop.once()
    assert [0] == [number for _, number, _ in shop.sent("order")]
    letters.unlink()
    shop.once()

    assert [0] == [number for _, number, _ in shop.sent("order")]
    assert ["document_refused"] == [each["reason"] for each in shop.letters()]


def test_an_event_is_refused_by_its_own_size_not_by_that_of_its_batch(shop: Shop) -> None:
    shop.log.create(f"{shop.at}.parcel", settings={"max.message.bytes": "1000"})
    shop.log.create(f"{shop.at}.order", settings={"max.message.bytes": "3000000"})
    for number in range(20):
        shop.tell(100 + number, number, "parcel", "a")
    large = shop.event(200, 20, "order", "a")
    large["after"]["payload"] = json.dumps({"n": 20, "text": "x" * 1_500_000})
    producer = Producer({"bootstrap.servers": shop.log.bootstrap, "message.max.bytes": 3_000_000})
    producer.produce(f"{shop.at}.outbox", json.dumps(large).encode())
    assert producer.flush(120) == 0

    shop.once()

    assert list(range(20)) == [number for _, number, _ in shop.sent("parcel")]
    assert [20] == [number for _, number, _ in shop.sent("order")]
    assert [] == shop.letters()


def test_an_update_of_an_event_is_counted_and_not_sent(shop: Shop) -> None:
    shop.tell(100, 0, "order", "a")
    shop.tell(101, 0, "order", "a", op="u")

    ended = shop.once()

    assert [0] == [number for _, number, _ in shop.sent("order")]
    assert 1 == ended.progress.relations["event"]["ignored_updates"]


def test_an_outbox_cannot_be_rebuilt(shop: Shop) -> None:
    with pytest.raises(OutboxRefusedError, match="cannot be rebuilt"):
        Run(shop.spec, shop.plan, RunOptions(rebuild=True))


def test_an_outbox_whose_checkpoint_was_put_back_leaves_no_event_out(
    shop: Shop, tmp_path: Path
) -> None:
    kept, backup = shop.folder / ".joinery/checkpoint", tmp_path / "backup"
    shop.tell(1, 1, "order", "a")
    shop.once()
    shutil.copytree(kept, backup)
    shop.tell(2, 2, "order", "a")
    shop.once()
    shutil.rmtree(kept)
    shutil.copytree(backup, kept)
    shop.tell(3, 3, "order", "b")

    with pytest.raises(RestoredError, match='query "events" is older than what was sent'):
        shop.once()
    run(shop.spark, shop, once=True, restored=True).await_termination(300)

    assert [1, 2, 2, 3] == [number for _, number, _ in shop.sent("order")]
