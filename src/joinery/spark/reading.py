"""What the kernel is told of the records that it reads: formats, times, and what is sealed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from joinery.model.type import opened
from joinery.plan.relation import CLOCK, LOG_TIME, Relation
from joinery.project.schema_registry import RegistryOptions
from joinery.solutions.spark_state.group_program import Closing, Deadlines, Group
from joinery.solutions.spark_state.pattern_program import Pattern
from joinery.solutions.spark_state.program import (
    Inserts,
    KernelProgram,
    RelationProgram,
    Retract,
    Versions,
)
from joinery.solutions.spark_state.stream_program import PairEvents, Rolling, Seen
from joinery.solutions.spark_state.versioning import History
from joinery.spark.jvm import class_of, strings
from joinery.spark.source.source import ERASURES, Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from joinery.vault.door import VaultAddress

_READING = "dev.joinery.kernel.door.Reading"


def reading_of(
    session: SparkSession,
    program: KernelProgram,
    relations: Sequence[Relation],
    raw: DataFrame,
    topics: Sequence[Collection[Topic]],
    sealing: str = "",
    part: int | None = None,
) -> Any:
    """Return what the kernel is to read: raw records, and what they say of which relation.

    With a part they are read for the relations of it alone, once more: then their times move no
    watermark, and no row is late against one.
    """
    readers = _readers(relations, topics)
    timed = {id(program.relations[each]) for each in _timed(program)}
    clocks = [*map(partial(_clock, program, timed), program.decoded, relations)]
    if part is not None:
        clocks = [None for _ in clocks]
        ours = {place for place, each in enumerate(program.decoded) if each.part == part}
        readers = [[each for each in some if each in ours] for some in readers]
    return class_of(session, _READING)(
        raw._jdf,
        formats_json(program, relations),
        strings(session, [each.source for each in relations]),
        strings(session, [each.topic for each in relations]),
        json.dumps(readers),
        json.dumps(clocks),
        sealing,
    )


def _readers(relations: Sequence[Relation], topics: Sequence[Collection[Topic]]) -> list[list[int]]:
    """Return for some topics at a time the places of the relations that read any of them."""
    places: dict[Topic, set[int]] = {}
    for place, each in enumerate(relations):
        for topic in (Topic(each.source, each.topic), Topic(ERASURES, each.name)):
            places.setdefault(topic, set()).add(place)
    return [sorted({p for topic in some for p in places.get(topic, ())}) for some in topics]


def formats_json(
    program: KernelProgram,
    relations: Sequence[Relation],
    told: Mapping[str, Collection[str]] | None = None,
) -> str:
    """Return what the kernel's decoders need to know about each relation.

    Args:
        program: Whose relations are decoded.
        relations: The same, as the plan has them.
        told: By relation, what a delete of a flat row tells beside its key; None for what the
            nodes of the program read of it.
    """
    return json.dumps(
        [
            {
                "name": relation.name,
                "format": relation.format,
                "key": list(relation.key_names),
                "columns": [
                    {"name": _read_as(relation, slot.name), "type": opened(slot.type).ddl}
                    for slot in each.columns
                ],
                "position": relation.position,
                "timeUnit": relation.time_unit,
                "told": sorted(_told(program, each) if told is None else told.get(each.name, ())),
                "logged": LOG_TIME if relation.logged else None,
                "images": relation.images,
                "registry": _registry_data(relation.registry),
            }
            for each, relation in zip(program.decoded, relations, strict=True)
        ]
    )


def _read_as(relation: Relation, column: str) -> str:
    """Return the name by which records have a column; one that is derived is in none."""
    derived = relation.personal.derived if relation.personal is not None else ()
    return f"{column} (derived)" if column in {each.name for each in derived} else column


def _told(program: KernelProgram, relation: RelationProgram) -> Iterator[str]:
    """Yield the columns that a delete of a flat row tells beside its key.

    A relation may be decoded twice, for products of which each has columns of its own.
    """
    for node in program.nodes:
        if isinstance(node, History | Versions):
            read = program.relations[node.relation]
            if read is relation:
                yield from (read.columns[each].name for each in node.told)


def _registry_data(registry: RegistryOptions | None) -> dict[str, object] | None:
    if registry is None:
        return None
    return {
        "url": ",".join(registry.addresses),
        "user": registry.user,
        "password": registry.password,
        "token": registry.token,
        "waitMillis": registry.wait_ms,
        "idBytes": registry.id_bytes,
    }


def _clock(
    program: KernelProgram, timed: Collection[int], decoded: RelationProgram, relation: Relation
) -> dict[str, object] | None:
    """Return which column tells the times of a relation; None where nobody asks for them.

    A program decodes the columns that its products use: a time that none does is not told.
    """
    asked = id(decoded) in timed
    if relation.time is None or not (asked or relation.watermark or relation.clocks):
        return None
    columns = [each.name for each in decoded.columns]
    ahead_us = _ahead_us(relation)
    if relation.time in columns:
        return {"column": columns.index(relation.time), "derived": False, "ahead": ahead_us}
    if not program.assemblers:
        return None
    visible = [each.name for each in program.assemblers[decoded.assembler].type.fields]
    if relation.time not in visible:
        return None
    told: dict[str, object] = {
        "column": visible.index(relation.time),
        "derived": True,
        "ahead": ahead_us,
    }
    if relation.clocks is not None:
        clocks = relation.clocks
        told["device"] = {
            "flag": visible.index(CLOCK),
            "event": visible.index(clocks.event),
            "sent": visible.index(clocks.sent),
            "received": visible.index(clocks.received),
            "refuses": clocks.suspect == "dead_letter",
        }
    return told


def _ahead_us(relation: Relation) -> int | None:
    """Return how far above the log's own a time moves the watermark; None sets no bound."""
    watermark = relation.watermark
    return None if watermark is None or watermark.ahead_ms is None else watermark.ahead_ms * 1000


def _timed(program: KernelProgram) -> Iterator[int]:
    """Yield the relations of whose watermark a node asks."""
    for node in program.nodes:
        if isinstance(node, Group | Pattern | Closing | Deadlines):
            yield node.relation
            if isinstance(node, Closing) and node.other is not None:
                yield node.other
        elif isinstance(node, Rolling | Seen | PairEvents):
            yield from node.logs
        elif isinstance(node, Retract | Inserts) and node.judged is not None:
            yield node.relation


def sealing_json(
    vault: VaultAddress,
    decoded: Sequence[RelationProgram],
    relations: Sequence[Relation],
    *,
    erasures: int,
    spools: Sequence[bool],
) -> str:
    """Return how personal columns are sealed, as the kernel takes it.

    Args:
        vault: Where keys are asked for.
        decoded: How the relations are decoded.
        relations: The relations.
        erasures: The first number of a topic of erasures.
        spools: By topic, whether a capture may have sealed its lines.
    """
    pairs = zip(decoded, relations, strict=True)
    return json.dumps(
        {
            "port": vault.port,
            "token": vault.token,
            "erasures": erasures,
            "formats": [_erasure_format(*each) for each in pairs],
            "spools": spools,
        }
    )


def _erasure_format(program: RelationProgram, relation: Relation) -> dict[str, object]:
    """Return how the erasures of a relation are decoded: flat rows, keyed by their subject."""
    sealed = program.sealed is not None and program.sealed.columns
    personal = relation.personal if sealed else None
    subject = personal.key_of(personal.subject) if personal else None
    return {
        "name": relation.name,
        "format": "json",
        "key": list(relation.key) if subject is None else [subject],
        "columns": [{"name": each.name, "type": each.type.ddl} for each in program.columns],
    }
