"""A store-backed solution, opened, used and closed in one thread of its own.

Spark calls a query's batches from threads that come and go; a database's connection belongs
to one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from joinery.solutions.stored.state import (
    StoreSolution,
    WrappingSolution,
)

_T = TypeVar("_T")
_log = logging.getLogger("joinery.run")


class StoreThread(WrappingSolution):
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

    def _reach(self, act: Callable[[StoreSolution], _T]) -> _T:
        return self._executor.submit(act, self._solution).result()

    def close(self) -> None:
        """Close the solution, after the batch that is under way.

        What it was given is kept, so one that fails holds up nothing else that is to be closed.
        """
        try:
            super().close()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            reason = f"{type(error).__name__}: {error}"
            _log.warning("a store could not be closed", extra={"reason": reason})
        finally:
            self._executor.shutdown()
