"""The log that an example writes its changes and events to: files, or Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

Row = Mapping[str, Any]


class Log(Protocol):
    """Takes rows of a topic, in order."""

    def write(self, topic: str, rows: Iterable[Row]) -> None:
        """Append `rows`; they can be read when it returns."""


class FileLog:
    """One file a write below `<folder>/<topic>`, in place once it is complete.

    Attributes:
        folder: As given.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._written = 0

    def write(self, topic: str, rows: Iterable[Row]) -> None:
        """Append a file, unless there is nothing to write."""
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        if not text:
            return
        self._written += 1
        place = self.folder / topic
        place.mkdir(parents=True, exist_ok=True)
        aside = place / f".{self._written:08d}.part"
        aside.write_text(text, encoding="utf-8")
        aside.rename(place / f"{self._written:08d}.jsonl")


class KafkaLog:
    """Topics of one Kafka; a row's first column is its record's key."""

    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka import Producer

        # The broker may end first, which the client would tell on the terminal.
        settings = {"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0}
        self._producer = Producer(settings)

    def write(self, topic: str, rows: Iterable[Row]) -> None:
        """Produce records, and wait until the broker has them."""
        for row in rows:
            key = str(next(iter(row.values())))
            self._producer.produce(topic, key=key, value=json.dumps(row))
            self._producer.poll(0)
        self._producer.flush()
