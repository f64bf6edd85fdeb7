"""Records that were read from several logs, in the order in which they were written.

A **moment** ends that order early: a time at which files were written or Kafka took records, a
position of the database where positions order the logs, or one record of a log.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.errors import SpecError
from joinery.observe.frontier import Frontier, Position
from joinery.plan.relation import Relation
from joinery.project.captured import CAPTURED, spool_of
from joinery.project.kafka import pattern_of
from joinery.project.kinds import FORMATS
from joinery.project.product import ProjectSpec
from joinery.provenance.live_rows import Record
from joinery.provenance.logs import Bound, BoundError, Ordered, in_order

if TYPE_CHECKING:
    from joinery.spark.source.change_log import ChangeLog
    from joinery.spark.source.file_feed import FileChanges


class MomentError(SpecError):
    """A moment is none of the logs that are read."""

    code = "MOMENT"


@dataclass(frozen=True, slots=True)
class Moment:
    """Where an order ends; with neither a bound nor a record, where the logs do.

    Attributes:
        text: How it was named.
        bound: The greatest time or position.
        record: The last record, with all that it says.
    """

    text: str = ""
    bound: Bound | None = None
    record: Position | None = None

    def refused(self, by: Ordered) -> MomentError:
        """Return the error of a bound of the other kind than what orders the logs."""
        wanted = "a time" if by == "time" else "a position, since positions order them"
        return MomentError(f'"{self.text}" is not a moment of these logs', hint=f"Use {wanted}.")


def moment_of(spec: ProjectSpec, relations: Sequence[Relation], text: str) -> Moment:
    """Return the moment that a text names.

    Raises:
        MomentError: It names none.
        WaitError: It names a topic, but no record of it.
    """
    record = _record(spec, relations, text)
    bound = _bound(text) if text and record is None else None
    return Moment(text, bound, record)


def in_written_order(
    spec: ProjectSpec, relations: Sequence[Relation], found: FileChanges, moment: str = ""
) -> tuple[Ordered, ChangeLog]:
    """Return what orders the changes of some logs, and the changes in that order.

    Args:
        spec: The project, which knows the sources.
        relations: Those that were read.
        found: What was read of their topics.
        moment: Where to end: a time in ISO 8601 (UTC where it names no zone), a position of the
            database, or a record as `Position` names it, which is included; empty for all.

    Raises:
        MomentError: It is none of these, or the logs are ordered by another kind.
        WaitError: It names a topic, but no record of it.
    """
    asked = moment_of(spec, relations, moment)
    try:
        ordered, order = in_order(
            found.changes.records(),
            _log_of(relations, found),
            _written_at(found),
            one_database=one_database(relations),
            until=asked.bound,
        )
    except BoundError as error:
        raise asked.refused(error.by) from None
    changes = found.changes.reordered(order)
    if asked.record is None:
        return ordered, changes
    return ordered, _through(asked.record, changes, relations, found)


def reached(
    frontier: Frontier,
    relations: Sequence[Relation],
    named: Mapping[str, Mapping[int, Path]],
) -> Callable[[Record], bool]:
    """Return what tells whether a query had applied a record when it came to a frontier.

    Args:
        frontier: How far it had come.
        relations: Those that were read.
        named: By relation in change files, its files by the first part of a record's place.
    """
    topics = {each.name: (each.source, each.topic) for each in relations}

    def has(record: Record) -> bool:
        if record.place is None:
            return False
        part, at = record.place
        files = named.get(record.relation)
        name = str(part) if files is None else files[part].name
        return frontier.has(Position(*topics[record.relation], name, at))

    return has


def unreadable(spec: ProjectSpec, relation: Relation) -> str:
    """Return why the log of a relation cannot be read without a run; empty where it can."""
    source = next((each for each in spec.sources if each.name == relation.source), None)
    if source is None:
        return "has no source"
    if source.kind in CAPTURED and not spool_of(spec, source).is_dir():
        return f'reads source "{source.name}", of which nothing was captured yet'
    if FORMATS[relation.format].registry:
        return f'is read in format "{relation.format}"'
    if source.kind == "kafka" and relation.personal is not None:
        return "has personal columns, whose records would be kept in clear while they are read"
    if source.kind == "kafka" and pattern_of(relation.topic) is not None:
        return "is read from topics that a pattern names"
    if source.kind not in ("files", "kafka", *CAPTURED):
        return f'is read from "{source.kind}"'
    return ""


def _record(spec: ProjectSpec, relations: Sequence[Relation], moment: str) -> Position | None:
    """Return the record that a moment names; None where it begins with no topic."""
    if not any(moment.startswith(f"{each.topic}/") for each in relations):
        if "/" in moment:
            topics = ", ".join(dict.fromkeys(each.topic for each in relations))
            message = f'"{moment}" names no record of the topics that are read'
            raise MomentError(message, hint=f"They are {topics}.")
        return None
    return Position.parse(moment, relations, {each.name: each.kind for each in spec.sources})


def _bound(text: str) -> Bound:
    if text.isdecimal():
        return Bound("position", int(text))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise MomentError(
            f'"{text}" is neither a time nor a position',
            hint="Write a time such as 2026-03-01T12:00:00Z, a position such as 24487168, "
            "or a record such as orders/1.jsonl/7.",
        ) from None
    return Bound("time", (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _log_of(relations: Sequence[Relation], found: FileChanges) -> Callable[[Record], Hashable]:
    """Return what names the log of a record; files of a topic follow one another."""
    topics = {each.name: (each.source, each.topic) for each in relations}

    def log(record: Record) -> Hashable:
        kafka = record.place is not None and record.relation in found.logged_s
        return topics[record.relation], record.place[0] if record.place and kafka else 0

    return log


def _written_at(found: FileChanges) -> Callable[[Record], float]:
    written = {
        (name, number): path.stat().st_mtime
        for name, listed in found.files.items()
        for number, path in listed.items()
        if path.is_file()
    }

    def written_at(record: Record) -> float:
        place, name = record.place or (0, 0), record.relation
        if name in found.logged_s:
            return found.logged_s[name].get(place, 0.0)
        return written.get((name, place[0]), 0.0)

    return written_at


def one_database(relations: Sequence[Relation]) -> bool:
    """Return whether all positions are of one database."""
    events = all(FORMATS[each.format].events and not each.position for each in relations)
    return events and len({each.source for each in relations}) == 1


def _through(
    record: Position, changes: ChangeLog, relations: Sequence[Relation], found: FileChanges
) -> ChangeLog:
    """Return the changes up to a record of one of the logs, with all that it says."""
    read = {each.name for each in relations if each.topic == record.topic}
    part = part_of(record, read, found.files)
    last = (part, math.inf if record.at is None else record.at)
    in_files = not read & found.logged_s.keys()

    def within(told: Record) -> bool:
        if told.relation not in read or told.place is None:
            return False
        return told.place <= last and (in_files or told.place[0] == part)

    ends = (place for place, each in enumerate(changes.records()) if within(each))
    return changes[: max(ends, default=-1) + 1]


def part_of(record: Position, read: Iterable[str], files: Mapping[str, Mapping[int, Path]]) -> int:
    """Return the first part of the places of a record's partition or file.

    Args:
        record: Of a log.
        read: The relations that its topic tells of.
        files: By relation in change files, its files by the first part of a record's place.

    Raises:
        MomentError: There is no such file, or it ends before the record.
    """
    listed = [files[each] for each in read if each in files]
    if not listed:
        return int(record.part)
    paths = {path.name: path for each in listed for path in each.values()}
    files_by_name = {path.name: number for each in listed for number, path in each.items()}
    if record.part not in files_by_name:
        known = ", ".join(sorted(files_by_name)[:3])
        raise MomentError(
            f'topic "{record.topic}" has no file "{record.part}"',
            hint=f"It has files such as {known}." if known else "It has none.",
        )
    if record.at is not None and record.at > (lines := _lines(paths[record.part])):
        raise MomentError(
            f'file "{record.part}" of topic "{record.topic}" has no line {record.at}',
            hint=f"It has {lines:,} line{'' if lines == 1 else 's'}.",
        )
    return files_by_name[record.part]


def _lines(path: Path) -> int:
    """Return how many lines a change file has; as many as any where it is gone by now."""
    try:
        with path.open("rb") as file:
            return sum(1 for _ in file)
    except FileNotFoundError:
        return sys.maxsize
