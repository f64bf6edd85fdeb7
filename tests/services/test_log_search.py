"""What is sought in topics is what a decoding of all records finds, whatever has become of them.

Partitions, records that retention has removed, that a transaction took back, and that were put
back; tombstones, and records without a time.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Producer
from tests.oracle.compare import each_seed
from tests.oracle.sought import Writer, agrees, relations_of, sought_of, writers_of, written
from tests.services.log import Log

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_reader import read_whole_topic
from joinery.dead_letters.replay_key import replay_key
from joinery.dev.service import Service
from joinery.project.kafka import REPLAY
from joinery.spark.source.file_feed import read_files
from joinery.spark.source.log_search import log_search

pytestmark = pytest.mark.services
PARTITIONS = 3


@pytest.mark.parametrize("format_", ["json", "debezium-json"])
@pytest.mark.parametrize("seed", each_seed(range(6), few=1))
def test_what_is_sought_is_what_all_records_tell(
    seed: int, format_: str, kafka: Service, tmp_path: Path
) -> None:
    random, log = Random(seed), Log(kafka.address, {})
    source = f'{{kafka: {{bootstrap: "{kafka.address}"}}}}'
    named = f"sought-{uuid.uuid4().hex[:8]}-"
    spec = written(tmp_path, format_, append=seed % 2 == 1, source=source, named=named)
    for topic, writers in writers_of(spec, random).items():
        put(log, topic, random, writers)
    relations, begun = relations_of(spec), {"changes": {f"{named}item": {"1": 5}}}
    told: dict[str, list[str]] = {each.name: [] for each in relations}

    found = read_files(spec, relations, most=9_000, told=told, begun=begun)
    asked = sought_of(relations)
    with log_search(
        spec, relations, most=9_000, told=told, seen={}, begun=begun, columns=asked
    ) as search:
        moments = [*(f"1970-01-01T00:00:01.00{at}Z" for at in range(5)), "500", "900"]
        agrees(search, spec, relations, found, moments)
    with log_search(
        spec, relations, most=50, told=told, seen={}, begun=begun, columns=asked
    ) as search:
        assert dict.fromkeys(search.read, 50) == search.read
        assert {name: 50 + left for name, left in search.left.items()} == {
            name: each["read"] for name, each in found.counts.items()
        }


def put(log: Log, topic: str, random: Random, writers: Sequence[Writer]) -> None:
    for_ever = {"retention.ms": "-1"}  # Its records are of 1970.
    log.create(topic, PARTITIONS, settings=for_ever)
    log.create(f"{topic}{REPLAY}", settings=for_ever)
    transactions = Producer(
        {"bootstrap.servers": log.bootstrap, "log_level": 0, "transactional.id": topic}
    )
    transactions.init_transactions()
    for at in range(12):
        transactions.begin_transaction()
        for _ in range(random.randrange(30)):
            key, value = random.choice(writers).record()
            transactions.produce(
                topic,
                value,
                key,
                random.randrange(PARTITIONS),
                timestamp=random.randrange(1_000, 1_005),
            )
        transactions.flush()
        if at % 3 == 1:
            transactions.abort_transaction()
        else:
            transactions.commit_transaction()
    for _ in range(20):
        key, value = random.choice(writers).record()
        place = replay_key(random.randrange(PARTITIONS), random.randrange(60), encoded(key))
        log.put(f"{topic}{REPLAY}", value, key=place, at_ms=random.randrange(1_000, 1_005))
    # Ends once all transactions have, which is a moment after they were committed.
    assert [*read_whole_topic(Brokers(log.bootstrap, {}), topic)]
    log.cut(topic, 3, random.randrange(PARTITIONS))


def encoded(key: str | None) -> bytes | None:
    return None if key is None else key.encode()
