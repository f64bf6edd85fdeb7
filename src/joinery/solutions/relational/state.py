"""Join state in a database: a table per relation, a table per product's documents.

A batch is one transaction, from `begin` to `acknowledge`, so that one which ended before has
left nothing, and needs no marks. Where other processes read in its midst it is two: the first
holds the rows and the roots that are work to do, the second the documents and the end.

Invariant: documents and (query id, number) change together or not at all, and so do rows and
the marks of their roots; a lower epoch is refused in either transaction.

Rows and documents read from a database while another connection writes them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from joinery.model.change import Key, Row
from joinery.semantics.document import SentDocument
from joinery.semantics.rows import JoinValue
from joinery.solutions.relational.fence import check_claim, is_last
from joinery.solutions.stored.owner import Owner
from joinery.solutions.stored.state import Batch, Emitted, StoredRow, StoreError

Link = TypeVar("Link", bound=Any)
_Taken = TypeVar("_Taken", bound=Any, contravariant=True)


class RowTable(Protocol[_Taken]):
    """The rows of one relation; every call is given the connection."""

    def create(self, link: _Taken, /) -> None:
        """Make the table fit the relation."""

    def rows(self, link: _Taken, keys: Collection[Key], /) -> dict[Key, StoredRow]:
        """Return what is stored under `keys`."""

    def keys(self, link: _Taken, /) -> Collection[Key]:
        """Return the keys of all rows, deleted ones included."""

    def matching(
        self, link: _Taken, columns: tuple[str, ...], values: Collection[JoinValue], /
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""

    def write(self, link: _Taken, rows: Mapping[Key, StoredRow], /) -> object:
        """Store rows in place of those under their keys."""

    def forget(self, link: _Taken, before_us: int, /) -> None:
        """Forget rows that were deleted before a time."""

    def clear(self, link: _Taken, /) -> None:
        """Forget all rows."""


class DocumentTable(Protocol[_Taken]):
    """What sinks hold of one product; every call is given the connection."""

    def create(self, link: _Taken, /) -> None:
        """Make the table fit the product."""

    def mark(self, link: _Taken, roots: Collection[Key], /) -> None:
        """Remember roots as work to do."""

    def pending(self, link: _Taken, /) -> Collection[Key]:
        """Return the roots that are work to do."""

    def sent(self, link: _Taken, roots: Collection[Key], /) -> dict[Key, SentDocument]:
        """Return what sinks hold of `roots`."""

    def acknowledge(self, link: _Taken, number: int, emitted: Emitted, /) -> object:
        """Store what a batch sends; nothing is to do from then on."""

    def keys(self, link: _Taken, /) -> Collection[Key]:
        """Return the keys of all roots that were ever sent."""

    def emitted(self, link: _Taken, number: int, /) -> Emitted:
        """Return what a batch sent."""

    def forget(self, link: _Taken, before_us: int, /) -> None:
        """Forget roots that went before a time."""

    def unsend(self, link: _Taken, /) -> None:
        """Begin again, with nothing to do; versions stay."""


class RelationalState(ABC, Generic[Link]):
    """The rows and documents of the products of one query, over one connection.

    Args:
        link: In autocommit mode, with an `execute` of its own.
        place: The database's name, for messages.
        fence: The quoted name of the table that tells who writes.
        owner: Who keeps join state here.
        elsewhere: How to name another place, for who is refused.
        tables: By relation.
        documents: By product.
    """

    _BEGIN: ClassVar[str]
    """Begins a transaction that writes."""
    _LOCK: ClassVar[str]
    """Ends the query for the fence, to keep others from changing it."""
    _PARAMETERS: ClassVar[tuple[str, str]]
    """The first two parameters of a statement."""

    def __init__(
        self,
        link: Link,
        place: str,
        *,
        fence: str,
        owner: Owner,
        elsewhere: str,
        tables: Mapping[str, RowTable[Link]],
        documents: Mapping[str, DocumentTable[Link]],
    ) -> None:
        self._link = link
        self._place = place
        self._fence = fence
        self._tables = tables
        self._documents = documents
        self._batch: Batch | None = None
        self._marked: Mapping[str, Collection[Key]] = {}
        try:
            with self._told(), self._transaction():
                self._create_fence()
                self._mark(owner, elsewhere)
                for table in tables.values():
                    table.create(link)
                for each in documents.values():
                    each.create(link)
        except BaseException:
            link.close()
            raise

    def begin(self, batch: Batch) -> bool:
        """Start a batch, or start it again; return whether it was acknowledged before."""
        with self._told():
            self._roll_back()
            self._claim(batch)
            self._link.execute(self._BEGIN)
            self._batch, self._marked = batch, {}
            if self._acknowledged(batch):
                self._roll_back()
                return True
            return False

    def rows(self, relation: str, keys: Collection[Key]) -> Mapping[Key, StoredRow]:
        """Return what is stored under `keys`."""
        with self._told():
            return self._tables[relation].rows(self._link, keys)

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        with self._told():
            return self._tables[relation].matching(self._link, columns, values)

    def mark(self, roots: Mapping[str, Collection[Key]]) -> None:
        """Leave it to the transaction, unless the batch is shared."""
        self._marked = roots

    def pending(self) -> Mapping[str, Collection[Key]]:
        """Return what an earlier try left, if it was shared."""
        with self._told():
            found = {name: each.pending(self._link) for name, each in self._documents.items()}
            return {name: roots for name, roots in found.items() if roots}

    def share(self) -> object:
        """Commit the rows and what is to do, and go on in a transaction of its own."""
        with self._told():
            for product, roots in self._marked.items():
                self._documents[product].mark(self._link, roots)
            self._link.execute("COMMIT")
            self._link.execute(self._BEGIN)
            owner, epoch = self._one("owner, epoch")
            check_claim(self._begun(), owner, epoch, self._place)
            return self._shared()

    def write(self, relation: str, rows: Mapping[Key, StoredRow]) -> None:
        """Store rows in place of those under their keys."""
        with self._told():
            self._note(self._tables[relation].write(self._link, rows))

    def sent(self, product: str, roots: Collection[Key]) -> Mapping[Key, SentDocument]:
        """Return what the sinks hold of `roots`."""
        with self._told():
            return self._documents[product].sent(self._link, roots)

    def acknowledge(self, batch: Batch, emitted: Mapping[str, Emitted]) -> None:
        """End a batch: all of it is there from now on."""
        with self._told():
            for product, each in emitted.items():
                self._note(self._documents[product].acknowledge(self._link, batch.number, each))
            self._end(batch)
            self._link.execute("COMMIT")

    def emitted(self, batch: Batch) -> Mapping[str, Emitted]:
        """Return what the batch sent that was acknowledged last."""
        with self._told():
            return {
                product: documents.emitted(self._link, batch.number)
                for product, documents in self._documents.items()
            }

    def last_number(self, query_id: str) -> int | None:
        """Return the batch of a checkpoint that was acknowledged last; None where none was."""
        with self._told(), self._transaction():
            whose, number = self._one("query_id, number")
            return number if whose == query_id else None

    def keys(self, relation: str) -> Collection[Key]:
        """Return the keys of all stored rows, deleted ones included."""
        with self._told():
            return self._tables[relation].keys(self._link)

    def roots(self, product: str) -> Collection[Key]:
        """Return the keys of all documents that were ever sent."""
        with self._told():
            return self._documents[product].keys(self._link)

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted, and roots that went, before a time."""
        with self._told(), self._transaction():
            for table in self._tables.values():
                table.forget(self._link, before_us)
            for documents in self._documents.values():
                documents.forget(self._link, before_us)

    def close(self) -> None:
        """Close the connection; a batch that was begun is as if it had not been."""
        self._link.close()

    @abstractmethod
    def _create_fence(self) -> None:
        """Create the table of one row that tells who writes, or refuse one of another."""

    def _mark(self, owner: Owner, elsewhere: str) -> None:
        """Mark the tables as the owner's, or refuse those of another."""
        project, query_id = self._one("project, owner")
        what = f"{self._fence[1:-1].removesuffix('__batch')} in {self._place}"
        owner.check(project, query_id, place=what, hint=elsewhere)
        if owner.project and owner.project != project:
            statement = f"UPDATE {self._fence} SET project = {self._PARAMETERS[0]}"
            self._link.execute(statement, [owner.project])

    @abstractmethod
    def _in_transaction(self) -> bool:
        """Return whether the connection is in a transaction."""

    @abstractmethod
    def _told(self) -> AbstractContextManager[None]:
        """Tell what the driver raises within a block as errors of a store."""

    def _shared(self) -> object:
        """Return what readers have to be told: which batch it is."""
        return self._begun().number

    def _begun(self) -> Batch:
        if self._batch is None:
            raise StoreError("no batch was begun")
        return self._batch

    def _note(self, written: object) -> None:
        """Hear what a table returned of what it wrote."""

    def _end(self, batch: Batch) -> None:
        """Note which batch was the last."""
        self._set("query_id", "number", batch.query_id, batch.number)

    def _claim(self, batch: Batch) -> None:
        """Note who writes, in a transaction of its own: it stands even if the batch does not."""
        with self._transaction():
            owner, epoch = self._one("owner, epoch")
            check_claim(batch, owner, epoch, self._place)
            if (owner, epoch) != (batch.query_id, batch.epoch):
                self._set("owner", "epoch", batch.query_id, batch.epoch)

    def _acknowledged(self, batch: Batch) -> bool:
        """Return whether a batch is the last one; empty the tables for a new checkpoint."""
        owner, epoch, query_id, number = self._one("owner, epoch, query_id, number")
        check_claim(batch, owner, epoch, self._place)
        if query_id == batch.query_id:
            return is_last(batch, number, self._place)
        batch.check_follows(None, self._place)
        for table in self._tables.values():
            table.clear(self._link)
        for documents in self._documents.values():
            documents.unsend(self._link)
        return False

    def _one(self, columns: str) -> Any:
        """Return what the fence says, and keep others from changing it in this transaction."""
        asked = f"SELECT {columns} FROM {self._fence}{self._LOCK}"
        return self._link.execute(asked).fetchone()

    def _set(self, who: str, which: str, query_id: str, number: int) -> None:
        first, second = self._PARAMETERS
        statement = f"UPDATE {self._fence} SET {who} = {first}, {which} = {second}"
        self._link.execute(statement, [query_id, number])

    def _roll_back(self) -> None:
        if self._in_transaction():
            self._link.execute("ROLLBACK")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._link.execute(self._BEGIN)
        try:
            yield
            self._link.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise


class RelationalReader(Generic[Link]):
    """Reads what a `RelationalState` has committed, over a connection of its own.

    Args:
        link: In autocommit mode.
        told: Tells what the driver raises as errors of a store.
        tables: By relation.
        documents: By product.
        learn: Called with what the writer shares, before what that made visible is read.
    """

    def __init__(
        self,
        link: Link,
        told: Callable[[], AbstractContextManager[None]],
        *,
        tables: Mapping[str, RowTable[Link]],
        documents: Mapping[str, DocumentTable[Link]],
        learn: Callable[[Any], None] = lambda shared: None,
    ) -> None:
        self._link, self._told, self._learn = link, told, learn
        self._tables, self._documents = tables, documents

    def see(self, shared: object) -> None:
        """See what was committed until now, as each statement does."""
        self._learn(shared)

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        with self._told():
            return self._tables[relation].matching(self._link, columns, values)

    def sent(self, product: str, roots: Collection[Key]) -> Mapping[Key, SentDocument]:
        """Return what the sinks hold of `roots`."""
        with self._told():
            return self._documents[product].sent(self._link, roots)

    def close(self) -> None:
        """Close the connection."""
        self._link.close()
