"""The dashboard: one page, and the JSON that it asks for each second."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from examples.coffee_shop.serving import Serving, by_tier, newest

_PAGE = Path(__file__).with_name("page.html")


@contextmanager
def served(serving: Serving, told: Callable[[], str], port: int = 0) -> Iterator[str]:
    """Serve the dashboard for the length of a block; give its address.

    Args:
        serving: The flat orders.
        told: The consistency window as a line.
        port: 0 takes a free one.
    """

    def shop() -> Mapping[str, Any]:
        return {"tiers": by_tier(serving), "orders": newest(serving), "window": told()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match self.path.partition("?")[0]:
                case "/":
                    self._send(200, "text/html; charset=utf-8", _PAGE.read_bytes())
                case "/shop.json":
                    self._send(200, "application/json", json.dumps(shop()).encode())
                case _:
                    self._send(404, "text/plain", b"There are / and /shop.json.\n")

        def _send(self, code: int, kind: str, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the page asks each second."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
