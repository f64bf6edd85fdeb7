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
def served(
    serving: Callable[[], Serving], window: Callable[[], str], charts: Path, port: int = 0
) -> Iterator[str]:
    """Serve the dashboard for the length of a block; give its address.

    Args:
        serving: Returns the flat orders that are shown now.
        window: Returns the consistency window as a line.
        charts: A folder whose charts are shown below the orders.
        port: 0 takes a free one.
    """

    def shop() -> Mapping[str, Any]:
        orders = serving()
        return {
            "tiers": by_tier(orders),
            "orders": newest(orders),
            "window": window(),
            "charts": _charts(charts),
        }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            match path:
                case "/":
                    self._send(200, "text/html; charset=utf-8", _PAGE.read_bytes())
                case "/shop.json":
                    self._send(200, "application/json", json.dumps(shop()).encode())
                case _ if path.removeprefix("/") in _charts(charts):
                    self._send(200, "image/svg+xml", (charts / path.removeprefix("/")).read_bytes())
                case _:
                    self._send(404, "text/plain", b"There are /, /shop.json and the charts.\n")

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


def _charts(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.glob("*.svg"))
