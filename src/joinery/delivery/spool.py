"""A sink with a durable spool in front: a batch is kept, and written at the target's own pace.

A batch is a folder of its staged files, put in place by rename; the spool is their order. A
thread writes the oldest to the sink and then removes it, so what a crash leaves is written
again by the next run, in the order and with the versions it had.

Invariant: `write` returns only once the batch is durable in the spool, and a batch leaves the
spool only once the sink has it.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from joinery.delivery.outlet import Delaying, SinkResult
from joinery.files import join_synced, sync_folder, write_whole
from joinery.model.progress import Waiting
from joinery.sinks.protocol import (
    ListingSink,
    Sink,
    SinkError,
    SinkUnavailableError,
    StagedBatch,
    WrappingSink,
    Written,
)

DEFAULT_MAX_BYTES = 1 << 30
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class SpoolPlace:
    """Where a sink's spool stands, and how much it may hold."""

    folder: Path
    max_bytes: int = DEFAULT_MAX_BYTES


@dataclass(frozen=True, slots=True)
class SpooledBatch:
    """A batch in the spool; `after` as in a `StagedBatch`."""

    folder: Path
    query_id: str
    batch_id: int
    files: tuple[Path, ...]
    after: int


class Spool:
    """Batches in order, on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._next = 0
        self._sizes: dict[Path, int] = {}

    def open(self) -> None:
        """Find what the last run left; what it had not finished is removed."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for unfinished in self._folder.glob("*.part"):
            shutil.rmtree(unfinished)
        self._sizes = {each: _size(each) for each in sorted(self._folder.iterdir())}
        self._next = 1 + max((int(each.name) for each in self._sizes), default=0)

    @property
    def held_bytes(self) -> int:
        """What all batches take on disk."""
        return sum(self._sizes.copy().values())

    @property
    def empty(self) -> bool:
        """Whether no batch is left."""
        return not self._sizes

    def put(self, batch: StagedBatch) -> None:
        """Keep a batch durably behind all others."""
        target = self._folder / f"{self._next:012d}"
        part = target.with_suffix(".part")
        part.mkdir()
        for number, file in enumerate(batch.files):
            join_synced((file,), part / f"part-{number:05d}.jsonl")
        place = {"query_id": batch.query_id, "batch_id": batch.batch_id, "after": batch.after}
        write_whole(part / "batch.json", json.dumps(place), synced=True)
        sync_folder(part)
        batch.check()
        part.rename(target)
        sync_folder(self._folder)
        self._sizes[target] = _size(target)
        self._next += 1

    def oldest(self) -> SpooledBatch | None:
        """Return the batch that is to be written next."""
        folder = min(self._sizes.copy(), default=None)
        if folder is None:
            return None
        facts = json.loads((folder / "batch.json").read_text(encoding="utf-8"))
        return SpooledBatch(
            folder,
            query_id=str(facts["query_id"]),
            batch_id=int(facts["batch_id"]),
            files=tuple(sorted(folder.glob("part-*.jsonl"))),
            after=int(facts.get("after", 0)),  # spools of before this was kept lack it
        )

    def remove(self, batch: SpooledBatch) -> None:
        """Forget a batch that the sink has."""
        gone = batch.folder.with_suffix(".part")
        batch.folder.rename(gone)
        del self._sizes[batch.folder]
        shutil.rmtree(gone)


class SpoolingSink(WrappingSink):
    """Keeps batches for a sink, and writes them in a thread of its own.

    Args:
        sink: Waits for its target until `closing` is set.
        product: Whose documents these are.
        place: Where the spool stands.
        delaying: Makes the batch that is written, and is told what became of it.
        closing: Set when the sink has to end.
        tell: Called when the spool is full, and None once it has room.
    """

    def __init__(
        self,
        sink: Sink,
        product: str,
        place: SpoolPlace,
        delaying: Delaying,
        *,
        closing: threading.Event,
        tell: Callable[[Waiting | None], None] = lambda waiting: None,
    ) -> None:
        super().__init__(sink)
        self._product = product
        self._place = place
        self._spool = Spool(place.folder)
        self._delaying = delaying
        self._closing = closing
        self._tell = tell
        self._given: StagedBatch | None = None
        self._error: Exception | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Find what was left, and begin to write it."""
        try:
            self._spool.open()
        except OSError as error:
            raise self._failed(error) from error
        self._closing.clear()
        super().open()
        self._thread = threading.Thread(target=self._work, name="joinery-spool", daemon=True)
        self._thread.start()

    def write(self, batch: StagedBatch) -> Written:
        """Keep `batch` in the spool, waiting while it is full.

        Raises:
            SinkUnavailableError: The run ended while the spool was full.
        """
        self._wait_for_room(batch)
        self._given = batch
        try:
            self._spool.put(batch)
        except OSError as error:
            raise self._failed(error) from error
        with self._changed:
            self._changed.notify_all()
        return Written()

    def drain(self) -> None:
        """Wait until the sink has all that was kept.

        Raises:
            SinkUnavailableError: The run ended before; what is left is written by the next one.
        """
        with self._changed:
            while not self._spool.empty and not self._stopped():
                self._changed.wait(_POLL_S)
        if self._error is not None:
            raise self._error
        if not self._spool.empty:
            raise SinkUnavailableError(
                f"the run ended before the spool of {self.target} was empty",
                detail="The next run writes what is left in it.",
            )

    def listing(self) -> ListingSink | None:
        """Return this sink where the one behind it can list its target's documents."""
        return None if super().listing() is None else self

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        """Yield the keys that the target holds once it has all that was kept for it.

        Raises:
            SinkUnavailableError: The run ended before the spool was empty.
        """
        self.drain()
        listing = super().listing()
        yield from listing.keys(batch) if listing is not None else ()

    def close(self) -> None:
        """End the thread, and close the sink; what is left is written by the next run."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        super().close()

    def _wait_for_room(self, batch: StagedBatch) -> None:
        coming = sum(file.stat().st_size for file in batch.files)
        since = time.time()
        told = False
        while (held := self._spool.held_bytes) and held + coming > self._place.max_bytes:
            if self._error is not None:
                raise self._error
            if self._stopped():
                raise SinkUnavailableError(f"the spool of {self.target} is full")
            if not told:
                told = True
                self._tell(self._full(since))
            batch.check()
            with self._changed:
                self._changed.wait(_POLL_S)
        if told:
            self._tell(None)
        if self._error is not None:
            raise self._error

    def _full(self, since: float) -> Waiting:
        reason = f"its spool holds {self._place.max_bytes} bytes (spool_max_bytes)"
        return Waiting(
            product=self._product, target=self.target, reason=reason, attempts=1, since=since
        )

    def _work(self) -> None:
        """Write the oldest batch, again and again; an error ends the run."""
        while not self._closing.is_set():
            try:
                if not self._write_oldest():
                    with self._changed:
                        self._changed.wait(_POLL_S)
            except SinkUnavailableError as error:
                if not self._stopped():
                    self._fail(error)
                return
            except Exception as error:
                self._fail(error)
                return

    def _write_oldest(self) -> bool:
        held = self._spool.oldest()
        if held is None:
            return False
        batch = self._batch_of(held)
        batch.check()
        self._delaying.tell([SinkResult(self.target, self._sink.write(batch))])
        self._spool.remove(held)
        with self._changed:
            self._changed.notify_all()
        return True

    def _batch_of(self, held: SpooledBatch) -> StagedBatch:
        """Return a batch of the spool, under the lease of those that this run was given."""
        batch = self._delaying.make(
            query_id=held.query_id, batch_id=held.batch_id, files=held.files
        )
        batch = replace(batch, after=held.after)
        given = self._given
        return replace(batch, epoch=given.epoch, check=given.check) if given else batch

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._delaying.on_error(error)
        with self._changed:
            self._changed.notify_all()

    def _stopped(self) -> bool:
        return self._error is not None or self._closing.is_set() or self._delaying.ended()

    def _failed(self, error: OSError) -> SinkError:
        return SinkError(
            f"could not keep documents in the spool {self._place.folder}",
            detail=f"{error.strerror or error}.",
            hint="Free disk space, then start the run again.",
        )


def _size(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.glob("part-*.jsonl"))
