"""What a key-value store remembers of batches: who writes, what is to do, what was sent.

`fence` holds the checkpoint that owns the store, its generation, the highest epoch and the
try at hand. All other partitions begin with the generation: another checkpoint takes the
store over by one more. There are `marks`, the roots that are work to do; `emitted/<batch>`,
what the last batch sent; `sent/<product>/<key>`, the documents; `gone_sent/<product>`, which
of them went and are to be forgotten; and `done`, which batch was acknowledged. That one entry
is the moment at which a batch counts: what is emitted stands before it, what is sent follows
it, and `begin` finishes what a crash left undone in between.

Limits: the fence is read before each step, so a run that was replaced can finish the step it
is in, unless the store can `claim`. What an earlier generation left is removed where the
store can `clear`.

Invariant: no entry of `sent` tells of a batch that `done` does not name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any, cast

import orjson

from joinery.model.change import Key
from joinery.plan.product import Product
from joinery.semantics.document import SentDocument
from joinery.slices import slices
from joinery.solutions.key_value.codec import KeyCodec, dump
from joinery.solutions.key_value.key_text import key_bytes, key_of_bytes
from joinery.solutions.key_value.store import (
    Address,
    ClaimingStore,
    ClearingStore,
    KeyValueStore,
    ScannableStore,
    emptied,
)
from joinery.solutions.key_value.tables import escaped
from joinery.solutions.stored.groups import stored_root
from joinery.solutions.stored.owner import NOBODY, Owner
from joinery.solutions.stored.state import Batch, Emitted, StoreError, StoreFencedError

_FENCE: Address = (b"fence", b"")
_KEYS_A_MARK = 2_000
_AT_ONCE = 20_000
_CHARACTERS_A_CHUNK = 200_000
_LONGEST_SORT = 900  # bytes, which every store takes
_SORT_ALONE = b"-"


@dataclass(frozen=True, slots=True)
class _Fence:
    """Who writes: project, checkpoint and epoch, and how often the batch was begun before."""

    epoch: int
    query_id: str
    number: int
    attempt: int
    generation: int
    project: str = ""


@dataclass(frozen=True, slots=True)
class _Done:
    """The batch that was acknowledged last.

    Attributes:
        place: The partition of what it sent, in `chunks` entries.
        applied: What it sent stands under `sent`, and its marks are gone.
        former: The partitions that it makes obsolete.
    """

    number: int
    place: str
    chunks: int
    applied: bool
    former: list[str]


class BatchLog:
    """The batches of one query.

    Args:
        products: Of the query.
        store: Where everything is kept.
        owner: Who keeps join state there.

    Raises:
        OwnedError: The store holds the join state of another project.
    """

    def __init__(
        self, products: Sequence[Product], store: KeyValueStore, owner: Owner = NOBODY
    ) -> None:
        self._store = store
        self._owner = owner
        self._query = products[0].query
        self._types = {
            each.name: [root.relation.type_of(c) for c in root.relation.key]
            for each in products
            for root in [stored_root(each)]
        }
        self._keys = {name: KeyCodec(types) for name, types in self._types.items()}
        self._fence: _Fence | None = None
        self._mark_count = 0
        if owner.project:
            self._check_owner(_fence_of(store.get_many([_FENCE])[0]))

    @property
    def head(self) -> bytes:
        """What stands before all partitions of the checkpoint at hand."""
        return b"%d/" % self._begun().generation

    @property
    def moment(self) -> tuple[bytes, int, int]:
        """What tells another process where the batch at hand stands, and which try it is."""
        fence = self._begun()
        return self.head, fence.number, fence.attempt

    @property
    def tries(self) -> int:
        """How often the batch at hand was begun before."""
        return self._begun().attempt

    def begin(self, batch: Batch) -> bool:
        """Start a batch, finish the one before, and return whether this one was acknowledged."""
        self._claim(batch)
        if batch.number == 0:
            self._clear(self._begun().generation)
        done = self._read_done()
        if done and not done.applied:
            self._apply(done, self._emitted(done))
        if done and done.number > batch.number:
            raise StoreError(
                f"the store is ahead of the checkpoint: it has batch {done.number},"
                f" the checkpoint continues with {batch.number}",
                hint="Restore the checkpoint, or run with --rebuild.",
            )
        batch.check_follows(done.number if done else None, f"the store of {self._query}")
        return done is not None and done.number == batch.number

    def check(self) -> None:
        """Refuse to go on once a run with a higher epoch has begun."""
        stood, ours = _fence_of(self._store.get_many([_FENCE])[0]), self._begun()
        if stood is None:
            raise emptied(f"the store of {self._query}")
        if stood.generation != ours.generation or stood.epoch > ours.epoch:
            raise _fenced()

    def settle(self, query_id: str) -> int | None:
        """Finish the last batch of a checkpoint, where it is the store's, and return its number."""
        stood = _fence_of(self._store.get_many([_FENCE])[0])
        if stood is None or stood.query_id != query_id:
            return None
        self._fence = stood
        done = self._read_done()
        if done and not done.applied:
            self._apply(done, self._emitted(done))
        return done.number if done else None

    def roots(self, product: str) -> Iterator[Key]:
        """Yield the keys of all documents, from a `ScannableStore`."""
        place, keys = self._documents(product), self._types[product]
        for partition in cast(ScannableStore, self._store).partitions(place):
            yield key_of_bytes(partition.removeprefix(place), keys)

    def mark(self, roots: Mapping[str, Collection[Key]]) -> None:
        """Remember roots as work to do."""
        fence = self._begun()
        entries: dict[Address, bytes | None] = {}
        for product, keys in roots.items():
            plain = [self._keys[product].plain(key) for key in keys]
            for some in slices(plain, _KEYS_A_MARK):
                sort = f"{fence.number}.{fence.attempt}.{self._mark_count}".encode()
                entries[self._marks, sort] = dump((product, some))
                self._mark_count += 1
        self._store.put_many(entries)

    def pending(self) -> dict[str, set[Key]]:
        """Return the roots that are marked."""
        found: dict[str, set[Key]] = {}
        for _, value in self._store.scan([self._marks]):
            product, keys = orjson.loads(value)
            if product in self._keys:
                typed = map(self._keys[product].typed, keys)
                found.setdefault(product, set()).update(typed)
        return found

    def sent(self, product: str, roots: Collection[Key]) -> dict[Key, SentDocument]:
        """Return what the sink holds of some roots."""
        return read_sent(self._store, self._documents(product), roots)

    def acknowledge(self, batch: Batch, emitted: Mapping[str, Emitted]) -> None:
        """End a batch: from the entry `done` on it counts, whatever happens."""
        fence, former = self._begun(), self._read_done()
        place = self._place(batch, fence.attempt)
        chunks = list(self._chunks(emitted))
        self._put({(place.encode(), b"%d" % at): chunk for at, chunk in enumerate(chunks)})
        obsolete = [self._place(batch, attempt) for attempt in range(fence.attempt)]
        if former and former.place != place:
            obsolete.append(former.place)
        done = _Done(batch.number, place, len(chunks), False, obsolete)
        self._put({self._done: dump(asdict(done))})
        self._apply(done, emitted)

    def emitted(self, batch: Batch) -> dict[str, Emitted]:
        """Return what the batch sent that was acknowledged last."""
        done = self._read_done()
        return self._emitted(done) if done and done.number == batch.number else {}

    def forget(self, before_us: int) -> None:
        """Forget documents that went before a time; a later version stands above theirs anyway.

        A store that was opened again forgets once a batch was begun.
        """
        if self._fence is None:
            return
        for product in self._keys:
            for some in slices(self._store.scan([self._gone(product)]), _AT_ONCE):
                self.check()
                self._forget(self._documents(product), dict(some), before_us)

    def _forget(self, place: bytes, noted: Mapping[Address, bytes], before_us: int) -> None:
        keys = (_noted_key(sort, value) for (_, sort), value in noted.items())
        places: list[Address] = [(place + key, b"") for key in keys]
        over: dict[Address, bytes | None] = {}
        notes: dict[Address, bytes | None] = {}
        held = zip(noted, places, self._store.get_many(places), strict=True)
        for note, address, value in held:
            sent = None if value is None else _sent_of(value)
            if sent is None or not _went(sent):
                notes[note] = None
            elif sent.version < before_us:
                over[address] = notes[note] = None
        self._store.put_many(over)
        self._store.put_many(notes)

    def _apply(self, done: _Done, emitted: Mapping[str, Emitted]) -> None:
        """Make true what `done` says, however far that had come."""
        for product, each in emitted.items():
            place = self._documents(product)
            gone = self._gone(product)
            told = {key_bytes(key): sent for key, sent in _all_of(each)}
            self._put(dict(_note(gone, key) for key, s in told.items() if _went(s)))
            self._put({(place + key, b""): _sent_text(s) for key, s in told.items()})
        former = [each.encode() for each in done.former]
        old = [address for address, _ in self._store.scan([self._marks, *former])]
        self._put(dict.fromkeys(old))
        self._put({self._done: dump(asdict(replace(done, applied=True)))})

    def _put(self, entries: Mapping[Address, bytes | None]) -> None:
        """Put entries, unless a run with a higher epoch has begun meanwhile."""
        self.check()
        self._store.put_many(entries)

    def _chunks(self, emitted: Mapping[str, Emitted]) -> Iterator[bytes]:
        """Yield what a batch sent, in entries that no store finds too large."""
        for product, each in emitted.items():
            some: list[tuple[Any, ...]] = []
            size = 0
            for line in self._lines(product, each):
                length = len(line[2] or "")
                if some and size + length > _CHARACTERS_A_CHUNK:
                    yield dump((product, some))
                    some, size = [], 0
                some.append(line)
                size += length + 100
            if some:
                yield dump((product, some))

    def _lines(self, product: str, emitted: Emitted) -> Iterator[tuple[Any, ...]]:
        plain = self._keys[product].plain
        for key, each in emitted.documents.items():
            yield "document", plain(key), each.text, each.version, each.failing
        for key, each in emitted.silent.items():
            yield "silent", plain(key), each.text, each.version, each.failing
        for key, (reason, detail) in emitted.dead.items():
            yield "dead", plain(key), detail, reason

    def _emitted(self, done: _Done) -> dict[str, Emitted]:
        place = done.place.encode()
        held = self._store.get_many([(place, b"%d" % at) for at in range(done.chunks)])
        found: dict[str, Emitted] = {}
        for value in held:
            if value is None:
                raise StoreError(
                    "the store has lost what its last batch sent",
                    hint="Run with --rebuild.",
                )
            product, lines = orjson.loads(value)
            if product in self._keys:
                _gather(found.setdefault(product, Emitted({}, {}, {})), lines, self._keys[product])
        return found

    def _begun(self) -> _Fence:
        if self._fence is None:
            raise StoreError("no batch was begun")
        return self._fence

    @property
    def _marks(self) -> bytes:
        return self.head + b"marks"

    @property
    def _done(self) -> Address:
        return self.head + b"done", b""

    def _documents(self, product: str) -> bytes:
        return documents_place(self.head, product)

    def _gone(self, product: str) -> bytes:
        return self.head + f"gone_sent/{escaped(product)}".encode()

    def _place(self, batch: Batch, attempt: int) -> str:
        return f"{self.head.decode()}emitted/{batch.number}.{attempt}"

    def _claim(self, batch: Batch) -> None:
        """Put the fence of a batch that begins in place of the one that stands."""
        before = self._store.get_many([_FENCE])[0]
        self._check_owner(_fence_of(before))
        fence = replace(_next_fence(_fence_of(before), batch), project=self._owner.project)
        after = dump(asdict(fence))
        if isinstance(self._store, ClaimingStore):
            self._store.claim(_FENCE, before, after)
        else:
            self._store.put_many({_FENCE: after})
        self._fence, self._mark_count = fence, 0

    def _check_owner(self, stood: _Fence | None) -> None:
        if stood is not None:
            self._owner.check(
                stood.project,
                stood.query_id,
                place=f"{self._query} in the store",
                hint="Give the solution another place (`prefix`, `path`, `table`, `url`)",
            )

    def _clear(self, generation: int) -> None:
        """Remove what all generations before this one left, where the store can."""
        if isinstance(self._store, ClearingStore):
            for former in range(generation):
                self._store.clear(b"%d/" % former)

    def _read_done(self) -> _Done | None:
        value = self._store.get_many([self._done])[0]
        return None if value is None else _Done(**orjson.loads(value))


def documents_place(head: bytes, product: str) -> bytes:
    """Return what stands before the keys of a product's documents."""
    return head + f"sent/{escaped(product)}/".encode()


def read_sent(
    store: KeyValueStore, place: bytes, roots: Collection[Key]
) -> dict[Key, SentDocument]:
    """Return what the sink holds of some roots, whose documents stand at `place`."""
    asked = list(roots)
    held = store.get_many([(place + key_bytes(key), b"") for key in asked])
    return {
        key: _sent_of(value) for key, value in zip(asked, held, strict=True) if value is not None
    }


def _fence_of(value: bytes | None) -> _Fence | None:
    return None if value is None else _Fence(**orjson.loads(value))


def _next_fence(stood: _Fence | None, batch: Batch) -> _Fence:
    """Return the fence of a batch that begins, where it may."""
    if stood is None or stood.query_id != batch.query_id:
        if batch.number > 0:
            raise StoreError(
                "the store does not hold the join state of this checkpoint",
                detail="It is empty." if stood is None else "It belongs to another checkpoint.",
                hint="Restore the store, or run with --rebuild.",
            )
        generation = 0 if stood is None else stood.generation + 1
        return _Fence(batch.epoch, batch.query_id, batch.number, 0, generation)
    if stood.epoch > batch.epoch:
        raise _fenced()
    attempt = stood.attempt + 1 if stood.number == batch.number else 0
    return _Fence(batch.epoch, batch.query_id, batch.number, attempt, stood.generation)


def _gather(emitted: Emitted, lines: Sequence[Sequence[Any]], keys: KeyCodec) -> None:
    documents: Any = emitted.documents
    silent: Any = emitted.silent
    dead: Any = emitted.dead
    for kind, plain, text, *rest in lines:
        key = keys.typed(plain)
        if kind == "dead":
            dead[key] = (rest[0], text)
        else:
            (documents if kind == "document" else silent)[key] = SentDocument(text, *rest)


def _sent_text(sent: SentDocument) -> bytes:
    """Return a document as an entry: version and state in the first line, then the text."""
    head = f"{sent.version}{' failing' if sent.failing else ''}\n"
    return head.encode() if sent.text is None else f"{head}{sent.text}".encode()


def _sent_of(value: bytes) -> SentDocument:
    head, _, text = value.decode().partition("\n")
    version, _, failing = head.partition(" ")
    return SentDocument(text or None, int(version), bool(failing))


def _all_of(emitted: Emitted) -> Iterator[tuple[Key, SentDocument]]:
    yield from emitted.documents.items()
    yield from emitted.silent.items()


def _note(gone: bytes, key: bytes) -> tuple[Address, bytes]:
    """Return the note that a key's document was deleted; a long key is kept in the value."""
    if len(key) <= _LONGEST_SORT:
        return (gone, key), _SORT_ALONE
    return (gone, sha256(key).hexdigest().encode()), key


def _noted_key(sort: bytes, value: bytes) -> bytes:
    """Return the key that a note is about."""
    return sort if value == _SORT_ALONE else value


def _went(sent: SentDocument) -> bool:
    return sent.text is None and not sent.failing


def _fenced() -> StoreFencedError:
    return StoreFencedError(
        "another run has taken over the store",
        hint="Stop one of the two; or restore the folder _leases next to the checkpoint.",
    )
