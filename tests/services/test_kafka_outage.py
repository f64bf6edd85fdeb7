"""A run outlives its broker, and ends in good order while it is away."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from tests.services.command import Command, joinery_run
from tests.services.log import Log

from joinery.dev.port import free_port
from joinery.dev.service import Service
from joinery.observe.status import State, project_status
from joinery.project.load import load_spec
from joinery.sinks.line import read_rows

pytestmark = [pytest.mark.services, pytest.mark.slow]
SOON_S = 60.0

PROJECT = """\
sources:
  changes:
    kafka:
      bootstrap: "{bootstrap}"
      heartbeat: {beats}
      silent_after: 6s
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
    text = PROJECT.format(bootstrap=kafka.address, topic=topic, beats=beats_of(topic))
    (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    return log, topic


def beats_of(topic: str) -> str:
    return f"__beats.{topic}"


def documents(folder: Path) -> Mapping[str, str]:
    rows = read_rows(sorted((folder / "out/profile").glob("*.jsonl")))
    return {row.key: json.loads(row.value or "{}").get("name") for row in rows}


def has(folder: Path, run: Command, number: int) -> None:
    """Wait for a document."""
    run.wait_for(lambda: f'{{"id":{number}}}' in documents(folder))


def ready(port: int) -> tuple[int, str]:
    """Return the answer of `/ready`."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/ready", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def states(file: Path) -> list[State]:
    return [each.state for each in project_status(load_spec(file)).products]


def brokers_back(run: Command) -> list[Mapping[str, Any]]:
    return [each for each in run.told("back") if each["target"].startswith("the sources of")]


def waits(run: Command, *, silent: bool = False) -> list[Mapping[str, Any]]:
    """Return the waits for brokers that a run told, or those for heartbeats."""
    return [each for each in run.told("waiting") if each["silent"] == silent]


def test_a_broker_or_connector_that_goes_is_told_in_time_and_waited_for_until_the_run_is_ended(
    broker: Service, tmp_path: Path
) -> None:
    log, topic = declare(tmp_path, broker)
    file, port, beats = tmp_path / "joinery.yaml", free_port(), beats_of(topic)
    log.put(beats, {"at": 1})
    log.put(topic, {"id": 1, "name": "Ada"})
    with joinery_run(tmp_path, "--set", f"run.http=127.0.0.1:{port}") as run:
        has(tmp_path, run, 1)
        run.wait_for(lambda: ready(port)[0] == 200)

        run.wait_for(lambda: waits(run, silent=True))
        run.wait_for(lambda: "silent" in states(file))
        still_ready, _ = ready(port)
        log.put(beats, {"at": 2})
        run.wait_for(lambda: [e for e in run.told("back") if e["target"] == 'source "changes"'])

        gone_at = time.monotonic()
        broker.kill()
        run.wait_for(lambda: waits(run))
        told_s = time.monotonic() - gone_at
        run.wait_for(lambda: ready(port)[0] == 503)
        _, why = ready(port)
        broker.start()
        back_at = time.monotonic()
        run.wait_for(lambda: brokers_back(run))
        back_s = time.monotonic() - back_at
        log.put(topic, {"id": 2, "name": "Bob"})
        has(tmp_path, run, 2)
        run.wait_for(lambda: ready(port)[0] == 200)

        broker.kill()
        run.wait_for(lambda: len(waits(run)) > len(brokers_back(run)))
        code, errors = run.end()

    assert told_s < SOON_S
    assert back_s < SOON_S
    assert f"could not reach Kafka at {broker.address}" in why
    assert 1 == len(waits(run)) - len(brokers_back(run)), "a wait is told once, not at each look"
    assert f'no heartbeat in topic "{beats}"' in waits(run, silent=True)[0]["reason"]
    assert 200 == still_ready
    logged = (tmp_path / ".joinery/checkpoint/_logs/joinery.jsonl").read_text()
    assert '"waiting for sources"' in logged
    assert '"sources are back"' in logged
    assert (0, "") == (code, errors)
    assert {'{"id":1}': "Ada", '{"id":2}': "Bob"} == documents(tmp_path)
    assert 2 == run.told("end")[0]["read"]
