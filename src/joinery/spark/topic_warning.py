"""Warns of Kafka topics that nobody writes while one of a like name is there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from joinery.connect.near_topic import near_topics
from joinery.connect.source_folder import misnamed
from joinery.model.warning import RunWarning
from joinery.spark.source import SourceRead
from joinery.spec.kafka import REPLAY, is_named, pattern_of
from joinery.spec.product import ProjectSpec


def topic_warnings(
    spec: ProjectSpec, read: SourceRead, there: Collection[str]
) -> Iterator[RunWarning]:
    """Yield the relations whose topic is not there, where one like it is that nobody reads.

    Args:
        spec: The project; what it writes, and what any relation of it reads, is not like it.
        read: A source of Kafka's, and what a query reads of it.
        there: The topics that its brokers have.
    """
    missing = {
        topic: relations
        for topic, relations in read.relations.items()
        if topic not in there and pattern_of(topic) is None
    }
    unread = _unread(spec, there) if missing else ()
    for topic, relations in missing.items():
        if near := near_topics(topic, unread):
            for relation in relations:
                location = spec.locate(("relations", relation), key=True)
                yield misnamed(relation, f"topic {topic}", near, location)


class TopicNames:
    """Looks at the topics of one source, and again only once others are there.

    Args:
        spec: The project.
        reads: The source, as each query reads it.
    """

    def __init__(self, spec: ProjectSpec, reads: Sequence[SourceRead]) -> None:
        self._spec = spec
        self._reads = reads
        self._known: frozenset[str] | None = None

    def warnings(self, there: Collection[str]) -> Iterator[RunWarning]:
        """Yield what is to be warned of where a source has these topics."""
        names = frozenset(there)
        if names != self._known:
            self._known = names
            for read in self._reads:
                yield from topic_warnings(self._spec, read, names)


def _unread(spec: ProjectSpec, there: Collection[str]) -> list[str]:
    """Return the topics that no relation reads and no sink writes."""
    read = [each.topic or each.name for each in spec.relations]
    sinks = [
        *(sink for each in spec.products for sink in each.sinks),
        *(sink for each in spec.streams for sink in each.sinks),
        *(sink for _, sink in spec.sinks),
    ]
    written = {dict(each.options).get("topic") for each in sinks}
    return [
        each
        for each in there
        if not each.endswith(REPLAY)
        and each not in written
        and not any(is_named(topic, each) for topic in read)
    ]
