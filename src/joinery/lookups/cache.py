"""Answers of a store that may be used again: bounded in number and in age, newest used kept.

Invariant: no answer is given that is older than its time to live, and none that was read
before its key was last invalidated.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from joinery.lookups.protocol import Answer, Key
from joinery.project.step import Cache


class AnswerCache:
    """Keeps answers by key; not safe for several threads at once.

    Args:
        options: How many are kept, and for how long.
    """

    def __init__(self, options: Cache) -> None:
        self._rows = options.size
        self._ttl_s = options.ttl_ms / 1000
        self._negative_ttl_s = options.negative_ms / 1000
        self._held: OrderedDict[Key, tuple[Answer, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: Key, now: float) -> tuple[Answer, float] | None:
        """Return the answer under `key` and when it was read, None where none may be used."""
        held = self._held.get(key)
        if held is None:
            return None
        answer, read_at = held
        if now - read_at > (self._negative_ttl_s if answer is None else self._ttl_s):
            del self._held[key]
            return None
        self._held.move_to_end(key)
        return held

    def put(self, key: Key, answer: Answer, read_at: float) -> None:
        """Keep an answer; the one that was used longest ago makes room."""
        if (self._negative_ttl_s if answer is None else self._ttl_s) <= 0 or self._rows <= 0:
            return
        self._held[key] = (answer, read_at)
        self._held.move_to_end(key)
        if len(self._held) > self._rows:
            self._held.popitem(last=False)

    def forget(self, keys: Iterable[Key]) -> int:
        """Drop the answers under `keys`; return how many there were."""
        return sum(self._held.pop(key, None) is not None for key in keys)

    def clear(self) -> None:
        """Drop all answers."""
        self._held.clear()
