"""A TCP proxy that adds a round trip to each answer, and can be cut: a network in one process.

Limits: the delay is that of an idle line; it does not bound how many bytes pass.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

_BLOCK = 1 << 16
_HOST = "127.0.0.1"


class DelayProxy:
    """Passes connections on to `host:port`, each way half the round trip later.

    Args:
        port: Of the server.
        round_trip_s: What is added to a request and its answer, together.
        host: Of the server.

    Example:
        >>> with DelayProxy(5432, round_trip_s=0.005) as proxy:
        ...     address = f"127.0.0.1:{proxy.port}"
    """

    def __init__(self, port: int, *, round_trip_s: float, host: str = _HOST) -> None:
        self._server = (host, port)
        self._delay_s = round_trip_s / 2
        self._listener = socket.create_server((_HOST, 0))
        self._lock = threading.Lock()
        self._links: set[socket.socket] = set()
        self._cut = False
        self.connections = 0
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="delay", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _end(self._listener)
        self.cut()

    def cut(self) -> None:
        """Reset all connections, and every new one, until `mend`."""
        with self._lock:
            self._cut = True
            links, self._links = self._links, set()
        for link in links:
            _end(link)

    def mend(self) -> None:
        """Let connections pass again."""
        with self._lock:
            self._cut = False

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._server, timeout=10)
            except OSError:
                _end(near)
                continue
            far.settimeout(None)
            if self._join(near, far):
                _Way(near, far, self._delay_s).start()
                _Way(far, near, self._delay_s).start()

    def _join(self, near: socket.socket, far: socket.socket) -> bool:
        for link in (near, far):
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            if not self._cut:
                self.connections += 1
                self._links |= {near, far}
                return True
        _end(near)
        _end(far)
        return False


class _Way:
    """One direction of a connection: read by one thread, sent on by another when it is time."""

    def __init__(self, source: socket.socket, target: socket.socket, delay_s: float) -> None:
        self._source = source
        self._target = target
        self._delay_s = delay_s
        self._held: deque[tuple[float, bytes]] = deque()
        self._came = threading.Semaphore(0)

    def start(self) -> None:
        for work in (self._read, self._send):
            threading.Thread(target=work, name="delay", daemon=True).start()

    def _read(self) -> None:
        block = b"."
        while block:
            try:
                block = self._source.recv(_BLOCK)
            except OSError:
                block = b""
            self._held.append((time.monotonic() + self._delay_s, block))
            self._came.release()

    def _send(self) -> None:
        while True:
            self._came.acquire()
            due, block = self._held.popleft()
            if (early := due - time.monotonic()) > 0:
                time.sleep(early)
            try:
                if not block:
                    self._target.shutdown(socket.SHUT_WR)
                    return
                self._target.sendall(block)
            except OSError:
                _end(self._source)
                return


def _end(link: socket.socket) -> None:
    with suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)
    link.close()
