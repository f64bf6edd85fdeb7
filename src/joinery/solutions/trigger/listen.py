"""The lambda of the queue: publishes what changed rows alter, whoever wrote them; no Spark.

A batch is what stands in the queue. It is acknowledged in the database first and given to the
sinks then; a listener begins by giving them the last batch again, with the same versions.

Invariant: an image that left the queue is in the documents that the database remembers as sent.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeVar

from joinery.delivery.outlet import Outlet
from joinery.plan.product import Product
from joinery.retry import PATIENCE, Patience, Retry
from joinery.semantics.row_key import key_type
from joinery.sinks.protocol import Refusal, StagedBatch
from joinery.solutions.stored.state import (
    Batch,
    BatchResult,
    Emitted,
    StoreSolution,
    StoreUnavailableError,
)
from joinery.solutions.trigger.staging import stage_documents

_T = TypeVar("_T")


log = logging.getLogger(__name__)


class ChangeQueue(Protocol):
    """The queue of one query."""

    def last(self) -> Batch | None:
        """Return the batch that was acknowledged last, None where there was none."""

    def next(self) -> Batch | None:
        """Return the batch to do now, None while the queue is empty."""

    def wait(self, seconds: float) -> None:
        """Return when something is put into the queue, or after a time."""


@dataclass(frozen=True, slots=True)
class Published:
    """What one batch did, by product.

    Attributes:
        documents: How many were given to the sinks.
        dead: How many were kept back, or refused by a sink; each stands in the log.
    """

    documents: Mapping[str, int]
    dead: Mapping[str, int]


class Listener:
    """Publishes one query's documents.

    Args:
        products: Of the query.
        solution: Takes a batch out of the queue; its changes stand there.
        queue: Tells which batch that is.
        outlets: By product.
    """

    def __init__(
        self,
        products: Sequence[Product],
        solution: StoreSolution,
        queue: ChangeQueue,
        outlets: Mapping[str, Outlet],
    ) -> None:
        self._products = tuple(products)
        self._solution, self._queue, self._outlets = solution, queue, outlets

    def wait(self, seconds: float) -> None:
        """Return when there may be something to publish, or after a time."""
        self._queue.wait(seconds)

    def repeat(self) -> None:
        """Give sinks the last batch again, which they may not have received."""
        last = self._queue.last()
        if last is not None:
            self._write(self._solution.apply((), last), last)

    def publish(self) -> Published | None:
        """Publish what is in the queue; None where it is empty."""
        batch = self._queue.next()
        if batch is None:
            return None
        outcome = self._solution.apply((), batch)
        dead = self._write(outcome, batch)
        documents = {name: len(each.documents) for name, each in outcome.emitted.items()}
        told = Published(documents, dead)
        log.info("queue published", extra={"batch": batch.number, "documents": told.documents})
        return told

    def close(self) -> None:
        """Leave the database and the sinks."""
        self._solution.close()
        for outlet in self._outlets.values():
            outlet.close()

    def _write(self, outcome: BatchResult, batch: Batch) -> Counter[str]:
        """Give the sinks what a batch sends; return how many documents have none, by product."""
        dead: Counter[str] = Counter()
        with TemporaryDirectory(prefix="joinery-queue-") as folder:
            for product in self._products:
                emitted = outcome.emitted.get(product.name, Emitted())
                for key, (reason, detail) in emitted.dead.items():
                    log.error("document kept back", extra=_letter(product, key, reason, detail))
                    dead[product.name] += 1
                files = stage_documents(product, emitted.documents, Path(folder))
                for each in self._refused(product, batch, files):
                    told = _letter(product, each.row.key, each.reason, each.detail)
                    log.error("document refused by a sink", extra=told)
                    dead[product.name] += 1
        return dead

    def _refused(
        self, product: Product, batch: Batch, files: tuple[Path, ...]
    ) -> Iterator[Refusal]:
        """Write staged documents, and yield what a sink will never take."""
        staged = StagedBatch(
            product=product.name,
            query=product.query,
            query_id=batch.query_id,
            batch_id=batch.number,
            files=files,
            key=key_type(product.root.relation),
            value=product.root.output,
            epoch=batch.epoch,
        )
        for result in self._outlets[product.name].write(staged):
            yield from result.written.refused


class PatientListener:
    """A listener that is opened, and opened again, until its database is there.

    Args:
        make: Opens the listener.
        query: The query's name.
        ended: True once it is to end; a wait ends then.
        patience: How it waits.
    """

    def __init__(
        self,
        make: Callable[[], Listener],
        query: str,
        *,
        ended: Callable[[], bool],
        patience: Patience = PATIENCE,
    ) -> None:
        self._make = make
        self._listener: Listener | None = None
        self._retry = Retry(
            "store",
            {"query": query},
            lambda: f"the database of the queue of {query}",
            outage=StoreUnavailableError,
            ended=ended,
            tell=lambda waiting: None,
            patience=patience,
        )

    def wait(self, seconds: float) -> None:
        """Return when there may be something to publish, or after a time.

        Raises:
            StoreUnavailableError: It is to end while the database is not there.
        """
        self._patiently(lambda listener: listener.wait(seconds))

    def publish(self) -> Published | None:
        """Publish what is in the queue; None where it is empty.

        Raises:
            StoreUnavailableError: It is to end while the database is not there.
        """
        return self._patiently(Listener.publish)

    def close(self) -> None:
        """Leave the database and the sinks."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def _patiently(self, act: Callable[[Listener], _T]) -> _T:
        return self._retry.until_done(partial(self._attempt, act), "could not use the queue")

    def _attempt(self, act: Callable[[Listener], _T]) -> _T:
        """Do something with an open listener, whose sinks have the last batch."""
        try:
            if self._listener is None:
                self._listener = self._make()
                self._listener.repeat()
            return act(self._listener)
        except StoreUnavailableError:
            self.close()
            raise


def _letter(product: Product, key: object, reason: str, detail: str) -> dict[str, str]:
    return {"product": product.name, "key": str(key), "reason": reason, "detail": detail}
