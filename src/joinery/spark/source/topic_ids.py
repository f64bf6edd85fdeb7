"""Remembers which topics a query reads: one that is created again is another of the same name.

Its records have offsets that were read before, so the offsets alone do not tell.

Invariant: an id stands until nothing of its topic was read, or the source may go on without.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping

from joinery.files import write_whole
from joinery.place.place import Place
from joinery.spark.source.kafka_client import Gap
from joinery.spark.source.source import Positions

FILE_NAME = "joinery.topics.json"


class TopicIds:
    """The ids of the topics of one query, by source, beside its checkpoint; for any thread.

    Args:
        checkpoint: Of the query.
        check: Raises once another run has taken over.
    """

    def __init__(self, checkpoint: Place, check: Callable[[], None]) -> None:
        self._file = checkpoint / FILE_NAME
        self._check = check
        self._lock = threading.Lock()
        self._every: dict[str, dict[str, str]] | None = None

    def compare(
        self, source: str, found: Mapping[str, str], read: Positions, *, goes_on: bool
    ) -> list[Gap]:
        """Return what was read of topics that were created again since; note the ids of others.

        Args:
            source: Its name.
            found: The ids of its topics now.
            read: The next offset to be read, by topic and partition.
            goes_on: Whether the source is read on nevertheless.
        """
        with self._lock:
            if self._every is None:  # nobody else writes it while the lease is held
                self._every = self._read()
            known = self._every.get(source, {})
            gaps = [
                Gap(topic, int(partition), wanted, None)
                for topic, id_ in found.items()
                if known.get(topic, id_) != id_
                for partition, wanted in sorted(
                    read.get(topic, {}).items(), key=lambda at: int(at[0])
                )
                if wanted > 0
            ]
            kept = set() if goes_on else {each.topic for each in gaps}
            noted = {**known, **{name: id_ for name, id_ in found.items() if name not in kept}}
            if noted != known:
                self._write({**self._every, source: noted})
        return gaps

    def _write(self, every: dict[str, dict[str, str]]) -> None:
        self._check()
        write_whole(self._file, f"{json.dumps(every, sort_keys=True)}\n", synced=False)
        self._every = every

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            known: dict[str, dict[str, str]] = json.loads(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):  # not told yet, or cut off with its machine
            return {}
        return known
