"""Connections that are lent to one thread at a time: opened when needed, dropped when they fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """What a pool holds."""

    def close(self) -> None:
        """Release it."""


Link = TypeVar("Link", bound=Closable)


class Pool(Generic[Link]):
    """Lends connections; as many are open as were ever in use at once.

    Args:
        connect: Opens one more.
    """

    def __init__(self, connect: Callable[[], Link]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._idle: list[Link] = []

    @contextmanager
    def lend(self) -> Iterator[Link]:
        """Lend a connection for the length of a block; one that a block fails with is closed."""
        with self._lock:
            link = self._idle.pop() if self._idle else None
        if link is None:
            link = self._connect()
        try:
            yield link
        except BaseException:
            _close(link)
            raise
        with self._lock:
            self._idle.append(link)

    def close(self) -> None:
        """Close those that are not lent."""
        with self._lock:
            idle, self._idle = self._idle, []
        for link in idle:
            _close(link)


def _close(link: Closable) -> None:
    with suppress(Exception):  # it is given up either way
        link.close()
