"""Finds changes in change files and topics by what they tell of columns, in a JVM of its own.

All records are read there once, and of each only its position and the columns by which changes
are sought. What is found is decoded as a whole: some records of a million.
"""

from __future__ import annotations

import json
import tempfile
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from joinery.clients.kafka_reader import read_edges_of
from joinery.dead_letters.open import source_brokers
from joinery.model.change import Change
from joinery.observe.frontier import BegunOffsets, SeenSizes
from joinery.plan.relation import Relation
from joinery.project.kafka import REPLAY, kafka_options
from joinery.project.product import ProjectSpec
from joinery.provenance.logs import Ordered
from joinery.semantics.read_change import change_reader
from joinery.semantics.render import document_json
from joinery.semantics.rows import JoinValue
from joinery.spark.jar import kafka_client
from joinery.spark.source.door_process import DoorProcess
from joinery.spark.source.file_request import (
    FileRequest,
    source_of,
)
from joinery.spark.source.log_order import Moment, part_of
from joinery.spark.source.search_process import search_process

_MOST = (1 << 63) - 1
_PART_BYTES = 4 << 20
"""What a thread reads at a time."""


ALL = Moment()
"""All that there is."""


class LogSearch:
    """Finds changes, each known by a number.

    Attributes:
        read: How many records were read, by relation.
        left: How many were not, by relation; empty where all were.
        dead: How many at least are dead letters, by topic.
        ignored: How many updates and deletes at least were ignored, by relation that is `append`.
        files: By relation, the files of its topic by the first part of a change's place.
    """

    def __init__(
        self,
        spec: ProjectSpec,
        relations: Sequence[Relation],
        asked: FileRequest,
        process: DoorProcess,
    ) -> None:
        self._asked, self._process = asked, process
        self._relations = {each.name: (at, each) for at, each in enumerate(relations)}
        self._reader = change_reader(relations)
        self._made: dict[int, Change] = {}
        told = json.loads(process.answer())
        self.read, self.left, self.dead = dict[str, int](), dict[str, int](), dict[str, int]()
        for (_, name), dead in zip(asked.topics, told["dead"], strict=True):
            self.dead[name] = self.dead.get(name, 0) + dead
        for topic, places in enumerate(asked.readers):
            for name in (relations[place].name for place in places):
                if told["read"][topic]:
                    self.read[name] = told["read"][topic]
                if told["left"][topic]:
                    self.left[name] = told["left"][topic]
        counts = zip(relations, told["ignored"], strict=True)
        self.ignored = {relation.name: count for relation, count in counts if count}
        self.files = asked.files(spec, relations, told["files"])

    def holding(
        self, relation: Relation, columns: Sequence[str], values: Collection[JoinValue]
    ) -> set[int]:
        """Return the changes that tell one of some values of columns, and hardly any others."""
        place, decoded = self._relations[relation.name]
        names = [json.dumps(each, ensure_ascii=False) for each in columns]
        types = [decoded.type_of(each) for each in columns]
        rows = [
            ",".join(
                f"{name}:{document_json(each, type_)}"
                for name, type_, each in zip(names, types, value, strict=True)
            )
            for value in values
        ]
        self._process.ask({"relation": place, "columns": list(columns), "rows": len(rows)})
        # What is no UTF-8, such as a mistyped key, is in no record.
        self._process.write(*(f"{{{each}}}\n".encode(errors="surrogatepass") for each in rows))
        return {*_numbers(self._process.answer())}

    def changes(self, numbers: Collection[int]) -> Mapping[int, Change]:
        """Return changes that were found, but for those of records that cannot be decoded."""
        new = sorted(each for each in numbers if each not in self._made)
        if new:
            self._process.ask({"changes": new})
            lines = self._process.answer().splitlines()
            told = [(number, line) for number, line in zip(new, lines, strict=True) if line]
            changes = self._reader(line for _, line in told)
            self._made.update(zip((number for number, _ in told), changes, strict=True))
        return {each: self._made[each] for each in numbers if each in self._made}

    def first(self, relation: Relation, most: int) -> set[int]:
        """Return those of the first changes of a relation that are told."""
        place, _ = self._relations[relation.name]
        self._process.ask({"first": place, "most": most})
        return {*self.changes(_numbers(self._process.answer()))}

    def in_written_order(
        self, numbers: Collection[int], *, one_database: bool, moment: Moment = ALL
    ) -> tuple[Ordered, list[Change]]:
        """Return what orders all changes of the logs, and some of them in that order.

        Args:
            numbers: Of changes that are told.
            one_database: Whether all positions are of one database.
            moment: Only what is there until then.

        Raises:
            MomentError: It is of the other kind than what orders the logs, or names no record.
        """
        written = [self._written(relations) for relations in self._asked.readers]
        order = {"order": [*numbers], "written": written, "placed": one_database}
        self._process.ask({**order, **self._until(moment)})
        placed, *ordered = _numbers(self._process.answer())
        by: Ordered = "position" if placed else "time"
        if moment.bound is not None and moment.bound.by != by:
            raise moment.refused(by)
        return by, [self._made[each] for each in ordered]

    def _until(self, moment: Moment) -> dict[str, object]:
        record, bound = moment.record, moment.bound
        if record is not None:
            topic = self._asked.topics.index((record.source, record.topic))
            tells = self._asked.readers[topic]
            read = [name for name, (place, _) in self._relations.items() if place in tells]
            part = part_of(record, read, self.files)
            return {"record": [topic, part, min(_MOST, _MOST if record.at is None else record.at)]}
        if bound is None:
            return {}
        value = bound.value if bound.by == "position" else round(bound.value * 1_000_000)
        return {bound.by: min(_MOST, int(value))}

    def _written(self, relations: Sequence[int]) -> dict[int, int]:
        """Return when the files of a topic were written, in microseconds."""
        read = next(name for name, (at, _) in self._relations.items() if at in relations)
        return {
            number: path.stat().st_mtime_ns // 1000
            for number, path in self.files.get(read, {}).items()
            if path.is_file()
        }


@contextmanager
def log_search(
    spec: ProjectSpec,
    relations: Sequence[Relation],
    *,
    most: int,
    told: Mapping[str, Collection[str]],
    seen: SeenSizes,
    begun: BegunOffsets,
    columns: Mapping[str, Collection[str]],
    process: DoorProcess | None = None,
) -> Iterator[LogSearch]:
    """Give what finds changes of some relations, none of which has personal columns.

    Args:
        spec: The project, which names the folders and the brokers.
        relations: Their sources are folders, databases whose spool is one, or in Kafka.
        most: How many records of a topic are read.
        told: By relation, what a delete tells beside its key (`told_by_deletes`).
        seen: Of these files no more is read, as a query that saw them so reads no more.
        begun: Of these topics nothing before is read, as a query that began there does not.
        columns: By relation, those by which changes are sought.
        process: That was started before; it is taken if it can read all of them.

    Raises:
        RunError: Java is missing, or the records cannot be read.
        ArtifactError: A topic is to be read, and Kafka's client for Java could not be fetched.
        SinkError: Brokers do not answer.
        TooManyChangesError: The search needs more memory than it may have.
    """
    asked = FileRequest.of(spec, relations, most=most, told=told, seen=seen)
    narrow = json.loads(asked.data["relations"])
    for each in narrow:
        sought = {*columns[each["name"]], *each["key"]}
        each["columns"] = [column for column in each["columns"] if column["name"] in sought]
        each["told"] = []
        if each["logged"] not in sought:
            each["logged"] = None
    jars = kafka_client() if asked.brokers else ()
    with ExitStack() as closing, tempfile.TemporaryDirectory(prefix="joinery-") as folder:
        if process is None or not process.has(jars):
            process = closing.enter_context(search_process(jars))
        # Brokers answer while the process starts.
        further = {
            "narrow": json.dumps(narrow),
            "partBytes": _PART_BYTES,
            "brokers": [_topics(spec, each, asked, begun) for each in asked.brokers],
            "spool": str(Path(folder, "records")),
        }
        process.ask({**asked.data, **further})
        yield LogSearch(spec, relations, asked, process)


def _topics(
    spec: ProjectSpec, name: str, asked: FileRequest, begun: BegunOffsets
) -> dict[str, object]:
    """Return how the topics of a source in Kafka are read, and from where to where."""
    source = source_of(spec, name)
    topics = [topic for of, topic in asked.topics if of == name]
    edges = read_edges_of(
        source_brokers(source), *topics, *(f"{topic}{REPLAY}" for topic in topics)
    )
    first = begun.get(name, {})

    def partitions(topic: str) -> list[tuple[int, int, int]]:
        begins = first.get(topic, {})
        return [
            (number, max(low, begins.get(str(number), 0)), end)
            for number, (low, end) in edges[topic].items()
        ]

    options = kafka_options(source)
    return {
        "properties": {**options.properties, "bootstrap.servers": options.bootstrap},
        "topics": [
            {
                "name": each,
                "partitions": partitions(each),
                "again": f"{each}{REPLAY}",
                "partitionsAgain": partitions(f"{each}{REPLAY}"),
            }
            for each in topics
        ],
    }


def _numbers(answer: bytes) -> array[int]:
    return array("i", answer)
