"""What the product has sent, read from its sink: who is told now, and the last notifications."""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

_SHOWN = 14
Record = tuple[Mapping[str, Any], Mapping[str, Any] | None, int]
"""A key, a match or None where the two match no more, and a version."""
Match = tuple[int, int]


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
                    value = each.value()
                    version = int(dict(each.headers() or [])["joinery.version"])
                    yield (
                        json.loads(each.key()),
                        None if value is None else json.loads(value),
                        version,
                    )


class Alerts:
    """Keeps the newest version of each match, and the last that came and went.

    Args:
        sent: What the product's sink was sent.
        letters: The folder with its dead letters.
    """

    def __init__(self, sent: Sent, letters: Path) -> None:
        self._sent, self._letters = sent, letters
        self._matches: dict[Match, Mapping[str, Any] | None] = {}
        self._versions: dict[Match, int] = {}
        self._last: deque[dict[str, Any]] = deque(maxlen=_SHOWN)
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()

    def matches(self) -> dict[Match, Mapping[str, Any]]:
        """Return the matches that stand, by the ids of search and listing."""
        with self._lock:
            for key, value, version in self._sent.news():
                self._take((key["query"]["id"], key["document"]["id"]), value, version)
            return {match: value for match, value in self._matches.items() if value is not None}

    def _take(self, match: Match, value: Mapping[str, Any] | None, version: int) -> None:
        if version <= self._versions.get(match, 0):
            return
        before = self._matches.get(match)
        what = "left" if value is None else "entered" if before is None else "changed"
        self._matches[match], self._versions[match] = value, version
        self.counts[what] += 1
        shown = value or before or {}
        self._last.appendleft({"what": what, "search": match[0], "listing": match[1], **shown})

    def broken(self) -> dict[int, tuple[str, str]]:
        """Return when and why searches could not be read, the newest of each by its id."""
        found = {}
        for file in sorted(self._letters.rglob("*.jsonl")):
            for line in file.read_text(encoding="utf-8").splitlines():
                letter = json.loads(line)
                if letter.get("reason") == "query_broken":
                    told = letter["time"], letter["detail"]
                    id = json.loads(letter["key"])["query"]["id"]
                    found[id] = max(told, found.get(id, told))
        return found

    def shown(self, searches: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        """Return what the page shows of the searches that stand: yours, then the newest."""
        matches, broken = self.matches(), self.broken()
        counted = Counter(search for search, _ in matches)
        told = [
            {**row, "matches": counted[id], "broken": _reason(row, broken.get(id))}
            for id, row in searches.items()
        ]
        told.sort(key=lambda each: (each["person"] != "you", -each["id"]))
        return {
            "searches": told[:_SHOWN],
            "standing": len(searches),
            "matches": len(matches),
            "news": list(self._last),
        }


def _reason(row: Mapping[str, Any], letter: tuple[str, str] | None) -> str | None:
    """Return why a search cannot be read as it is now; a letter may be about what it was."""
    return None if letter is None or letter[0] < row["at"] else letter[1]
