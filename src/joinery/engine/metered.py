"""A store together with what was asked of it: requests, entries read, entries written.

A request is one call, however many keys it is about. A store that knows better, such as one
that is billed by the request, offers `usage()`, whose figures stand in place of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, cast

from joinery.solutions.store import JoinState, StateReader

_UNCOUNTED = ("close",)
_WRITES = ("mark", "write", "acknowledge")


class Metered:
    """Passes all calls on to a store, and counts them."""

    def __init__(self, state: JoinState | StateReader) -> None:
        self._state = state
        self._counts: Counter[str] = Counter()

    @property
    def state(self) -> JoinState:
        """The store, counted."""
        return cast(JoinState, self)

    def usage(self) -> dict[str, int]:
        """Return what was counted since the last call."""
        told = dict(self._counts)
        self._counts.clear()
        own: Callable[[], Mapping[str, int]] | None = getattr(self._state, "usage", None)
        return {**told, **(own() if own else {})}

    def add(self, usage: Mapping[str, int]) -> None:
        """Count what was asked of the same store elsewhere."""
        self._counts.update(usage)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._state, name)
        if not callable(value) or name in _UNCOUNTED:
            return value

        def call(*args: Any, **named: Any) -> Any:
            result = value(*args, **named)
            self._counts["requests"] += 1
            if name in _WRITES:
                self._counts["entries_written"] += _written(name, args)
            elif hasattr(result, "__len__"):
                self._counts["entries_read"] += len(result)
            return result

        return call


def _written(name: str, args: tuple[Any, ...]) -> int:
    if name == "write":
        return len(args[1])
    if name == "mark":
        return sum(len(keys) for keys in args[0].values())
    emitted = args[1].values()
    return sum(len(each.documents) + len(each.silent) for each in emitted)
