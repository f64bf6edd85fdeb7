"""What a product has sent, read from its sink: what stands now, and the last that came and went."""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

SHOWN = 14
Row = Mapping[str, Any]
Record = tuple[Row, Row | None, int]
"""A key, its row or None where there is none any more, and a version."""


class Sent(Protocol):
    """Gives what a sink was sent."""

    def news(self) -> Iterable[Record]:
        """Return what came since it was asked last."""


class SentFiles:
    """The folder of a files sink."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: set[str] = set()

    def news(self) -> Iterator[Record]:
        """Yield the lines of new files, which are complete once their name is there."""
        for file in sorted(self._folder.glob("*.jsonl")):
            if file.name not in self._read:
                self._read.add(file.name)
                for line in file.read_text(encoding="utf-8").splitlines():
                    told = json.loads(line)
                    yield told["key"], told["value"], told["version"]


class SentTopic:
    """The topic of a Kafka sink, read as a program that notifies people would read it."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        from confluent_kafka import OFFSET_BEGINNING, Consumer

        settings = {"bootstrap.servers": bootstrap, "group.id": "alerts", "log_level": 0}
        settings |= {"isolation.level": "read_committed", "enable.auto.commit": False}
        settings |= {"auto.offset.reset": "earliest", "topic.metadata.refresh.interval.ms": 1000}
        self._consumer = Consumer(settings)

        def begin(consumer: Consumer, partitions: Any) -> None:
            for each in partitions:
                each.offset = OFFSET_BEGINNING
            consumer.assign(partitions)

        self._consumer.subscribe([topic], on_assign=begin)

    def news(self) -> Iterator[Record]:
        """Yield new records."""
        while found := self._consumer.consume(500, timeout=0.2):
            for each in found:
                if each.error() is None:
                    key, value = each.key(), each.value()
                    version = dict(each.headers() or [])["joinery.version"]
                    assert key is not None, "a document has a key"
                    assert version is not None, "a document has a version"
                    yield (
                        json.loads(key),
                        None if value is None else json.loads(value),
                        int(version),
                    )


class Standing:
    """Keeps the newest version of each row, and the last that came and went.

    Args:
        sent: What the product's sink was sent.

    Attributes:
        counts: How many rows entered, changed and left.
        last: The last of them, the newest first: `what` it was, and the row.
    """

    def __init__(self, sent: Sent) -> None:
        self._sent = sent
        self._records: dict[str, Record] = {}
        self._lock = threading.Lock()
        self.last: deque[dict[str, Any]] = deque(maxlen=SHOWN)
        self.counts: Counter[str] = Counter()

    def rows(self) -> list[tuple[Row, Row]]:
        """Return the rows that stand, each with its key."""
        with self._lock:
            for record in self._sent.news():
                self._take(json.dumps(record[0], sort_keys=True), record)
            known = self._records.values()
            return [(key, value) for key, value, _ in known if value is not None]

    def _take(self, text: str, record: Record) -> None:
        key, value, version = record
        _, before, known = self._records.get(text, (key, None, 0))
        if version <= known:
            return
        what = "left" if value is None else "entered" if before is None else "changed"
        self._records[text] = record
        self.counts[what] += 1
        self.last.appendleft({"what": what, **(value or before or {})})
