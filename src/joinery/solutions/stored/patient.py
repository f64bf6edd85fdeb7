"""A store-backed solution that waits for its store, as sinks are waited for.

What broke off is repeated on a fresh connection: a batch may run again after any step of it, and
what it sends is the same.

Invariant: before each attempt the lease is checked, so a run that was replaced writes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from joinery.errors import JoineryError
from joinery.model.progress import Waiting
from joinery.retry import PATIENCE, Patience, Retry
from joinery.solutions.stored.state import StoreSolution, StoreUnavailableError, WrappingSolution

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


def _always_ours() -> None:
    """The check of a store that nobody else can take over."""


class PatientSolution(WrappingSolution):
    """A solution that is opened, and opened again, until its store is there.

    One whose store is not there at first is opened with the first batch.

    Args:
        make: Opens the solution.
        query: The query's name.
        target: What is waited for, in words.
        check: Raises once another run has taken over.
        ended: True once the run is to end; a wait ends then.
        tell: Called with what is waited for, and None once that is over.
        patience: How it waits.

    Raises:
        StoreError: The store is there, and cannot be used.
        StoreUnavailableError: Of a call: the run ended while the store was not there.
    """

    def __init__(
        self,
        make: Callable[[], StoreSolution],
        query: str,
        target: str,
        *,
        check: Callable[[], None] = _always_ours,
        ended: Callable[[], bool] = lambda: False,
        tell: Callable[[Waiting | None], None] = lambda waiting: None,
        patience: Patience = PATIENCE,
    ) -> None:
        self._target = target
        self._make = make
        self._check = check
        self._solution: StoreSolution | None = None
        self._retry = Retry(
            "store",
            {"product": query},
            lambda: target,
            outage=StoreUnavailableError,
            ended=ended,
            tell=tell,
            patience=patience,
        )
        try:
            self._solution = make()
        except StoreUnavailableError as error:
            self._retry.note(error)

    def close(self) -> None:
        """Close the solution; a batch that is under way is as if it had crashed here."""
        solution, self._solution = self._solution, None
        if solution is not None:
            solution.close()

    def _reach(self, act: Callable[[StoreSolution], _T]) -> _T:
        return self._retry.until_done(partial(self._attempt, act), f"could not use {self._target}")

    def _attempt(self, act: Callable[[StoreSolution], _T]) -> _T:
        self._check()
        if self._solution is None:
            self._solution = self._make()
        try:
            return act(self._solution)
        except StoreUnavailableError:
            self._drop()
            raise

    def _drop(self) -> None:
        """Leave a solution whose store is gone; that it cannot say goodbye changes nothing."""
        try:
            self.close()
        except (JoineryError, OSError) as error:
            _log.info("a lost store could not be closed", extra={"reason": str(error)})
