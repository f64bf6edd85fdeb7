"""What the sink of a product that settles receives: the newest of what waited, where it differs.

The reference of `emit: {settle: …}`: it keeps what the sink holds, which a run does not. When a
key has settled is not its matter: it is told.

Invariant: once nothing waits, the sink holds what it would hold if each batch had sent at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

Documents = Mapping[str, str | None]
"""Texts of documents by the texts of their keys; None where there is no document."""


class Settling:
    """One product's documents that wait, and its sink.

    Example:
        >>> settling = Settling()
        >>> settling.take({"1": "a", "2": "b"})
        >>> settling.settle(["1"])
        {'1': 'a'}
        >>> settling.take({"1": "c", "2": None})
        >>> settling.take({"1": "a"})
        >>> settling.settle(["1", "2"])
        {}
    """

    def __init__(self) -> None:
        self._sink: dict[str, str | None] = {}
        self._waiting: dict[str, str | None] = {}

    @property
    def sink(self) -> Documents:
        """The documents that the sink holds."""
        return {key: text for key, text in self._sink.items() if text is not None}

    @property
    def waiting(self) -> Collection[str]:
        """The keys that wait."""
        return self._waiting.keys()

    def take(self, sent: Documents) -> None:
        """Hold what a batch sends."""
        self._waiting |= sent

    def settle(self, keys: Collection[str]) -> Documents:
        """Return what the sink receives of keys that have settled."""
        settled = {key: self._waiting.pop(key) for key in sorted(keys) if key in self._waiting}
        received = {key: text for key, text in settled.items() if text != self._sink.get(key)}
        self._sink |= received
        return received
