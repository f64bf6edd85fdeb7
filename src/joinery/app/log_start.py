"""What logs no longer have of what was read from them: a topic, a spool or a folder forgets.

Who reads such a log again lacks rows that a run has, so what he makes of it proves nothing wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from joinery.capture.keep import SpoolKeep
from joinery.capture.missing import missing_files, missing_text
from joinery.capture.spool import SpoolFolder
from joinery.clients.kafka_reader import read_edges
from joinery.dead_letters.open import source_brokers
from joinery.observe.frontier import BegunOffsets, Frontier, SeenSizes, begun_offsets
from joinery.place.place import Place
from joinery.plan.relation import Relation
from joinery.project.captured import spool_of
from joinery.project.kafka import kafka_options
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec


def first_offsets(spec: ProjectSpec, checkpoints: Sequence[Place]) -> BegunOffsets:
    """Return at which offsets of Kafka logs are begun: noted by runs, else declared by `starting`.

    A partition that is left out is read from its beginning.

    Args:
        spec: The project, which knows the sources.
        checkpoints: The folders of the queries.
    """
    begun = begun_offsets(checkpoints)
    found: dict[str, Mapping[str, Mapping[str, int]]] = dict(begun)
    for source in spec.sources:
        if source.kind == "kafka":
            noted, declared = begun.get(source.name, {}), _declared(source)
            topics = {*noted, *declared}
            found[source.name] = {
                each: {**declared.get(each, {}), **noted.get(each, {})} for each in topics
            }
    return found


def _declared(source: SourceSpec) -> Mapping[str, Mapping[str, int]]:
    """Return the offsets that a source is declared to start at, where they are numbers."""
    starting = kafka_options(source).starting
    return {
        topic: {str(part): at for part, at in given.items() if isinstance(at, int)}
        for topic, given in (starting.items() if isinstance(starting, Mapping) else ())
        if isinstance(given, Mapping)
    }


def gone_of(
    spec: ProjectSpec,
    relations: Sequence[Relation],
    seen: SeenSizes,
    begun: BegunOffsets,
    come: Sequence[Frontier],
) -> dict[str, str]:
    """Return, by relation, what is gone of its log, in words; only those that lack something.

    Args:
        spec: The project, which knows the sources.
        relations: Whose logs.
        seen: The change files that were read, or are to be.
        begun: Where topics in Kafka were begun.
        come: How far queries have come.

    Raises:
        SinkError: Brokers do not answer.
    """
    sources = {each.name: each for each in spec.sources}
    found = {}
    for each in relations:
        source, topic = sources[each.source], each.topic
        match source.kind:
            case "kafka":
                edges = read_edges(source_brokers(source), topic)
                first = begun.get(source.name, {}).get(topic, {})
                gone = _records(topic, edges, first, _next(come, source.name, topic))
            case "files":
                folder = spec.path_of(str(dict(source.options)["path"])) / topic
                known = [name for of, name in seen.get(source.name, {}) if of == topic]
                gone = _files(folder, known)
            case _:
                gone = _captured(SpoolFolder(spool_of(spec, source)), source, topic)
        if gone:
            found[each.name] = gone
    return found


def _captured(spool: SpoolFolder, source: SourceSpec, topic: str) -> str:
    """Return which changes of a table are gone from a spool."""
    if missing := missing_files(spool, (topic,)):
        return missing_text(topic, missing[topic])
    whole = SpoolKeep(spool).whole
    return "" if whole else f"the oldest changes in the spool of {source.name}"


def _next(come: Sequence[Frontier], source: str, topic: str) -> dict[str, int]:
    """Return, by partition, the next offset that is read."""
    found: dict[str, int] = {}
    for each in come:
        for partition, offset in each.told.get(source, {}).get(topic, {}).items():
            found[partition] = max(offset, found.get(partition, 0))
    return found


def _records(
    topic: str,
    edges: Mapping[int, tuple[int, int]],
    first: Mapping[str, int],
    after: Mapping[str, int],
) -> str:
    """Return which records of a topic are gone.

    Args:
        topic: Its name.
        edges: The first offset and the end of each partition that is there.
        first: The first offset that was read, by partition; by default 0.
        after: The next that is read; where a partition ends before it, it is another one.

    Example:
        >>> _records("t", {0: (0, 9), 1: (5, 9)}, {}, {"0": 9, "1": 9})
        'offsets 0 to 4 of t/1'
        >>> _records("t", {0: (5, 9), 1: (0, 2)}, {"0": 5}, {"1": 3})
        'offsets 0 to 2 of t/1'
    """
    lost = []
    for name in sorted({*map(str, edges), *first, *after}, key=int):
        low, end = edges.get(int(name), (0, 0))
        begun, next_ = first.get(name, 0), after.get(name, 0)
        if end < next_:
            lost.append(f"offsets {begun} to {next_ - 1} of {topic}/{name}")
        elif low > begun:
            lost.append(f"offsets {begun} to {low - 1} of {topic}/{name}")
    return _first(lost)


def _files(folder: Path, known: Sequence[str]) -> str:
    names = {each.name for each in folder.iterdir()} if folder.is_dir() else set()
    lost = sorted(each for each in known if each not in names)
    return _first([f"{folder.name}/{each}" for each in lost])


def _first(lost: Sequence[str]) -> str:
    """Return the first of what is lost, and how much more there is."""
    more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
    return f"{lost[0]}{more}" if lost else ""
