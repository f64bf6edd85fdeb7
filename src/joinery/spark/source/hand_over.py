"""Records of topics in Kafka, handed over to the JVM that decodes change files."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_reader import Record, read_topic
from joinery.dead_letters.replay_key import at_first_place
from joinery.project.kafka import REPLAY


@dataclass(slots=True)
class HandedOver:
    """A file of records, of one topic after the other.

    Attributes:
        file: Where they are; it is not there before the first topic.
        logged_s: By the number of a topic, when it took each record, by its place, in seconds
            since 1970; 0 where it does not tell.
        left: By the number of a topic, how many records were not taken.
    """

    file: Path
    logged_s: dict[int, dict[tuple[int, int], float]] = field(default_factory=dict)
    left: dict[int, int] = field(default_factory=dict)

    def take(self, records: Iterable[Record], number: int, *, most: int) -> None:
        """Take the first records of a topic, none where it is not there.

        Args:
            records: Of the topic.
            number: The topic's.
            most: How many are taken.
        """
        times = self.logged_s.setdefault(number, {})
        with self.file.open("a", encoding="ascii") as out:
            for each in records:
                if len(times) >= most:
                    self.left[number] = self.left.get(number, 0) + 1
                    continue
                times.setdefault((each.partition, each.offset), max(0, each.logged_ms) / 1000)
                out.write(f"{json.dumps(_line(each, number))}\n")


def log_records(
    brokers: Brokers, topic: str, begun: Mapping[str, Mapping[str, int]]
) -> Iterator[Record]:
    """Yield the records of a topic, then those of it that were put back, at their first places.

    One that was put back counts also where its first place is before the first that is read.

    Args:
        brokers: Where the topic is.
        topic: Its name.
        begun: By topic and partition, the first offset that is read; by default 0.

    Raises:
        SinkUnavailableError: The brokers do not answer.
        SinkError: They refuse us.
    """
    again = f"{topic}{REPLAY}"
    yield from _since(read_topic(brokers, topic), begun.get(topic, {}))
    yield from map(at_first_place, _since(read_topic(brokers, again), begun.get(again, {})))


def _since(records: Iterable[Record], begun: Mapping[str, int]) -> Iterator[Record]:
    return (each for each in records if each.offset >= begun.get(str(each.partition), 0))


def _line(record: Record, number: int) -> dict[str, object]:
    return {
        "topic": number,
        "partition": record.partition,
        "offset": record.offset,
        "logged": max(0, record.logged_ms) * 1000,
        "key": _text(record.key),
        "value": _text(record.value),
    }


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()
