"""Finds declared columns that the data never has, and the names that it has instead.

Warns of Kafka topics that nobody writes while one of a like name is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from joinery.model.batch import BatchProgress, Counts
from joinery.model.warning import RunWarning
from joinery.project.kafka import REPLAY, is_named, pattern_of
from joinery.project.product import ProjectSpec
from joinery.project.source_warning import misnamed, near_topics
from joinery.spark.source.source import SourceRead

_UNSEEN, _UNDECLARED = "unseen:", "undeclared:"
_ALIKE = 0.7
_ENOUGH_ROWS = 100


class ColumnWatch:
    """The columns that a run's rows had, over all its batches.

    Args:
        declared: By relation, its declared columns: a query does not decode those that it does
            not need, and finds them in records as names that it does not know. And it looks for
            columns that no record has, such as blind indexes of personal ones.
    """

    def __init__(self, declared: Mapping[str, Collection[str]]) -> None:
        self._declared = declared
        self._counts: Mapping[str, Counts] = {}

    def warnings(self, batch: BatchProgress) -> Iterator[RunWarning]:
        """Take a batch; yield a warning for each relation that lacks a column in all rows so far.

        A column with an undeclared name like it is warned of at once. Another may be one that
        is only sent when it changes: it is warned of where a first batch has names that nobody
        declared, or after some rows.
        """
        for relation, counts in batch.columns.items():
            known = self._counts.get(relation, {})
            added = {name: known.get(name, 0) + count for name, count in counts.items()}
            added = {**known, **added}
            self._counts = {**self._counts, relation: added}
            declared = self._declared.get(relation, ())
            first = batch.batch_id == 0
            yield from column_warnings(relation, added, declared=declared, first=first)


def declared_columns(spec: ProjectSpec) -> dict[str, list[str]]:
    """Return the columns that a project declares, by relation."""
    return {each.name: [name for name, _ in each.fields] for each in spec.relations}


def column_warnings(
    relation: str, counts: Counts, *, declared: Collection[str], first: bool
) -> Iterator[RunWarning]:
    """Yield the warnings of what the rows of a relation had, `first` for those of a beginning."""
    rows = counts.get("rows", 0)
    unseen = [each for each in _named(counts, _UNSEEN) if each in declared]
    absent = [each for each in unseen if counts[_UNSEEN + each] == rows]
    undeclared = [each for each in _named(counts, _UNDECLARED) if each not in declared]
    spelled = _spelled_otherwise(absent, undeclared)
    about = f'relation "{relation}"'
    if spelled:
        columns, names = _quoted(spelled), _quoted(spelled.values())
        yield RunWarning(
            code="WARN_COLUMN_MISNAMED",
            about=about,
            message=f"{about} declares {columns}, which no record has, and the records have"
            f" {names}, which nobody declares",
            detail=f"It has read {rows:,} records so far. The column is null in the documents.",
            hint="Write one name for both; after a change of the file, joinery run --rebuild.",
        )
    others = [each for each in absent if each not in spelled]
    if others and ((first and undeclared) or rows >= _ENOUGH_ROWS):
        there = f" Undeclared are {', '.join(undeclared)}." if undeclared else ""
        yield RunWarning(
            code="WARN_COLUMN_ABSENT",
            about=about,
            message=f"{about} declares {_quoted(others)}, which none of its records has so far",
            detail=f"It has read {rows:,} records. The column is null in the documents.{there}",
            hint="Check the name, or leave the column out of the declaration.",
        )


def frame_warning(
    relation: str, absent: Iterable[str], undeclared: Sequence[str]
) -> RunWarning | None:
    """Return the warning of a frame whose schema spells declared columns otherwise, if it does.

    Args:
        relation: The relation whose changes the frame holds.
        absent: The declared columns that the frame has not.
        undeclared: The frame's columns that the relation does not declare.
    """
    spelled = _spelled_otherwise(absent, undeclared)
    if not spelled:
        return None
    about = f'relation "{relation}"'
    columns, names = _quoted(spelled), _quoted(dict.fromkeys(spelled.values()))
    return RunWarning(
        code="WARN_COLUMN_MISNAMED",
        about=about,
        message=f"{about} declares {columns}, which its frame does not have, and the frame has"
        f" {names}, which nobody declares",
        detail="A column that a frame leaves out keeps its stored value, or is null.",
        hint="Write one name for both.",
    )


def _spelled_otherwise(absent: Iterable[str], undeclared: Sequence[str]) -> dict[str, str]:
    """Return the absent columns that an undeclared one looks like, with that one."""
    near = {each: get_close_matches(each, undeclared, n=1, cutoff=_ALIKE) for each in absent}
    return {each: found[0] for each, found in near.items() if found}


def _named(counts: Counts, prefix: str) -> list[str]:
    return [each.removeprefix(prefix) for each in counts if each.startswith(prefix)]


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{each}"' for each in names)


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
    read = [each.topic or each.name for each in spec.changelogs]
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
