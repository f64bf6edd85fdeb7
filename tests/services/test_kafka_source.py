"""Projects that read a real Kafka broker."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from tests.services.authority import Authority
from tests.services.captured import until
from tests.services.committed import committed
from tests.services.log import Log
from tests.services.project_folder import ProjectFolder
from tests.services.secured import PASSWORD, certified_kafka, secured_kafka

from joinery.dev.service import Service
from joinery.model.batch import BatchProgress
from joinery.observe.status import project_status
from joinery.sinks.line import read_rows
from joinery.spark.batch.run import Run, run
from joinery.spark.source.kafka_client import (
    KafkaUnreachableError,
    OpenTransactionError,
    RecordsLostError,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]

PROJECT = """\
name: shop
sources:
  changes: {{kafka: {{bootstrap: "{bootstrap}"{options}}}}}
relations:
  customer: {{topic: {at}.customer, key: [id], fields: {{id: long, name: string}}}}
  order:
    topic: {at}.order
    key: [number]
    fields: {{number: long, customer_id: long, item: string}}
products:
  profile:
    root: customer
    embed: {{orders: {{many: order, on: {{customer_id: id}}, fields: [number, item]}}}}
    sink: {{files: {{path: out}}}}
run: {{max_rows_per_batch: {rows}}}
"""


@dataclass(frozen=True, slots=True)
class Shop(ProjectFolder):
    """A project of customers and orders, its folder and the prefix of its topics."""

    spark: SparkSession
    log: Log
    at: str

    def declare(self, text: str = PROJECT, options: str = "", rows: int = 1000) -> None:
        """Write the project file; `options` are more of the source's."""
        options = f", {options}" if options else ""
        told = text.format(bootstrap=self.log.bootstrap, at=self.at, options=options, rows=rows)
        (self.folder / "joinery.yaml").write_text(told, encoding="utf-8")

    def customer(self, number: int, name: str, **more: Any) -> None:
        """Append a customer."""
        self.log.put(f"{self.at}.customer", {"id": number, "name": name}, **more)

    def order(self, number: int, customer: int, item: str, **more: Any) -> None:
        """Append an order."""
        row = {"number": number, "customer_id": customer, "item": item}
        self.log.put(f"{self.at}.order", row, **more)

    def once(self) -> tuple[Run, list[BatchProgress]]:
        """Run to the end of what there is."""
        batches: list[BatchProgress] = []
        ended = run(self.spark, self, once=True, on_batch=batches.append)
        assert ended.await_termination(300)
        return ended, batches

    def documents(self) -> dict[int, str]:
        """Return the newest documents: `name item,item`."""
        newest: dict[int, str] = {}
        for row in read_rows(sorted((self.folder / "out/profile").glob("*.jsonl"))):
            number = int(str(row.key_values()["id"]))
            newest.pop(number, None)
            if row.value:
                newest[number] = _told(json.loads(row.value))
        return dict(sorted(newest.items()))

    def letters(self) -> list[Mapping[str, Any]]:
        """Return the dead letters."""
        files = sorted((self.folder / ".joinery/dead_letters").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def _told(value: Mapping[str, Any]) -> str:
    items = ",".join(each["item"] for each in value["orders"])
    return f"{value['name']} {items}".strip()


@pytest.fixture
def shop(kafka_spark: SparkSession, kafka: Service, tmp_path: Path) -> Shop:
    """The project on the broker, with topics of its own, which are not there yet."""
    # So long that no other test's topic is near: a name that is misspelt is looked up in all.
    made = Shop(tmp_path, kafka_spark, Log(kafka.address, {}), f"t{uuid.uuid4().hex}")
    made.declare()
    return made


def test_what_a_transaction_took_back_was_never_there(shop: Shop) -> None:
    shop.customer(1, "Ada")
    told = json.dumps({"id": 1, "name": "Eve"})
    producer = Producer({"bootstrap.servers": shop.log.bootstrap, "transactional.id": shop.at})
    producer.init_transactions(60)
    for name, end in (("Eve", producer.abort_transaction), ("Bob", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(f"{shop.at}.customer", told.replace("Eve", name), str(2))
        producer.flush(60)
        end(60)

    ended, _ = shop.once()

    assert {1: "Bob"} == shop.documents()
    assert 2 == ended.progress.totals.read


def test_a_log_read_into_an_open_transaction_has_lost_nothing(shop: Shop) -> None:
    shop.declare(
        options="properties: {isolation.level: read_uncommitted}"
    )  # as versions before did
    shop.customer(1, "Ada")
    producer = Producer({"bootstrap.servers": shop.log.bootstrap, "transactional.id": shop.at})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(f"{shop.at}.customer", json.dumps({"id": 2, "name": "Bob"}), "2")
    producer.flush(60)
    shop.once()
    shop.declare()

    with pytest.raises(OpenTransactionError, match="a transaction that is still open"):
        shop.once()
    producer.commit_transaction(60)
    shop.customer(3, "Eve")
    shop.once()

    assert {1: "Ada", 2: "Bob", 3: "Eve"} == shop.documents()


def test_a_run_once_reads_the_topics_to_their_end(shop: Shop) -> None:
    shop.customer(1, "Ada")
    shop.customer(2, "Bob")
    shop.order(7, 1, "tea")
    shop.log.put(f"{shop.at}.order", "{broken", key="k")

    ended, _ = shop.once()

    assert {1: "Ada tea", 2: "Bob"} == shop.documents()
    totals = ended.progress.totals
    assert (4, 3, 1) == (totals.read, totals.applied, totals.dead)
    (letter,) = shop.letters()
    told = {name: letter[name] for name in ("source", "topic", "partition", "offset", "key")}
    assert {
        "source": "changes",
        "topic": f"{shop.at}.order",
        "partition": 0,
        "offset": 1,
        "key": "k",
    } == told
    assert "{broken" == letter["value"]


def test_a_topic_whose_name_holds_that_of_another_is_not_read(shop: Shop) -> None:
    shop.customer(1, "Ada")
    shop.log.put(f"{shop.at}.customer_profile", {"id": 2, "name": "Eve"})
    shop.log.put(f"old.{shop.at}.customer", {"id": 3, "name": "Eve"})

    ended, _ = shop.once()

    assert {1: "Ada"} == shop.documents()
    assert 1 == ended.progress.totals.read


def test_the_next_run_goes_on_where_the_last_one_ended(shop: Shop) -> None:
    shop.customer(1, "Ada")
    shop.once()
    shop.order(7, 1, "tea")

    ended, _ = shop.once()

    assert {1: "Ada tea"} == shop.documents()
    assert 1 == ended.progress.totals.read


def test_a_topic_that_is_not_there_yet_is_empty_and_read_once_it_comes(shop: Shop) -> None:
    shop.once()
    assert {} == shop.documents()

    shop.customer(1, "Ada")
    shop.once()
    shop.order(7, 1, "tea")
    shop.once()

    assert {1: "Ada tea"} == shop.documents()


def test_a_topic_like_one_that_nobody_writes_is_told(shop: Shop) -> None:
    shop.log.put(f"{shop.at}.customers", {"id": 1, "name": "Ada"})
    shop.order(7, 1, "tea")

    ended, _ = shop.once()

    (told,) = ended.progress.warnings
    assert ("WARN_TOPIC_MISNAMED", 'relation "customer"') == (told.code, told.about)
    assert f"Near it: {shop.at}.customers, which no relation reads." == told.detail
    assert f"topic: {shop.at}.customers" in told.hint


def test_the_lag_is_told_by_topic_and_partition_and_the_group_of_positions(shop: Shop) -> None:
    customers = f"{shop.at}.customer"
    shop.declare(options=f"group: {shop.at}", rows=4)
    shop.log.create(customers, partitions=2)
    rows = [{"id": number, "name": "x"} for number in range(4)]
    shop.log.put(customers, *rows, partition=0)
    shop.log.put(customers, *rows, partition=1)

    _, (first, last) = shop.once()

    assert {customers: {"0": 2, "1": 2}} == first.lag
    assert {"customer": 4, "order": 0} == first.remaining_rows
    assert {customers: {"0": 0, "1": 0}} == last.lag == last.to_json()["lag"]
    assert (4, 4) == (shop.log.told(shop.at, customers, 0), shop.log.told(shop.at, customers, 1))


@pytest.mark.parametrize(
    ("starting", "expected"),
    [
        ("latest", {}),
        ("2026-01-02T00:00:00Z", {2: "Bob", 3: "Cy"}),
        ("{{{at}.customer: {{0: 2}}}}", {3: "Cy"}),
        ("{{{at}.customer: {{0: latest}}}}", {}),
    ],
)
def test_a_fresh_checkpoint_begins_where_it_is_told(
    shop: Shop, starting: str, expected: dict[int, str]
) -> None:
    shop.declare(options=f"starting: {starting.format(at=shop.at)}")
    for number, name in enumerate(("Ada", "Bob", "Cy"), start=1):
        shop.customer(number, name, at_ms=1767139200000 + number * 86_400_000)

    shop.once()

    assert expected == shop.documents()
    shop.customer(4, "Di")
    shop.once()
    assert {**expected, 4: "Di"} == shop.documents()


def test_a_broker_that_is_not_there_ends_the_run_with_one_line(shop: Shop) -> None:
    shop.declare()
    text = (shop.folder / "joinery.yaml").read_text()
    patience = "properties: {default.api.timeout.ms: 4000, request.timeout.ms: 2000}"
    nobody = text.replace(f'"{shop.log.bootstrap}"', f'"127.0.0.1:1", {patience}')
    (shop.folder / "joinery.yaml").write_text(nobody)

    with pytest.raises(KafkaUnreachableError) as told:
        run(shop.spark, shop, once=True)

    assert 'source "changes" could not reach Kafka at 127.0.0.1:1' == told.value.message
    assert told.value.detail.startswith("TimeoutException")


def test_a_pattern_reads_all_topics_that_match_also_those_that_come_later(shop: Shop) -> None:
    shop.declare(PROJECT.replace("{at}.customer", '"pattern:{at}.customer_[0-9]"'))
    shop.log.put(f"{shop.at}.customer_1", {"id": 1, "name": "Ada"})
    shop.log.put(f"{shop.at}.customer_x", {"id": 9, "name": "Nobody"})
    shop.once()
    shop.log.put(f"{shop.at}.customer_2", {"id": 2, "name": "Bob"}, "{broken")
    shop.order(7, 2, "tea")

    shop.once()

    assert {1: "Ada", 2: "Bob tea"} == shop.documents()
    (letter,) = shop.letters()
    assert f"{shop.at}.customer_2" == letter["topic"]


NAMES = """\
  names:
    root: customer
    group: names
    embed: {{orders: {{many: order, on: {{customer_id: id}}, fields: [item]}}}}
    sink: {{files: {{path: names}}}}
  items: {{root: order, group: items, sink: {{files: {{path: items}}}}}}
run:"""


def test_queries_that_rest_hear_of_records_partitions_and_topics_that_come(shop: Shop) -> None:
    text = PROJECT.replace("{at}.customer", '"pattern:{at}.customer_[0-9]"')
    shop.declare(text.replace("run:", NAMES))
    first = f"{shop.at}.customer_1"
    shop.log.put(first, {"id": 1, "name": "Ada"})
    with run(shop.spark, shop):
        names = partial(_names, shop)
        until(lambda: names() == ["Ada"] and _caught_up(shop))
        shop.log.put(first, {"id": 2, "name": "Bob"})
        until(lambda: names() == ["Ada", "Bob"])
        until(lambda: _caught_up(shop))
        shop.log.widen(first, 2)
        shop.log.put(first, {"id": 3, "name": "Cy"}, partition=1)
        until(lambda: names() == ["Ada", "Bob", "Cy"])
        until(lambda: _caught_up(shop))
        shop.log.put(f"{shop.at}.customer_2", {"id": 4, "name": "Di"})
        until(lambda: names() == ["Ada", "Bob", "Cy", "Di"])
        shop.order(7, 4, "tea")
        until(lambda: shop.documents().get(4) == "Di tea")


def _names(shop: Shop) -> list[str]:
    """Return the names of both products with customers where they have the same."""
    rows = read_rows(sorted((shop.folder / "names/names").glob("*.jsonl")))
    names = sorted({json.loads(each.value)["name"] for each in rows if each.value})
    return names if names == sorted(each.split()[0] for each in shop.documents().values()) else []


def _caught_up(shop: Shop) -> bool:
    """Return whether `status` says so of all queries, as it does while they rest."""
    found = project_status(shop.spec)
    return {each.state for each in found.products} == {"live"}


BOTH = """\
name: shop
sources:
  b_log: {{kafka: {{bootstrap: "{bootstrap}"{options}}}}}
  a_files: {{files: {{path: data}}}}
relations:
  customer: {{source: a_files, key: [id], fields: {{id: long, name: string}}}}
  order:
    source: b_log
    topic: customer
    key: [number]
    fields: {{number: long, customer_id: long, item: string}}
products:
  profile:
    root: customer
    embed: {{orders: {{many: order, on: {{customer_id: id}}, fields: [number, item]}}}}
    sink: {{files: {{path: out}}}}
run: {{max_rows_per_batch: {rows}}}
"""


def test_files_and_topics_meet_in_one_document(shop: Shop) -> None:
    # Both sources have a topic of the same name, read by another relation each.
    topic = f"{shop.at}.customer"
    shop.declare(BOTH.replace("topic: customer", f"topic: {topic}"))
    path = shop.folder / "data" / "customer" / "1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"id": 1, "name": "Ada"}\n{"id": 2, "name": "Bob"}\n')
    shop.log.put(topic, {"number": 7, "customer_id": 1, "item": "tea"})
    shop.once()
    shop.log.put(topic, {"number": 8, "customer_id": 2, "item": "ink"})

    ended, (batch,) = shop.once()

    assert {1: "Ada tea", 2: "Bob ink"} == shop.documents()
    assert 1 == ended.progress.totals.read
    assert {topic: {"0": 0}} == batch.lag


def test_records_that_are_gone_before_they_were_read_fail_the_run(shop: Shop) -> None:
    shop.customer(1, "Ada")
    shop.once()
    for number in (2, 3, 4):
        shop.customer(number, f"n{number}")
    shop.log.cut(f"{shop.at}.customer", before=3)

    with pytest.raises(RecordsLostError) as told:
        run(shop.spark, shop, once=True)

    topic = f"{shop.at}.customer"
    assert 'source "changes" lost records before they were read' == told.value.message
    assert f'Topic "{topic}" partition 0 lacks offsets 1 to 2.' == told.value.detail


def test_a_run_that_may_lose_records_counts_them(shop: Shop) -> None:
    shop.declare(options="fail_on_data_loss: false")
    shop.customer(1, "Ada")
    shop.once()
    for number in (2, 3, 4):
        shop.customer(number, f"n{number}")
    shop.log.cut(f"{shop.at}.customer", before=3)

    ended, (batch,) = shop.once()

    assert {1: "Ada", 4: "n4"} == shop.documents()
    assert 2 == batch.relations["customer"]["lost"]
    (told,) = ended.progress.warnings
    assert ("WARN_RECORDS_LOST", 'source "changes"') == (told.code, told.about)
    assert f'Topic "{shop.at}.customer" partition 0 lacks offsets 1 to 2.' == told.detail


def test_a_topic_that_was_created_again_and_is_longer_than_before_is_not_read_on(
    shop: Shop,
) -> None:
    topic = f"{shop.at}.customer"
    shop.customer(1, "Ada")
    shop.once()
    shop.log.drop(topic)
    shop.log.create(topic)
    for number in (2, 3):
        shop.customer(number, f"n{number}")

    for _ in range(2):
        with pytest.raises(RecordsLostError) as told:
            run(shop.spark, shop, once=True)

    assert f'Topic "{topic}" partition 0 was deleted, or created again, after offset 0 was' in (
        told.value.detail
    )

    shop.declare(options="fail_on_data_loss: false")
    ended, _ = shop.once()
    assert {1: "Ada", 3: "n3"} == shop.documents()
    assert ["WARN_RECORDS_LOST"] == [each.code for each in ended.progress.warnings]


def test_a_record_that_is_too_large_is_a_dead_letter(shop: Shop) -> None:
    shop.declare(PROJECT.replace("run: {{", "run: {{max_record_bytes: 100, "))
    shop.customer(1, "Ada")
    shop.customer(2, "x" * 100)

    shop.once()

    assert {1: "Ada"} == shop.documents()
    (letter,) = shop.letters()
    assert ("too_large", 0, 1) == (letter["reason"], letter["partition"], letter["offset"])
    assert {"id": 2, "name": "x" * 100} == json.loads(letter["value"])


def test_a_batch_is_bounded_by_bytes(shop: Shop) -> None:
    shop.declare(PROJECT.replace("run: {{", "run: {{max_bytes_per_batch: 5 KiB, "))
    rows = [{"id": number, "name": "x" * 1000} for number in range(20)]
    shop.log.put(f"{shop.at}.customer", *rows)

    _, batches = shop.once()

    assert 20 == len(shop.documents())
    assert all(4 <= each.read <= 5 for each in batches)


def test_a_broker_with_tls_and_passwords_lets_us_in(
    kafka_spark: SparkSession, tmp_path: Path
) -> None:
    broker = secured_kafka(tmp_path / "kafka")
    with broker.service.started():
        shop = Shop(tmp_path / "shop", kafka_spark, Log(broker.service.address, {}), "t")
        shop.folder.mkdir()
        shop.customer(1, "Ada")

        def properties(password: str) -> str:
            given = json.dumps(broker.properties(password)).replace("{", "{{").replace("}", "}}")
            return PROJECT.replace("{bootstrap}", broker.secured).replace(
                "{options}", f", group: t, properties: {given}"
            )

        shop.declare(properties("wrong-0815"))
        with pytest.raises(KafkaUnreachableError) as told:
            run(shop.spark, shop, once=True)
        shop.declare(properties(PASSWORD))
        shop.once()

        assert told.value.detail.startswith("SaslAuthenticationException")
        assert {1: "Ada"} == shop.documents()
        assert 1 == shop.log.told("t", "t.customer")
    left = [each for each in (shop.folder / ".joinery").rglob("*") if each.is_file()]
    assert left
    assert not [each for each in left if PASSWORD.encode() in each.read_bytes()]
    assert "0815" not in str(told.value.__dict__)


def test_a_broker_that_asks_for_a_certificate_lets_us_in_with_one(
    kafka_spark: SparkSession, tmp_path: Path
) -> None:
    authority = Authority.made(tmp_path / "authority.pem")
    broker, secured = certified_kafka(tmp_path / "kafka", authority)
    with broker.started():
        shop = Shop(tmp_path / "shop", kafka_spark, Log(broker.address, {}), "t")
        shop.folder.mkdir()
        shop.customer(1, "Ada")
        properties = {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(authority.file),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(authority.sign(tmp_path, "client").together),
        }
        given = json.dumps(properties).replace("{", "{{").replace("}", "}}")
        text = PROJECT.replace("{bootstrap}", secured)
        sink = "sink: [{{files: {{path: out}}}}, {{kafka: {{topic: t.out}}}}]"
        assert "sink: {{files: {{path: out}}}}" in text
        text = text.replace("sink: {{files: {{path: out}}}}", sink)
        shop.declare(text.replace("{options}", f", properties: {given}"))

        shop.once()

        assert {1: "Ada"} == shop.documents()
        assert ['{"id":1}'] == [each.key for each in committed(broker.address, "t.out")]
