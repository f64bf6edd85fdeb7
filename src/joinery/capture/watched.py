"""Work on a server that is broken off where it may not go on, such as making a slot.

There is no process yet that could be ended, so what the work depends on is looked after by a thread
of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from joinery.clients.postgres import database_errors

if TYPE_CHECKING:
    import psycopg

    Link = psycopg.Connection[tuple[Any, ...]]

_LOOK_S = 0.5
_END_S = 2.0


class Watched:
    """One piece of work.

    Args:
        goes_on: Whether it may go on; asked by another thread, again and again.

    Attributes:
        broken: It was broken off: what waits for its connection fails.
    """

    def __init__(self, goes_on: Callable[[], bool]) -> None:
        self._goes_on = goes_on
        self._link: Link | None = None
        self.broken = False

    def set_link(self, link: Link) -> None:
        """Name the connection that may have to wait for others."""
        self._link = link

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch while the block runs."""
        over = threading.Event()
        watching = threading.Thread(target=self._watch, args=(over,), daemon=True)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join(_END_S)  # it may be asking a server that does not answer

    def _watch(self, over: threading.Event) -> None:
        """Break the work off where it may not go on, as often as it takes."""
        while not over.wait(_LOOK_S):
            if self.broken or not self._goes_on():
                self.broken = True
                if self._link is not None:
                    with suppress(*database_errors()):
                        self._link.cancel()
