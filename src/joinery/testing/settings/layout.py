"""The same logs laid out again: their order, their partitions, their files or topics.

Limits: streams are left out. A topic of files is one partition, so partitions need a broker.
"""

from __future__ import annotations

import json
import random
import uuid
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from joinery.app.project import Project
from joinery.clients.kafka import Brokers, create_topic, make_producer
from joinery.expression.convert import micros_of
from joinery.files import write_whole
from joinery.plan.relation import Relation
from joinery.project.kind import SinkSpec
from joinery.project.kinds import FORMATS
from joinery.project.load import dump_spec
from joinery.project.product import ProjectSpec
from joinery.project.relation import RelationSpec
from joinery.semantics.merge import RowMerge
from joinery.semantics.read_change import change_line
from joinery.semantics.rows import Findings
from joinery.testing.changes import RowChange
from joinery.testing.settings.setting import Setting, SettingError

PROJECT, CHECKPOINT = "joinery.yaml", "checkpoint"
OUT, DEAD_LETTERS = "out", "dead_letters"
_IN, _LINES = "in", 1_000


def lay_out(
    project: Project,
    changes: Sequence[RowChange],
    setting: Setting,
    folder: Path,
    kafka: str | None,
) -> None:
    """Write the changes as a setting has them, and into a folder the project that reads them."""
    topics = "" if setting.partitions is None else f"-{uuid.uuid4().hex[:8]}"
    spec = _in_folder(project.spec, folder, setting, kafka, topics)
    write_whole(folder / PROJECT, dump_spec(spec), synced=False)
    relations = {
        each.name: each for one in Project.of(spec).plan.products for each in one.relations
    }
    told = ((relations[each.relation], each) for each in changes if each.relation in relations)
    if setting.partitions is None:
        write_files(folder / _IN, told)
    else:
        assert kafka is not None  # settings with partitions are left out without it
        _write_topics(kafka, told, relations.values(), setting.partitions)


def arranged(
    changes: Sequence[RowChange], relations: Mapping[str, Relation], setting: Setting
) -> Sequence[RowChange]:
    """Return the changes in the order and the partitions that a setting gives them."""
    if setting.shuffled:
        return shuffled(changes, relations)
    if setting.partitions is not None:
        return dealt(changes, relations, setting.partitions)
    return changes


def shuffled(
    changes: Sequence[RowChange], relations: Mapping[str, Relation], seed: int = 7
) -> Sequence[RowChange]:
    """Return the changes as they may arrive where each is delayed by up to its relation's delay.

    A row in time stays in time, and one that is behind by more stays behind those that it was
    behind. Changes of one key keep their order.
    """
    pick, clock = random.Random(seed), dict[str, float]()
    last = dict[tuple[Any, ...], float]()
    arrivals = list[tuple[str, float, int]]()
    for number, each in enumerate(changes):
        relation = relations.get(each.relation)
        if relation is None or relation.time is None:
            arrivals.append((each.relation, float(number), number))
            continue
        delay_us = relation.delay_ms * 1000
        time_us = event_time_us(each, relation)
        newest = clock.get(each.relation, -float("inf"))
        arrival = newest + delay_us
        if time_us is not None:
            if time_us >= newest - delay_us:
                arrival = time_us + pick.uniform(0, delay_us)
            clock[each.relation] = max(newest, time_us)
        if relation.key:
            key = (each.relation, *(each.columns[name] for name in relation.key))
            arrival = last[key] = max(arrival, last.get(key, arrival))
        arrivals.append((each.relation, arrival, number))
    return [changes[number] for *_, number in sorted(arrivals)]


def dealt(
    changes: Sequence[RowChange], relations: Mapping[str, Relation], partitions: int, seed: int = 7
) -> Sequence[RowChange]:
    """Return the changes over so many partitions: those of a key in one, others at random."""
    pick = random.Random(seed)

    def partition(each: RowChange) -> int:
        relation = relations.get(each.relation)
        if relation is None or not relation.key:
            return pick.randrange(partitions)
        key = repr([each.columns[name] for name in relation.key])
        return zlib.crc32(key.encode()) % partitions

    return [each.within(partition(each)) for each in changes]


def event_time_us(change: RowChange, relation: Relation) -> int | None:
    """Return the time that a change tells, derived or not, in microseconds since 1970."""
    if relation.time is None or change.op not in ("insert", "update"):
        return None
    row = RowMerge(relation, Findings()).first(change.change(relation))
    moment = row[relation.time]
    return None if moment is None else micros_of(moment)


def _in_folder(
    spec: ProjectSpec, folder: Path, setting: Setting, kafka: str | None, topics: str
) -> ProjectSpec:
    """Return the project with all that it reads and writes in one place."""
    kept = dict(spec.run.spark) | {"spark.sql.shuffle.partitions": str(setting.shuffle_partitions)}
    run = replace(
        spec.run,
        checkpoint=CHECKPOINT,
        dead_letters=SinkSpec("files", (("path", DEAD_LETTERS),)),
        max_rows_per_batch=setting.rows,
        spark=tuple(kept.items()),
    )
    kind, options = "files", (("path", _IN),)
    if setting.partitions is not None:
        kind, options = "kafka", (("bootstrap", str(kafka)),)
    sinks = (SinkSpec("files", (("path", OUT),)),)
    return replace(
        spec,
        folder=folder,
        run=run,
        sources=tuple(replace(each, kind=kind, options=options) for each in spec.sources),
        defaults=replace(spec.defaults, format=_lined(spec.defaults.format)),
        relations=tuple(_relation(each, topics) for each in spec.relations),
        products=tuple(replace(each, sinks=sinks) for each in spec.products),
        streams=(),
    )


def _relation(spec: RelationSpec, topics: str) -> RelationSpec:
    topic = f"{spec.topic or spec.name}{topics}" if topics else spec.topic
    return replace(spec, topic=topic, format=_lined(spec.format))


def _lined(format: str | None) -> str | None:
    """Return a format that has lines."""
    return "json" if format is not None and FORMATS[format].registry else format


def write_files(folder: Path, changes: Iterable[tuple[Relation, RowChange]]) -> None:
    """Write changes as the source `files` reads them, a thousand lines a file."""
    lines = defaultdict[str, list[str]](list)
    for relation, each in changes:
        lines[relation.topic].append(change_line(each.change(relation), relation))
    for topic, told in lines.items():
        for at in range(0, len(told), _LINES):
            text = "".join(f"{line}\n" for line in told[at : at + _LINES])
            write_whole(folder / topic / f"{at // _LINES:06d}.jsonl", text, synced=False)


def _write_topics(
    bootstrap: str,
    changes: Iterable[tuple[Relation, RowChange]],
    relations: Iterable[Relation],
    partitions: int,
) -> None:
    brokers = Brokers(bootstrap, {})
    for relation in relations:
        create_topic(brokers, relation.topic, partitions=partitions, replication=1, settings={})
    # Without it a retry, as of a topic that is new, overtakes what was sent before.
    producer = make_producer(brokers, defaults={"enable.idempotence": True})
    for number, (relation, each) in enumerate(changes, 1):
        key, value = _record(change_line(each.change(relation), relation))
        producer.produce(relation.topic, value, key, each.partition)
        if number % _LINES == 0:
            producer.poll(0)
    if left := producer.flush(60):
        raise SettingError(f"{left} records could not be written to Kafka at {bootstrap}")


def _record(line: str) -> tuple[str | None, str | None]:
    told = json.loads(line)
    if told.keys() != {"key", "value"}:
        return None, line
    return _text(told["key"]), None if told["value"] is None else _text(told["value"])


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
