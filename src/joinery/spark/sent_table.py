"""Small tables of stores in a session's JVM: sent to its tasks once, for many batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from joinery.connect.lookup.whole import Whole


class SentTables:
    """Remembers the table that was sent last for each lookup; an older one is let go of."""

    def __init__(self) -> None:
        self._sent: dict[int, tuple[Whole, Any]] = {}

    def of(self, node: int, whole: Whole, send: Callable[[], Any]) -> Any:
        """Return what was sent of `whole`; `send` is called where it was not sent yet."""
        held = self._sent.get(node)
        if held is not None and held[0] is whole:
            return held[1]
        self._sent[node] = whole, send()
        if held is not None:
            held[1].close()
        return self._sent[node][1]
