"""A small table of a store, held whole: read by one request, and again when it is old.

Invariants: rows are given for no longer than `keep_s` after their request was sent, and
never once a key was invalidated after that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from joinery.lookups.protocol import Answer, Key


@runtime_checkable
class WholeStore(Protocol):
    """A lookup store that can give its whole table."""

    def fetch_whole(self, most: int) -> Mapping[Key, Answer] | None:
        """Return all rows, as they stood at one moment, by one request.

        Args:
            most: How many there may be.

        Returns:
            None where there are more, or where the store tells keys apart in another way
            than their types do.

        Raises:
            LookupUnavailableError: The same request may succeed later.
            LookupStoreError: It will not without a change of the store or the project.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """All rows of a table; a key that is not there has none.

    Attributes:
        rows: By key.
        read_at: When they were asked for, of the monotonic clock.
    """

    rows: Mapping[Key, Answer]
    read_at: float


class WholeTable:
    """Holds a table while it is small; may be used from several threads.

    Args:
        fetch: Reads the table within the limits of its store; None where it is too large.
        keep_s: How old rows may be.
    """

    def __init__(self, fetch: Callable[[], Whole | None], keep_s: float) -> None:
        self._fetch = fetch
        self._keep_s = keep_s
        self._lock = threading.Lock()
        self._held: Whole | None = None
        self._too_large = keep_s <= 0
        self._changes = 0

    def rows(self) -> Whole | None:
        """Return the table; None where it is asked by keys, from then on for good."""
        with self._lock:
            held, changes = self._held, self._changes
        if self._too_large:
            return None
        if held is not None and time.monotonic() - held.read_at <= self._keep_s:
            return held
        found = self._fetch()
        with self._lock:
            self._too_large = found is None
            # Rows that were read before a key was invalidated serve who asked before alone.
            self._held = found if changes == self._changes else None
        return found

    def forget(self, keys: Iterable[Key]) -> int:
        """Drop the rows, since those of `keys` have changed; return how many of them there were."""
        with self._lock:
            held, self._held = self._held, None
            self._changes += 1
        return 0 if held is None else sum(key in held.rows for key in keys)
