"""OpenLineage events tell which query reads and writes what, and never hold up a run."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from joinery._version import __version__
from joinery.observe.lineage import Dataset, Job, Lineage

JOB = Job("profile", [Dataset("kafka://broker:9092", "user")], [Dataset("file", "/out/profile")])


class Collector:
    """A collector that keeps the events it is sent."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.authorization: str | None = None
        self.gate = threading.Event()
        self.gate.set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.gate.wait()
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.events.append(json.loads(body))
                collector.authorization = self.headers["Authorization"]
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.gate.set()
    collector.server.shutdown()
    collector.server.server_close()


def test_a_run_tells_its_start_and_its_end(collector: Collector) -> None:
    lineage = Lineage({"url": collector.url, "namespace": "shop", "api_key": "planted"})

    lineage.start([JOB])
    lineage.batch("profile")
    lineage.end(failed=False)

    start, complete = collector.events
    assert [start["eventType"], complete["eventType"]] == ["START", "COMPLETE"]
    assert start["run"]["runId"] == complete["run"]["runId"]
    assert (start["job"]["namespace"], start["job"]["name"]) == ("shop", "profile")
    assert f"urn:joinery:{__version__}" == start["producer"]
    assert [each["name"] for each in start["inputs"]] == ["user"]
    assert [each["namespace"] for each in start["outputs"]] == ["file"]
    assert collector.authorization == "Bearer planted"


def test_a_failed_run_tells_so(collector: Collector) -> None:
    lineage = Lineage({"url": collector.url})
    lineage.start([JOB])

    lineage.end(failed=True)

    assert collector.events[-1]["eventType"] == "FAIL"


def test_a_collector_that_does_not_answer_holds_nothing_up(collector: Collector) -> None:
    collector.gate.clear()
    lineage = Lineage({"url": collector.url})

    lineage.start([JOB])
    lineage.batch("profile")

    assert [] == collector.events
    collector.gate.set()
    lineage.end(failed=False)
    assert ["START", "COMPLETE"] == [each["eventType"] for each in collector.events]
