"""Writes what real-time mode hands to the driver of a local session, a few documents at a time.

The sinks are those of the query's batches, so they wait for a target that is away, remember
deletes and fence earlier runs as they do there.

Invariant: what was taken is told to be written only once every sink has it and its dead letters
are kept; until then Spark does not commit.
"""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from joinery.spark.kernel import JvmHandover

_WAIT_MS = 200


@dataclass(frozen=True, slots=True)
class Handed:
    """Documents and dead letters that were handed over at a time.

    Attributes:
        interval: Of Spark, whose commit will tell that they were sent.
        documents: By product, a file of staged lines, each key once.
        letters: A file of dead letters; None for none.
    """

    interval: int
    documents: Mapping[str, Path]
    letters: Path | None


class Sending(Protocol):
    """Sends what was handed over; returns once sinks and dead letters have it."""

    def __call__(self, handed: Handed, query_id: str) -> None:
        """Send it."""


class HandoverWriter:
    """Takes what tasks hand over and sends it, in a thread of its own.

    Args:
        query: The query's name.
        handover: From which it takes.
        send: Sends; what it raises ends the query.
    """

    def __init__(self, query: str, handover: JvmHandover, send: Sending) -> None:
        self._handover, self._send = handover, send
        self._ended = threading.Event()
        self._query_id = ""
        name = f"joinery-handover-{query}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def begin(self, query_id: str) -> None:
        """Begin to take; `query_id` is the identity of the query's checkpoint."""
        self._query_id = query_id
        self._thread.start()

    def close(self) -> None:
        """Take no more; what was not written is sent again by the next run."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._handover.close()

    def _run(self) -> None:
        with tempfile.TemporaryDirectory(prefix="joinery-live-") as folder:
            try:
                while not self._ended.is_set():
                    self._pass_on(Path(folder))
            except Exception as error:
                self._handover.fail(str(error))

    def _pass_on(self, folder: Path) -> None:
        told = self._handover.take(folder, _WAIT_MS)
        if told:
            self._send(handed(json.loads(told), folder), self._query_id)
            self._handover.done()


def handed(told: Mapping[str, Any], folder: Path) -> Handed:
    """Return what the kernel tells it has written below a folder."""
    documents = {name: folder / f"{name}.jsonl" for name in told["products"]}
    letters = folder / "letters.jsonl" if told["letters"] else None
    return Handed(told["interval"], documents, letters)
