"""Keeps the dead letters of one query, those of a batch and those of documents sent between two."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from joinery.dead_letters.folder import DeadLetterWriter
from joinery.delivery.lease import Lease
from joinery.delivery.outlet import SinkDeadLetters, SinkResult


class QueryLetters:
    """The dead letters of one query; threads may share it.

    Args:
        place: Where they go; what cannot be kept there ends the query, unless it may wait.
        lease: Without it nothing is kept.
    """

    def __init__(self, place: DeadLetterWriter, lease: Lease) -> None:
        self._place, self._lease = place, lease
        self._keeping, self._counting = threading.Lock(), threading.Lock()
        self._last_ms = 0

    def keep(self, parts: Sequence[Path], *, query_id: str, batch_id: int) -> None:
        """Keep the dead letters of a batch."""
        with self._keeping:
            self._place.put(parts, query_id=query_id, batch_id=batch_id, check=self._lease.check)

    def keep_refused(self, product: str, outcomes: Sequence[SinkResult]) -> None:
        """Keep those of documents that went out between two batches."""
        refused = [(target, written.refused) for target, written in outcomes if written.refused]
        if not refused:
            return
        with tempfile.TemporaryDirectory(prefix="joinery-letters-") as folder:
            part = Path(folder, "part-00000.jsonl")
            letters = SinkDeadLetters(part)
            for target, each in refused:
                letters.add(product, target, each)
            self.keep((part,), query_id=f"{product}-between", batch_id=self._now_ms())

    def keep_live(self, part: Path, query: str) -> None:
        """Keep those that real time has handed over."""
        self.keep((part,), query_id=f"{query}-live", batch_id=self._now_ms())

    def _now_ms(self) -> int:
        """Return milliseconds since 1970, later ones with each call: a number of its own."""
        with self._counting:
            self._last_ms = max(self._last_ms + 1, round(time.time() * 1000))
            return self._last_ms

    def close(self) -> None:
        """Close the place."""
        self._place.close()
