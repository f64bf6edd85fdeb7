"""A server that speaks S3, moto's, in a process of its own; and a network before it that fails.

Moto looks at the condition of a put and then puts, as two steps. S3 does that as one, so here
conditional puts take turns.
"""

from __future__ import annotations

import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

BUCKET = "bucket"
_HOST = "127.0.0.1"
_CONDITIONS = ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH")


@dataclass(frozen=True, slots=True)
class S3Server:
    """A server with one bucket."""

    port: int

    @property
    def settings(self) -> dict[str, str]:
        """What `run.spark` says of it."""
        return s3_settings(self.port)


def s3_settings(port: int) -> dict[str, str]:
    """Return what `run.spark` says of a server at a port of this machine."""
    return {
        "spark.hadoop.fs.s3a.endpoint": f"http://{_HOST}:{port}",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": "key",
        "spark.hadoop.fs.s3a.secret.key": "secret",
    }


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Keep a server going for the length of a block."""
    with socket.create_server((_HOST, 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, __file__, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not _answers(port):
            assert process.poll() is None, "moto has ended"
            time.sleep(0.1)
        yield S3Server(port)
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection((_HOST, port), timeout=1):
        return True
    return False


class OneByOne:
    """Lets conditional puts through one at a time."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._turn = threading.Lock()

    def __call__(self, environ: Mapping[str, Any], start_response: Any) -> Any:
        """Answer a request, as WSGI asks."""
        if any(each in environ for each in _CONDITIONS):
            with self._turn:
                return self._application(environ, start_response)
        return self._application(environ, start_response)


@dataclass(slots=True)
class BadNetwork:
    """A proxy that spoils some of the requests to a server, each kind by its share.

    Attributes:
        server: The port behind.
        refused: Answered with 503.
        cut: The connection is reset before the server hears of it.
        lost: The server has answered, and the connection is reset before that arrives.
        slow_s: By how much each request is late.
        deaf: The condition of puts that does not reach the server, which then does not keep it.
        weak: Tags are marked as weak on their way, as by a proxy that compresses.
        dumb: Requests are taken, and never answered.
    """

    server: int
    refused: float = 0.0
    cut: float = 0.0
    lost: float = 0.0
    slow_s: float = 0.0
    deaf: str = ""
    weak: bool = False
    dumb: bool = False
    spoilt: int = 0
    asked: int = 0
    _random: random.Random = field(default_factory=partial(random.Random, 17))
    _listener: socket.socket = field(
        default_factory=partial(socket.create_server, (_HOST, 0), backlog=64)
    )

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    @contextmanager
    def open(self) -> Iterator[BadNetwork]:
        """Pass requests on for the length of a block."""
        threading.Thread(target=self._accept, daemon=True).start()
        try:
            yield self
        finally:
            self._listener.close()

    def mend(self) -> None:
        """Spoil nothing more."""
        self.refused = self.cut = self.lost = self.slow_s = 0.0

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """Pass one connection on, which moto closes after one request."""
        self.asked += 1
        lot = self._random.random()
        time.sleep(self.slow_s)
        with client, suppress(OSError):
            if self.dumb:
                self._ignore(client)
            elif lot < self.cut:
                self._reset(client)
            elif lot < self.cut + self.refused:
                self._refuse(client)
            else:
                self._relay(client, lose=lot < self.cut + self.refused + self.lost)

    def _refuse(self, client: socket.socket) -> None:
        self.spoilt += 1
        client.recv(1 << 16)
        body = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"
        head = f"HTTP/1.1 503 Slow Down\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        client.sendall(head.encode() + body)

    def _ignore(self, client: socket.socket) -> None:
        self.spoilt += 1
        while client.recv(1 << 16):
            pass

    def _reset(self, client: socket.socket) -> None:
        self.spoilt += 1
        client.shutdown(socket.SHUT_RDWR)  # a thread reads from it: to close it would wait for that

    def _relay(self, client: socket.socket, *, lose: bool) -> None:
        with socket.create_connection((_HOST, self.server)) as server:
            threading.Thread(target=_pump, args=(client, server, self.deaf), daemon=True).start()
            answer = b""
            while block := server.recv(1 << 16):
                if self.weak:
                    block = re.sub(rb'(?i)\netag: "', rb'\netag: W/"', block)
                if not lose:
                    client.sendall(block)
                answer += block if lose else b""
            if lose:
                self._reset(client)
            else:
                client.shutdown(socket.SHUT_RDWR)


def _pump(client: socket.socket, server: socket.socket, deaf: str) -> None:
    with suppress(OSError):
        while block := client.recv(1 << 16):
            server.sendall(block.replace(deaf.encode(), b"X-Nothing") if deaf else block)


def _serve(port: int) -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    application = OneByOne(DomainDispatcherApplication(create_backend_app))
    run_simple(_HOST, port, application, threaded=True)


def make_bucket(settings: Mapping[str, str], name: str = BUCKET) -> None:
    """Make a bucket."""
    from joinery.place.s3 import S3Options, client_of

    client_of(S3Options.of(settings)).create_bucket(Bucket=name)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    _serve(int(sys.argv[1]))
