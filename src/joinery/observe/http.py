"""The HTTP endpoints of a run: `/metrics`, `/health` and `/ready`.

`/health` answers 200 while the run goes on. `/ready` answers 200 once all its queries have
started and nothing is waited for longer than its grace: 30 s for a sink or store, none for
sources, which were asked for some seconds before; else 503, with the reason.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from joinery.errors import JoineryError, RunError
from joinery.model.progress import Progress
from joinery.observe.metrics import ProgressMetrics

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_JSON = "application/json"


class HttpError(RunError):
    """The address of the endpoints cannot be used."""

    code = "RUN_HTTP"


class RunEndpoints:
    """Serves the endpoints from a thread of its own.

    Args:
        address: `host:port`; port 0 takes a free one.
        progress: Returns the run as it stands.
    """

    def __init__(self, address: str, progress: Callable[[], Progress]) -> None:
        self._address = address
        self._progress = progress
        self._metrics = ProgressMetrics(progress, lambda: not self._not_ready())
        self._server: ThreadingHTTPServer | None = None
        self.started = threading.Event()

    def open(self) -> str:
        """Begin to answer; return the address as `host:port`.

        Raises:
            HttpError: The address is taken, or not one of this machine.
            MetricsMissingError: `prometheus-client` is not installed.
        """
        self._metrics.text()
        host, _, port = self._address.rpartition(":")
        try:
            server = ThreadingHTTPServer((host.strip("[]"), int(port)), self._handler())
        except (OSError, ValueError, OverflowError) as error:
            raise HttpError(
                f'cannot serve metrics at "{self._address}"',
                detail=f"{error}.",
                hint=f"Set run.http to a free address, such as 127.0.0.1:{_free_port()}.",
            ) from error
        server.daemon_threads = True
        self._server = server
        threading.Thread(target=server.serve_forever, name="joinery-http", daemon=True).start()
        return f"{host}:{server.server_address[1]}"

    def close(self) -> None:
        """Stop answering."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        match path.partition("?")[0]:
            case "/metrics":
                return 200, _TEXT, self._metrics.text()
            case "/health":
                return 200, _JSON, _body({"status": "ok"})
            case "/ready":
                why = self._not_ready()
                facts = {"status": "waiting", "reason": why} if why else {"status": "ready"}
                return (503 if why else 200), _JSON, _body(facts)
            case _:
                known = "/metrics, /health and /ready"
                return 404, _JSON, _body({"error": f"there are {known}"})

    def _not_ready(self) -> str:
        if not self.started.is_set():
            return "the queries have not started"
        for each in self._progress().waiting.values():
            if time.time() - each.since > each.grace_s:
                return f"{each.target}: {each.reason}"
        return ""

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoints = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                try:
                    code, kind, body = endpoints._answer(self.path)
                except JoineryError as error:
                    code, kind, body = 500, _JSON, _body({"error": error.message})
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: a scrape is no news."""

        return Handler


def _free_port() -> int:
    """Return a port that nobody has at the moment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _body(facts: dict[str, str]) -> bytes:
    return f"{json.dumps(facts)}\n".encode()
