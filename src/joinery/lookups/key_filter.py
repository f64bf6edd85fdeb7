"""A filter of all keys of a table, so that those without a row need not be asked for.

It is a Bloom filter (Bloom, "Space/time trade-offs in hash coding with allowable errors",
1970): it may take a key that is not there for one that is, never the other way round.

Invariants: a key that it lacks had no row when the keys were listed, no longer than `keep_s`
ago, and has not been invalidated since.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from joinery.lookups.protocol import Key

MOST_KEYS = 1_000_000
_BITS_A_KEY = 12
_PROBES = 5


@runtime_checkable
class KeyListingStore(Protocol):
    """A lookup store that can list the keys of its table."""

    def fetch_keys(self, most: int) -> Collection[Key] | None:
        """Return all keys, as they stood at one moment, by one request.

        Args:
            most: How many there may be.

        Returns:
            None where there are more, or where the store tells keys apart in another way
            than their types do.

        Raises:
            LookupUnavailableError: The same request may succeed later.
            LookupStoreError: It will not without a change of the store or the project.
        """


class Bloom:
    """A set of keys that forgets which they are.

    Args:
        expected: How many keys there will be; with more it takes more for its own.
    """

    def __init__(self, expected: int) -> None:
        size = 1 << max(10, (expected * _BITS_A_KEY - 1).bit_length())
        self._mask = size - 1
        self._bits = bytearray(size >> 3)

    def add(self, key: Key) -> None:
        """Put a key in."""
        bits, mask, place = self._bits, self._mask, hash(key)
        step = (place >> 32) | 1
        for _ in range(_PROBES):
            bits[(place & mask) >> 3] |= 1 << (place & 7)
            place += step

    def __contains__(self, key: Key) -> bool:
        bits, mask, place = self._bits, self._mask, hash(key)
        step = (place >> 32) | 1
        for _ in range(_PROBES):
            if not bits[(place & mask) >> 3] & (1 << (place & 7)):
                return False
            place += step
        return True


@dataclass(frozen=True, slots=True)
class _Held:
    keys: Bloom
    read_at: float


class KeyFilter:
    """Holds the filter of one table; may be used from several threads.

    Args:
        fetch: Lists the keys within the limits of their store, and tells when it asked; None
            where they cannot be listed.
        keep_s: How long a key may be told absent; 0 never lists any.
    """

    def __init__(
        self, fetch: Callable[[], tuple[Collection[Key], float] | None], keep_s: float
    ) -> None:
        self._fetch = fetch
        self._keep_s = keep_s
        self._lock = threading.Lock()
        self._listing = threading.Lock()
        self._held: _Held | None = None
        self._changed: list[Key] | None = None
        self._useless = keep_s <= 0

    def refresh(self) -> None:
        """List the keys, unless those that were listed may still be told absent."""
        with self._listing:
            held = self._held
            fresh = held is not None and time.monotonic() - held.read_at <= self._keep_s
            if not self._useless and not fresh:
                self._list()

    def _list(self) -> None:
        with self._lock:
            self._held, self._changed = None, []
        try:
            found = self._fetch()
        except BaseException:
            with self._lock:
                self._changed = None
            raise
        self._useless = found is None
        bloom = Bloom(len(found[0])) if found else Bloom(0)
        for key in found[0] if found else ():
            bloom.add(key)
        with self._lock:
            for key in self._changed:
                bloom.add(key)
            self._held = _Held(bloom, found[1]) if found else None
            self._changed = None

    def absent_since(self, key: Key, now: float) -> float | None:
        """Return when it was read that a key has no row; None where it has to be asked for."""
        held = self._held
        if held is None or now - held.read_at > self._keep_s or key in held.keys:
            return None
        return held.read_at

    def note(self, keys: Iterable[Key]) -> None:
        """Let keys be asked for: they have changed."""
        with self._lock:
            if self._changed is not None:
                self._changed.extend(keys)
            elif self._held is not None:
                for key in keys:
                    self._held.keys.add(key)

    def clear(self) -> None:
        """Forget what was listed."""
        with self._lock:
            self._held = None
