"""Documents made where the store is only read, from the rows that another process has written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from joinery.engine.emit import Answer, Request, emit
from joinery.engine.garbage import not_collecting
from joinery.engine.metered import Metered
from joinery.engine.tactic import RowTactic
from joinery.plan.nodes import Product
from joinery.solutions.store import StateReader


@dataclass(frozen=True, slots=True)
class Task:
    """What another process has to know; it pickles.

    Attributes:
        products: Whose documents it makes.
        open: Opens the store there, to be read.
        max_document_bytes: Above it a document is a dead letter; None sets no bound.
    """

    products: Sequence[Product]
    open: Callable[[], StateReader]
    max_document_bytes: int | None = None


class Reading:
    """Answers requests from a store that it only reads."""

    def __init__(self, task: Task) -> None:
        self._reader = task.open()
        self._tactics = {
            each.name: RowTactic(each, task.max_document_bytes) for each in task.products
        }
        self._seen: object = None

    def answer(self, request: Request) -> Answer:
        """Return what the documents of some roots came to.

        Raises:
            StoreError: The store cannot be read.
        """
        if request.shared != self._seen:
            self._reader.see(request.shared)
            self._seen = request.shared
        tactic, meter = self._tactics[request.product], Metered(self._reader)
        with not_collecting():
            emitted = emit(request, tactic.documents(request.keys, meter.state), meter.state)
        return Answer(emitted, tactic.findings(), meter.usage())

    def close(self) -> None:
        """Close the store."""
        self._reader.close()
