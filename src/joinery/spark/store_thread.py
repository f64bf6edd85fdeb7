"""A store-backed solution, opened, used and closed in one thread of its own.

Spark calls a query's batches from threads that come and go; a database's connection belongs
to one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from joinery.model.change import Change
from joinery.solutions.store import Batch, Outcome, StoreSolution


class StoreThread:
    """A solution that any thread may call.

    Args:
        make: Opens the solution.

    Raises:
        StoreError: The store cannot be used.
    """

    def __init__(self, make: Callable[[], StoreSolution]) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="joinery-store")
        try:
            self._solution = self._executor.submit(make).result()
        except BaseException:
            self._executor.shutdown()
            raise

    def apply(self, changes: Sequence[Change], batch: Batch) -> Outcome:
        """Apply a batch."""
        return self._executor.submit(self._solution.apply, changes, batch).result()

    def forget(self, before_us: int) -> None:
        """Forget rows that were deleted before a time."""
        self._executor.submit(self._solution.forget, before_us).result()

    def close(self) -> None:
        """Close the solution, after the batch that is under way."""
        self._executor.submit(self._solution.close).result()
        self._executor.shutdown()
