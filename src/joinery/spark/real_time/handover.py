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
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from joinery.errors import RunError
from joinery.model.batch import Counts

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

    @property
    def last_batch(self) -> int:
        """The number of the last commit: an interval has one of its own once it is committed.

        -1 where nothing was committed yet.
        """
        return self.interval - 1


class Sender(Protocol):
    """The query as whose documents it is sent what was handed over."""

    def send_live(self, handed: Handed, query_id: str) -> Mapping[str, Counts]:
        """Send it; return once sinks and dead letters have it, by product what sinks counted."""

    def fail(self, error: Exception) -> None:
        """End the query, which cannot go on."""


class HandoverWriter:
    """Takes what tasks hand over and sends it, in a thread of its own.

    Args:
        query: The query's name.
        handover: From which it takes.
        sender: Sends; whatever fails ends it.
    """

    def __init__(self, query: str, handover: JvmHandover, sender: Sender) -> None:
        self._handover, self._sender = handover, sender
        self._counted: dict[str, Counter[str]] = {}
        self._counting = threading.Lock()
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

    def counts(self) -> Mapping[str, Mapping[str, Counts]]:
        """Return what sinks have counted so far, as tasks tell of theirs."""
        with self._counting:
            counted = {product: dict(each) for product, each in self._counted.items()}
        refused = sum(each.get("refused", 0) for each in counted.values())
        return {"counters": counted, "dead_letters": {"": {"count": refused}}}

    def _run(self) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="joinery-live-") as folder:
                while not self._ended.is_set():
                    self._pass_on(Path(folder))
        except Exception as error:
            self._sender.fail(error)
        except BaseException as error:  # as asyncio's of a task that was cancelled
            self._sender.fail(RunError(f"{type(error).__name__} was raised by what sends it"))

    def _pass_on(self, folder: Path) -> None:
        told = self._handover.take(folder, _WAIT_MS)
        if told:
            counted = self._sender.send_live(handed(json.loads(told), folder), self._query_id)
            self._handover.done()
            with self._counting:
                for product, each in counted.items():
                    self._counted.setdefault(product, Counter()).update(each)


def handed(told: Mapping[str, Any], folder: Path) -> Handed:
    """Return what the kernel tells it has written below a folder."""
    documents = {name: folder / f"{name}.jsonl" for name in told["products"]}
    letters = folder / ".letters.jsonl" if told["letters"] else None
    return Handed(told["interval"], documents, letters)
