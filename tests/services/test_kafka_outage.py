"""A run outlives its broker, and ends in good order while it is away."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.services.command import Command, joinery_run
from tests.services.log import Log

from joinery.connect.line import read_rows
from joinery.stack.service import Service

pytestmark = [pytest.mark.services, pytest.mark.slow]

PROJECT = """\
sources:
  changes:
    kafka:
      bootstrap: "{bootstrap}"
      properties: {{default.api.timeout.ms: 4000, request.timeout.ms: 2000}}
relations:
  user: {{topic: {topic}, key: [id], fields: {{id: long, name: string}}}}
products: {{profile: {{root: user, sink: {{files: {{path: out}}}}}}}}
"""


@pytest.fixture
def broker(kafka: Service) -> Iterator[Service]:
    """The broker, which is there again after the test."""
    yield kafka
    kafka.start()


def declare(folder: Path, kafka: Service) -> tuple[Log, str]:
    log, topic = Log(kafka.address, {}), f"t{uuid.uuid4().hex[:8]}"
    text = PROJECT.format(bootstrap=kafka.address, topic=topic)
    (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    return log, topic


def documents(folder: Path) -> Mapping[str, str]:
    rows = read_rows(sorted((folder / "out/profile").glob("*.jsonl")))
    return {row.key: json.loads(row.value or "{}").get("name") for row in rows}


def has(folder: Path, run: Command, number: int) -> None:
    """Wait for a document."""
    run.wait_for(lambda: f'{{"id":{number}}}' in documents(folder))


def test_a_run_goes_on_when_its_broker_is_back_and_ends_well_when_it_is_not(
    broker: Service, tmp_path: Path
) -> None:
    log, topic = declare(tmp_path, broker)
    log.put(topic, {"id": 1, "name": "Ada"})
    with joinery_run(tmp_path) as run:
        has(tmp_path, run, 1)
        broker.kill()
        run.wait_for(lambda: run.told("waiting"))
        broker.start()
        log.put(topic, {"id": 2, "name": "Bob"})
        has(tmp_path, run, 2)
        broker.kill()
        before = len(run.told("waiting"))
        run.wait_for(lambda: len(run.told("waiting")) > before)

        code, errors = run.end()

    assert (0, "") == (code, errors)
    assert {'{"id":1}': "Ada", '{"id":2}': "Bob"} == documents(tmp_path)
    assert 2 == run.told("end")[0]["read"]


def test_a_topic_that_is_deleted_while_it_is_read_ends_the_run_with_one_line(
    broker: Service, tmp_path: Path
) -> None:
    log, topic = declare(tmp_path, broker)
    log.put(topic, {"id": 1, "name": "Ada"})
    with joinery_run(tmp_path) as run:
        has(tmp_path, run, 1)
        client = AdminClient({"bootstrap.servers": broker.address})
        client.delete_topics([topic])[topic].result(30)

        code, errors = run.ended()

    assert 1 == code
    assert 1 == errors.count("\n")
    assert "lost records before they were read" in errors
    assert f'Topic "{topic}" partition 0 was deleted, or made anew' in errors
    assert "[RUN_RECORDS_LOST]" in errors
