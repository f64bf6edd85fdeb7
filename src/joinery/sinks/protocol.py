"""What a sink takes: the staged documents of one batch, whole, by key, with a version.

Invariant: a batch may be written again after a crash, with the same versions and contents;
writing it twice must leave what writing it once leaves.

A sink promises in code what it keeps (`Guarantee`): the conformance suite holds it to that, the
docs tell it, and what it does not keep it names as a gap, with the reason. A package adds a kind
by an entry point of the group `joinery.sinks` that names its `SinkOptions`. All of it is one
module, since packages import it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from joinery.errors import FencedError as FencedError
from joinery.errors import SinkError as SinkError
from joinery.errors import SinkUnavailableError as SinkUnavailableError
from joinery.model.type import Struct
from joinery.place.remote_path import RemotePath
from joinery.project.kinds import SINKS
from joinery.project.option import Target
from joinery.sinks.line import StagedRow


class Promise(StrEnum):
    """One thing that a sink can promise."""

    REPLAY = "replay"
    """A batch written twice leaves what writing it once leaves."""
    NEWEST = "newest"
    """An older version never replaces a newer one."""
    DELETES = "deletes"
    """A delete is remembered: an older document cannot come back."""
    FENCE = "fence"
    """The target itself refuses a run that was replaced, whatever that run believes."""
    ATOMIC = "atomic"
    """A reader of the target sees a batch whole, or nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What a sink promises.

    Attributes:
        summary: A sentence for users: what the target holds after any crash.
        keeps: `current` for the newest document of each key; `log` for every emission in
            order, of which a reader takes the highest version of each key.
        gaps: The promises that are not kept, each with the reason.
    """

    summary: str
    keeps: Literal["current", "log"] = "current"
    gaps: Mapping[Promise, str] = field(default_factory=dict)


def _always_ours() -> None:
    """The check of a batch that nobody else can take over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedBatch:
    """The documents of one product that one batch changed, each key once.

    Attributes:
        product: The product's name.
        query: The query that runs it.
        query_id: The identity of the query's checkpoint; a fresh checkpoint has another.
        batch_id: Rises by one; repeats when a batch runs again.
        files: Lines `{"key": {…}, "value": {…} | null, "version": n}`, UTF-8; to be read
            by `read_rows` or `read_chunks` of `joinery.sinks.line`.
        key: The root key's columns and types.
        value: The document's type.
        nullable_key: The columns of the key that may be null.
        epoch: Rises with each run of the query; a lower one is a run that was replaced.
        forget_before: The memory of a delete with a lower version may be dropped.
        check: Raises `FencedError` once another run has taken over. To be called right
            before what was written becomes visible.
        after: Of what is sent between two batches, after the batch of this id, or -1 before all:
            when, in milliseconds since 1970, each time later; 0 for a batch itself.
        apart: Where tasks find the parts, each with its number, if they do not see `files`; a
            sink is given `files` alone, and these are left out where only tasks write.
        by_driver: Whether `files` are not the parts that tasks staged, so no task can write them.
    """

    product: str
    query: str
    query_id: str
    batch_id: int
    files: tuple[Path, ...]
    key: Struct
    value: Struct
    nullable_key: frozenset[str] = frozenset()
    epoch: int = 0
    forget_before: int = 0
    check: Callable[[], None] = _always_ours
    after: int = 0
    apart: tuple[tuple[int, RemotePath], ...] = ()
    by_driver: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it has no documents."""
        return not (self.files or self.apart)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A document that its target will never take, such as one beyond its size.

    Attributes:
        row: What was refused; the target keeps the last good document.
        reason: Of the dead letter: `document_refused`, `document_too_large`.
        detail: The target's own words, without secrets.
    """

    row: StagedRow
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a batch.

    Attributes:
        refused: Become dead letters; the rest of the batch was taken.
        older: Documents left out because the target has a newer version.
        by_tasks: Documents that tasks wrote, so that the driver never saw them.
    """

    refused: tuple[Refusal, ...] = ()
    older: int = 0
    by_tasks: int = 0


def whole(written: object) -> Written:
    """Return what a sink's `write` returned, once it is seen to be what it should be.

    Raises:
        TypeError: It is nothing, or something else.
    """
    if isinstance(written, Written):
        return written
    raise TypeError(f"write returned {type(written).__name__}, not a Written")


class Sink(Protocol):
    """A place for the documents of one product.

    Opened, then written a batch at a time from one thread, in the order of their ids, then
    closed, also after an error; it may be opened again after that. What `write` took when
    it returns is durable.
    """

    @property
    def guarantee(self) -> Guarantee:
        """What the sink promises."""

    @property
    def target(self) -> str:
        """Where documents go, for messages: kind, name and address, never a secret."""

    def open(self) -> None:
        """Connect, and create what is missing.

        Raises:
            SinkUnavailableError: The target cannot be reached now.
            SinkError: It cannot be used at all.
        """

    def write(self, batch: StagedBatch) -> Written:
        """Take all documents of `batch`, never replacing a newer version by an older one.

        Raises:
            SinkUnavailableError: It may succeed later; some documents may have been taken.
                The sink is closed and opened before the batch is written again.
            SinkError: It will not succeed without a change of the target or the project.
            FencedError: Another run has taken over.
        """

    def close(self) -> None:
        """Release connections; without effect where nothing is open."""


@runtime_checkable
class ListingSink(Protocol):
    """A sink that can tell which documents its target holds; a rebuild sweeps by that."""

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        """Yield the root keys of all documents of a product, as the batch's lines write them.

        Args:
            batch: Names the product and its key's columns; its files are not read.
        """


@runtime_checkable
class NotingSink(Protocol):
    """A sink whose target notes which batch it was given; by that an old checkpoint is known."""

    def last_batch(self, batch: StagedBatch) -> int | None:
        """Return the highest batch of a checkpoint that the target was given documents of.

        Called while the sink is open, from the thread that opened it.

        Args:
            batch: Names the product and the checkpoint (`query_id`); its files are not read.

        Returns:
            The batch's number; None where the target knows of none.

        Raises:
            SinkUnavailableError: The target cannot be reached now.
            SinkError: It cannot be read.
        """


@runtime_checkable
class StandingSink(Protocol):
    """A sink that can tell whether its target is there, before a batch creates it."""

    def stands(self, batch: StagedBatch) -> bool:
        """Return whether the target, such as a table or an index, is there.

        Called while the sink is open, from the thread that opened it, before anything else.

        Args:
            batch: Names the product; its files are not read.

        Raises:
            SinkUnavailableError: The target cannot be reached now.
            SinkError: It cannot be asked.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LogVersions:
    """What a log holds of some root keys.

    Attributes:
        highest: The highest version of each key that has a record, deletes included.
        deletes_ms: How long the record of a delete stays at least, in milliseconds; None for
            ever.
    """

    highest: Mapping[str, int]
    deletes_ms: int | None


@runtime_checkable
class LogSink(Protocol):
    """A sink that keeps a log and can read it; what is sent late is compared with that first."""

    def log_versions(self, batch: StagedBatch, keys: Collection[str]) -> LogVersions:
        """Return what the log holds of some root keys; called while the sink is open.

        Args:
            batch: Names the product and its key's columns; its files are not read.
            keys: As the batch's lines write them; the answer has the same.

        Raises:
            SinkUnavailableError: The target cannot be reached now.
            SinkError: It cannot be read.
        """


Writer = Literal["tasks", "driver"]
"""Who writes a batch: the tasks of a cluster, each its part, or the driver all of it."""


@runtime_checkable
class TaskSink(Protocol):
    """A sink whose batches can be written by tasks, each a part, in processes of their own.

    For each batch the driver calls `begin`, each task `write_part` on a sink of its own that
    was made from the same options and opened there, then the driver `end`. Parts are written
    in any order and at once; a key is in one part. A part may be written again, also while an
    earlier attempt at it still goes on, and after one that was complete.
    """

    @property
    def writer(self) -> Writer:
        """Who writes where the project says nothing."""

    def begin(self, batch: StagedBatch) -> None:
        """Create what is missing and fence earlier runs, before any part is written.

        Args:
            batch: All of it; its files are not read.
        """

    def write_part(self, batch: StagedBatch, part: int) -> Written:
        """Take all documents of one part, as `Sink.write` takes those of a batch.

        Args:
            batch: Its files are those of the part alone.
            part: Its number, the same whenever the batch runs again.
        """

    def end(self, batch: StagedBatch) -> None:
        """Do what is done once a batch; called when all its parts were taken.

        Args:
            batch: All of it; its files are not read.
        """


@runtime_checkable
class DiskSink(Protocol):
    """A sink that mostly waits for a disk, and may be written from any thread, one at a time."""

    @property
    def waits_for_disk(self) -> bool:
        """Whether it is one."""


def waits_for_disk(sink: Sink) -> bool:
    """Return whether a sink mostly waits for a disk, and may be written from any thread."""
    return isinstance(sink, DiskSink) and sink.waits_for_disk


class WrappingSink:
    """Stands in front of another sink; what a subclass does not change is that one's.

    Args:
        sink: Not yet opened.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    @property
    def guarantee(self) -> Guarantee:
        """That of the sink."""
        return self._sink.guarantee

    @property
    def target(self) -> str:
        """That of the sink."""
        return self._sink.target

    def open(self) -> None:
        """Open the sink."""
        self._sink.open()

    def write(self, batch: StagedBatch) -> Written:
        """Write `batch` to the sink."""
        return self._sink.write(batch)

    def listing(self) -> ListingSink | None:
        """Return what lists the target's documents, None where the sink cannot."""
        return listing_of(self._sink)

    def log(self) -> LogSink | None:
        """Return what reads the target's log, None where the sink cannot."""
        return log_of(self._sink)

    def notes(self) -> NotingSink | None:
        """Return what tells the target's last batch, None where the sink cannot."""
        return notes_of(self._sink)

    def close(self) -> None:
        """Close the sink."""
        self._sink.close()


def close_failed(sink: Sink) -> None:
    """Close a sink that failed: why it failed is told, not what closing it meets then."""
    with suppress(Exception, SystemExit):
        sink.close()


def listing_of(sink: Sink) -> ListingSink | None:
    """Return what lists the documents of a sink's target, None where nothing can."""
    if isinstance(sink, WrappingSink):
        return sink.listing()
    return sink if isinstance(sink, ListingSink) else None


def log_of(sink: Sink) -> LogSink | None:
    """Return what reads the log that a sink keeps, None where it keeps none or nothing can."""
    if isinstance(sink, WrappingSink):
        return sink.log()
    return sink if isinstance(sink, LogSink) else None


def notes_of(sink: Sink) -> NotingSink | None:
    """Return what tells the last batch that a sink's target was given, None where nothing can."""
    if isinstance(sink, WrappingSink):
        return sink.notes()
    return sink if isinstance(sink, NotingSink) else None


class SinkOptions(Protocol):
    """The options of a kind of sink; an entry point of `joinery.sinks` names such a class.

    Made by `joinery.project.option.options`, which says how a project file gives them. A class
    variable `keeps_all` that is true says that the target keeps all that it was ever sent, so
    that personal values cannot be erased there and are never revealed to it.
    """

    def make(self, product: str, folder: Path) -> Sink:
        """Return the sink of a product, not yet opened.

        Args:
            product: The product's name.
            folder: Where relative paths begin.

        Raises:
            SpecError: If the options do not fit each other.
        """

    def target(self, product: str, folder: Path) -> Target | None:
        """Return what the sink of a product keeps, None where nothing tells that.

        By it two products are kept from one table, lineage names what is written, and a
        lookup of the table hears of new rows.
        """


@runtime_checkable
class LocalOptions(Protocol):
    """The options of a kind of sink whose target is a file or a folder of this machine."""

    def emptied(self, product: str, folder: Path) -> Path | None:
        """Return where a product's documents would be, if there are none, else None.

        Args:
            product: The product's name.
            folder: Where relative paths begin.
        """


def emptied(kind: str, options: Mapping[str, object], product: str, folder: Path) -> Path | None:
    """Return the place of a sink that holds nothing, where that can be seen, else None.

    Of a target elsewhere nobody can tell without asking it.

    Args:
        kind: The sink's.
        options: The sink's.
        product: Whose documents it takes.
        folder: Where relative paths begin.
    """
    if SINKS.options(kind) is None:
        return None
    declared = SINKS.read(kind, options)
    return declared.emptied(product, folder) if isinstance(declared, LocalOptions) else None


def make_sink(kind: str, product: str, options: Mapping[str, object], folder: Path) -> Sink:
    """Return the sink `kind` of a product, not yet opened.

    Raises:
        SpecError: No such sink is installed, or its options are not what it takes.
    """
    sink: Sink = SINKS.make(kind, options, product, folder)
    return sink
