"""What a service that asks for patience gets."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from joinery.lookups.guard import Guard
from joinery.lookups.http import retry_after_s
from joinery.lookups.protocol import LookupTable, LookupUnavailableError
from joinery.lookups.registry import make_store
from joinery.model.type import LONG, STRING, Field
from joinery.project.step import Limits
from joinery.retry import Patience

TABLE = LookupTable("customers", (Field("id", LONG),), (Field("name", STRING),))
REST_S = 1


class Service(BaseHTTPRequestHandler):
    """Answers the first request of each service with a refusal, later ones with a row."""

    asked_at: list[float]
    refusal = 429

    def do_POST(self) -> None:
        self.asked_at.append(time.monotonic())
        self.rfile.read(int(self.headers["Content-Length"]))
        first = len(self.asked_at) == 1
        body = b"" if first else b'[{"id": 1, "name": "Ada"}]'
        self.send_response(self.refusal if first else 200)
        if first and self.refusal == 429:
            self.send_header("Retry-After", str(REST_S))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(**more: object) -> Iterator[tuple[str, list[float]]]:
    """Run a service of its own; give its address, and when it was asked."""
    asked: list[float] = []
    handler = type("Each", (Service,), {"asked_at": asked, **more})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/customers", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def service() -> Iterator[tuple[str, list[float]]]:
    with serving() as told:
        yield told


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("3", 3.0),
        (" 0 ", 0.0),
        ("Thu, 01 Jan 1970 00:00:30 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:05 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("", None),
        (None, None),
    ],
)
def test_how_long_a_service_asks_to_be_left_alone(told: str | None, seconds: float | None) -> None:
    assert retry_after_s(told, 10.0) == seconds


@pytest.mark.parametrize("refusal", [500, 520, 529])
def test_a_failure_of_a_service_is_waited_for(refusal: int, tmp_path: Path) -> None:
    with serving(refusal=refusal) as (url, asked):
        store = make_store("http", TABLE, {"url": url}, tmp_path)
        store.open()
        guard = Guard(store, Limits(), patience=Patience(first_s=0.001, longest_s=0.002))

        reply = guard.request([(1,)])
        store.close()

    assert ({(1,): ("Ada",)}, 2) == (reply.answers, len(asked))


def test_no_request_is_made_before_the_time_that_a_service_asks_for(
    service: tuple[str, list[float]], tmp_path: Path
) -> None:
    url, asked = service
    store = make_store("http", TABLE, {"url": url}, tmp_path)
    store.open()
    guard = Guard(store, Limits(), patience=Patience(first_s=0.001, longest_s=0.002))

    reply = guard.request([(1,)])
    store.close()

    assert {(1,): ("Ada",)} == reply.answers
    assert 2 == len(asked)
    assert asked[1] - asked[0] >= REST_S


def test_a_wait_that_a_service_asks_for_ends_with_the_run(
    service: tuple[str, list[float]], tmp_path: Path
) -> None:
    url, asked = service
    store = make_store("http", TABLE, {"url": url}, tmp_path)
    store.open()
    guard = Guard(
        store,
        Limits(),
        patience=Patience(first_s=0.001, longest_s=0.002),
        ended=lambda: bool(asked),
    )

    with pytest.raises(LookupUnavailableError):
        guard.request([(1,)])
    store.close()

    assert 1 == len(asked)


def test_how_long_is_told_across_processes() -> None:
    error = LookupUnavailableError("could not read").after(7.0)

    assert 7.0 == pickle.loads(pickle.dumps(error)).after_s
