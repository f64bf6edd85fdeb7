"""The profile service: rows over HTTP, by a store that slows down under load.

It answers `POST /profiles {"keys": [...]}` and `GET /profiles/<id>`, keeps a note of each
request, and works on a few at a time: more than that wait in line, as in a database.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_WORKERS = 4
_REQUEST_S, _ROW_S = 0.002, 0.000_01


class ProfileService:
    """Profiles by id, and what was asked of them.

    Attributes:
        asked_at: When each request came, by `time.monotonic()`.
        rows_given: How many rows were asked for.
    """

    def __init__(self, profiles: Iterable[Mapping[str, Any]]) -> None:
        self.rows = {each["id"]: dict(each) for each in profiles}
        self.asked_at: list[float] = []
        self.rows_given = 0
        self._workers = threading.Semaphore(_WORKERS)
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Begin the notes anew."""
        with self._lock:
            self.asked_at.clear()
            self.rows_given = 0

    def rates(self, bin_s: float = 0.25) -> list[float]:
        """Return requests a second, bin by bin, from the first request on."""
        with self._lock:
            first = min(self.asked_at, default=0.0)
            bins = Counter(int((each - first) / bin_s) for each in self.asked_at)
        return [bins[each] / bin_s for each in range(max(bins, default=-1) + 1)]

    def give(self, keys: list[int], *, noted: bool = True) -> list[dict[str, Any]]:
        """Return the rows of keys, once a worker is free."""
        if noted:
            with self._lock:
                self.asked_at.append(time.monotonic())
                self.rows_given += len(keys)
        with self._workers:
            time.sleep(_REQUEST_S + _ROW_S * len(keys))
        return [self.rows[key] for key in keys if key in self.rows]

    @contextmanager
    def served(self) -> Iterator[str]:
        """Serve for the length of a block; give the address."""
        server = _Server(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/profiles"
        finally:
            server.shutdown()
            server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


def _handler(service: ProfileService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_HEAD(self) -> None:
            self._send(404, None)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(200, service.give(body["keys"]))

        def do_GET(self) -> None:
            found = service.give([int(self.path.rpartition("/")[2])])
            self._send(200 if found else 404, found[0] if found else None)

        def _send(self, code: int, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler
