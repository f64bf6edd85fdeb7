"""Documents made where the store is only read, from the rows that another process has written.

Leaves out the search for cycles among many values that have none.

A store together with what was asked of it: requests, entries read, entries written.

A request is one call, however many keys it is about.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from joinery.plan.product import Product
from joinery.solutions.stored.emit import Answer, Request, emit
from joinery.solutions.stored.state import Forwarding, JoinState, StateReader
from joinery.solutions.stored.tactic import RowTactic


@contextmanager
def not_collecting() -> Iterator[None]:
    """Pause it: it would look at all rows of a batch, many times."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_WRITES = ("mark", "write", "acknowledge")


class Metered(Forwarding):
    """A store whose calls are counted."""

    def __init__(self, state: JoinState | StateReader) -> None:
        super().__init__(state)
        self._counts: Counter[str] = Counter()

    @property
    def state(self) -> JoinState:
        """The store, counted."""
        return cast(JoinState, self)

    def usage(self) -> dict[str, int]:
        """Return what was counted since the last call."""
        told = dict(self._counts)
        self._counts.clear()
        return told

    def add(self, usage: Mapping[str, int]) -> None:
        """Count what was asked of the same store elsewhere."""
        self._counts.update(usage)

    def _after(self, name: str, args: tuple[Any, ...], result: object) -> None:
        self._counts["requests"] += 1
        if name in _WRITES:
            self._counts["entries_written"] += _written(name, args)
        elif isinstance(result, Sized):
            self._counts["entries_read"] += len(result)


def _written(name: str, args: tuple[Any, ...]) -> int:
    if name == "write":
        return len(args[1])
    if name == "mark":
        return sum(len(keys) for keys in args[0].values())
    emitted = args[1].values()
    return sum(len(each.documents) + len(each.silent) for each in emitted)


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
