"""Remembers which topics a query reads: one that is created again is another of the same name.

Its records have offsets that were read before, so the offsets alone do not tell.

Invariant: an id stands until nothing of its topic was read, or the source may go on without.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from joinery.place.place import Place
from joinery.spark.source.kafka_client import Gap
from joinery.spark.source.query_notes import QueryNotes
from joinery.spark.source.source import Positions

FILE_NAME = "joinery.topics.json"


class TopicIds:
    """The ids of the topics of one query, by source, beside its checkpoint; for any thread.

    Args:
        checkpoint: Of the query.
        check: Raises once another run has taken over.
    """

    def __init__(self, checkpoint: Place, check: Callable[[], None]) -> None:
        self._notes = QueryNotes(checkpoint / FILE_NAME, check, dict, _ids)
        self._lock = threading.Lock()

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
            known = self._notes.get(source) or {}
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
                self._notes.put(source, noted)
        return gaps


def _ids(told: object) -> dict[str, str]:
    if not isinstance(told, dict):
        raise TypeError("no ids by topic")
    return told
