"""A live page: one HTML file, the JSON that it asks for each second, and what its reader tells."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DATA = "/data.json"
_MOST_BYTES = 65_536


@contextmanager
def served(
    page: Path,
    data: Callable[[], Mapping[str, Any]],
    charts: Path | None = None,
    port: int = 0,
    told: Callable[[Mapping[str, Any]], None] | None = None,
) -> Iterator[str]:
    """Serve a page for the length of a block; give its address.

    Args:
        page: Its HTML, which asks for `/data.json`.
        data: Returns what the page shows now; `charts` is added, the names of the charts.
        charts: A folder of charts (SVG) that are served by their names.
        port: 0 takes a free one.
        told: Takes what the page posts, a JSON object.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, names = self.path.partition("?")[0], _charts(charts)
            name = path.removeprefix("/")
            if path == "/":
                self._send(200, "text/html; charset=utf-8", page.read_bytes())
            elif path == DATA:
                body = json.dumps({**data(), "charts": names}).encode()
                self._send(200, "application/json", body)
            elif charts is not None and name in names:
                self._send(200, "image/svg+xml", (charts / name).read_bytes())
            else:
                self._send(404, "text/plain", f"There are /, {DATA} and the charts.\n".encode())

        def do_POST(self) -> None:
            # Pages of other addresses may post forms here, but not JSON.
            if told is None or self.headers.get_content_type() != "application/json":
                self._send(404, "text/plain", b"This page takes nothing.\n")
                return
            length = min(int(self.headers.get("Content-Length") or 0), _MOST_BYTES)
            try:
                words = json.loads(self.rfile.read(length))
            except ValueError:
                words = None
            if isinstance(words, dict):
                told(words)
                self._send(200, "application/json", b"{}")
            else:
                self._send(400, "text/plain", b"A JSON object is needed.\n")

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


def _charts(folder: Path | None) -> list[str]:
    return sorted(each.name for each in folder.glob("*.svg")) if folder else []
