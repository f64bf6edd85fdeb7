"""What a store gives the solutions that keep join state in it: rows, who joins them, what was sent.

Every store-backed solution is `driver.py` over one `JoinState`. A batch goes: `begin`;
`rows` of the keys it touches; affected roots, walking upward by `matching`, from the old rows
and the new; `mark` those roots; `write` the rows; read downward from the roots; `sent`; and
`acknowledge`, which ends the batch. A store with transactions may make all of it one.

Invariant: a batch that ended before `acknowledge` finds its roots in `pending` when it runs
again; one that ended after it finds what it sent in `emitted`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from joinery.errors import RunError
from joinery.model.change import Change, Key, Row
from joinery.semantics.document import SentDocument
from joinery.semantics.rows import JoinValue

_T = TypeVar("_T")


class StoreError(RunError):
    """A store of join state cannot be used."""

    code = "STORE"


class StoreUnavailableError(StoreError):
    """A store cannot be reached or is overloaded: the same call may succeed later."""

    code = "STORE_UNAVAILABLE"


class StoreFencedError(StoreError):
    """A run with a higher epoch writes to the store; this one writes nothing more."""

    code = "STORE_FENCED"


class StoreBehindError(StoreError):
    """A store lacks batches that its checkpoint has committed, as after a restore or a failover.

    Args:
        batch: The one that is to begin.
        last: The one that the store acknowledged last; None where it has none of the checkpoint.
        place: The store, in words.
    """

    code = "STORE_BEHIND"

    def __init__(self, batch: int, last: int | None, place: str) -> None:
        self.batch, self.last, self.place = batch, last, place
        stands = "It has no batch" if last is None else f"Its last batch is {last}"
        super().__init__(
            f"the join state in {place} is behind the checkpoint",
            detail=f"{stands}, and the checkpoint continues with batch {batch}.",
            hint="Restore the store, or run with --rebuild.",
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Which batch is at hand.

    Attributes:
        query_id: Of Spark's checkpoint; another one means that the log is read again.
        number: Rises by one a batch, within a query id.
        epoch: Of the run that holds the lease; a store refuses a lower one than it has seen.
        timestamp_us: The batch's time, the same when it runs again, and no other batch's.
    """

    query_id: str
    number: int
    epoch: int
    timestamp_us: int

    def check_follows(self, last: int | None, place: str) -> None:
        """Refuse to begin where a store lacks batches before this one.

        Args:
            last: The batch that it acknowledged last; None where it has none of the checkpoint.
            place: The store, for the message.

        Raises:
            StoreBehindError: It does.

        Example:
            >>> Batch("q", 7, 1, 0).check_follows(6, "the store")
            >>> Batch("q", 0, 1, 0).check_follows(None, "the store")
        """
        if self.number > (0 if last is None else last + 1):
            raise StoreBehindError(self.number, last, place)


class StoredRow(NamedTuple):
    """The newest state of one key.

    Attributes:
        row: All columns, declared and derived; None once the row is deleted.
        visible: False where the relation's `where` leaves the row out, or there is none.
        position: The highest source position that was applied; None where there was none.
        after_delete: The last change of the key in the log was a delete.
        place: Where the change that was applied last stands in the log (two 64-bit numbers);
            None where that is not known.
        changed_us: The time of the batch that wrote it, by which deletes are forgotten, and
            a batch that runs again knows what it has written.
    """

    row: Row | None
    visible: bool
    position: int | None
    after_delete: bool
    changed_us: int
    place: tuple[int, int] | None = None


def visible_row(stored: StoredRow | None) -> Row | None:
    """Return the row that products see; None where there is none, or `where` leaves it out."""
    return stored.row if stored is not None and stored.visible else None


@dataclass(frozen=True, slots=True)
class Emitted:
    """What one batch did to a product, by root.

    Attributes:
        documents: What sinks receive, and hold from now on; a text of None is a tombstone.
        dead: Reason and detail of documents that became dead letters.
        silent: What is to be remembered of roots of which sinks receive nothing, such as
            that they fail; `sent` gives it like `documents`, `emitted` may leave it out.
        before: Of a product that settles, what sinks held before, by hashes; `emitted` leaves
            it out, and it lacks a root where that is not known.
    """

    documents: Mapping[Key, SentDocument] = field(default_factory=dict)
    dead: Mapping[Key, tuple[str, str]] = field(default_factory=dict)
    silent: Mapping[Key, SentDocument] = field(default_factory=dict)
    before: Mapping[Key, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a batch did.

    Attributes:
        emitted: By product.
        relations: Counts by relation, such as `applied`, `stale`; empty for a batch that
            was acknowledged before.
        counters: Counts by product, such as `multiple_matches`.
        usage: What the store was asked: `requests`, `entries_read`, `entries_written`, and
            what is billed.
    """

    emitted: Mapping[str, Emitted]
    relations: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    usage: Mapping[str, int] = field(default_factory=dict)


@runtime_checkable
class StoreSolution(Protocol):
    """Keeps the documents of some products in a store; `stored.driver.StoreDriver` is one."""

    def apply(self, changes: Sequence[Change], batch: Batch) -> BatchResult:
        """Apply a batch, or tell again what it sent if it was acknowledged before.

        Args:
            changes: In log order; those of relations that no product reads change nothing.
            batch: Which batch this is.

        Raises:
            StoreError: The store cannot be used; the batch may run again.
        """

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted, and documents that went, before a time."""

    def close(self) -> None:
        """Give back what is held."""


class WrappingSolution(ABC):
    """A solution around another one; a subclass says how that is reached."""

    @abstractmethod
    def _reach(self, act: Callable[[StoreSolution], _T]) -> _T:
        """Return what `act` does to the solution within."""

    def apply(self, changes: Sequence[Change], batch: Batch) -> BatchResult:
        """Apply a batch, or tell again what it sent if it was acknowledged before."""
        return self._reach(lambda solution: solution.apply(changes, batch))

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted before a time."""
        self._reach(lambda solution: solution.forget(before_us))

    def close(self) -> None:
        """Close the solution within."""
        self._reach(lambda solution: solution.close())


class Forwarding:
    """Passes calls on to a target; a subclass says what follows each but `close`."""

    def __init__(self, target: object) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not callable(value) or name.startswith("_") or name == "close":
            return value

        def call(*args: Any, **named: Any) -> Any:
            result = value(*args, **named)
            self._after(name, args, result)
            return result

        return call

    def _after(self, name: str, args: tuple[Any, ...], result: object) -> None:
        """Note a call that was made."""


class RowFinder(Protocol):
    """Finds rows by values of their columns."""

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return rows as `JoinState.matching`."""


class JoinState(Protocol):
    """Keeps the rows of some relations and the documents of some products, for one writer.

    All calls take and give sets: one request for thousands of keys.
    """

    def begin(self, batch: Batch) -> bool:
        """Start a batch, or start it again; return whether it was acknowledged before.

        A store is of one checkpoint. The first batch of another one takes it over, and begins
        with an empty store.

        Raises:
            StoreFencedError: A run with a higher epoch has been here.
            StoreBehindError: It lacks batches before this one.
            StoreError: The store cannot be used; says why and what to do.
        """

    def rows(self, relation: str, keys: Collection[Key]) -> Mapping[Key, StoredRow]:
        """Return what is stored under `keys`, deleted rows included; unknown keys are left out."""

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`, each row once.

        `columns` are those of an edge, on either side, or the relation's key. A value may
        have the type of the edge's other side (an `int` where the column is a `decimal`).
        """

    def mark(self, roots: Mapping[str, Collection[Key]]) -> None:
        """Remember, durably and before `write`, roots by product as work to do."""

    def pending(self) -> Mapping[str, Collection[Key]]:
        """Return what an earlier try of this batch marked."""

    def write(self, relation: str, rows: Mapping[Key, StoredRow]) -> None:
        """Store rows in place of those under their keys, and keep the indexes right."""

    def sent(self, product: str, roots: Collection[Key]) -> Mapping[Key, SentDocument]:
        """Return what the sink holds; roots that were never sent are left out."""

    def acknowledge(self, batch: Batch, emitted: Mapping[str, Emitted]) -> None:
        """End a batch: store what it sends by product, forget its marks, note that it is done.

        All of it or nothing stands, also after a crash within: what was sent counts as sent
        only once `begin` would say so.
        """

    def emitted(self, batch: Batch) -> Mapping[str, Emitted]:
        """Return what the batch sent that was acknowledged last."""

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted, and documents that went, before a time.

        Called now and then.
        """

    def close(self) -> None:
        """Give back what is held; what was not acknowledged is as if it had crashed here."""


@runtime_checkable
class PortableState(JoinState, Protocol):
    """A store that tells all that it holds, so that another one can take its place."""

    def last_number(self, query_id: str) -> int | None:
        """Return the batch of a checkpoint that was acknowledged last; None where none was."""

    def keys(self, relation: str) -> Collection[Key]:
        """Return the keys of all stored rows, deleted ones included."""

    def roots(self, product: str) -> Collection[Key]:
        """Return the keys of all documents of which something is remembered."""


class StateReader(Protocol):
    """Reads what a `SharedState` holds, in another process; used from one thread."""

    def see(self, shared: object) -> None:
        """See what the writer's `share` made visible; called with what that returned."""

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return rows as `JoinState.matching`."""

    def sent(self, product: str, roots: Collection[Key]) -> Mapping[Key, SentDocument]:
        """Return documents as `JoinState.sent`."""

    def close(self) -> None:
        """Give back what is held."""


class SharedState(JoinState, Protocol):
    """A store that other processes may read in the midst of a batch.

    Whoever opens it names what opens a `StateReader` for it elsewhere.
    """

    def share(self) -> object:
        """Let readers see all that was marked and written; return what they have to be told.

        Called between the last `write` of a batch and its `acknowledge`. A batch that ends
        from here on finds its marks, and the rows that it has written.
        """
