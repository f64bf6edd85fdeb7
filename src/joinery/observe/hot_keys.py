"""Which keys got most messages in the last batches of a query.

The counts of a batch are a frequent-items summary: exact for a few keys, and no other key had
more than what is told. Summaries are added as in "Mergeable summaries" (Agarwal and others, PODS
2012): a key's counts add up, and where a batch does not list it, what the batch left out adds to
the error.

Invariant: a key had at least its `messages`, and at most its `error` more. No more is remembered
than a few keys a node and batch.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from heapq import nlargest

from joinery.model.hot_key import HotKey, NodeKeys
from joinery.text.figure import share_text

_BATCHES = 20
_SHOWN = 10
_LEAST_SHARE = 0.02
_LEAST_MESSAGES = 100


class RecentKeys:
    """The keys of one query's nodes over its last batches.

    Args:
        batches: How many of them count.
    """

    def __init__(self, batches: int = _BATCHES) -> None:
        self._most = batches
        self._batches: deque[Sequence[NodeKeys]] = deque()
        self._nodes: dict[str, _RecentNode] = {}
        self._found: dict[str, tuple[HotKey, ...]] = {}

    def note(self, batch: Sequence[NodeKeys]) -> None:
        """Add a batch, and take the oldest away where there are too many."""
        self._found.clear()
        self._batches.append(batch)
        for each in batch:
            self._nodes.setdefault(each.node, _RecentNode()).count(each, 1)
        if len(self._batches) > self._most:
            for each in self._batches.popleft():
                self._nodes[each.node].count(each, -1)

    def of(self, product: str) -> tuple[HotKey, ...]:
        """Return the keys of a product that get much, those with the most messages first."""
        if product not in self._found:
            nodes = [each for each in self._nodes.values() if product in each.products]
            keys = [key for each in nodes for key in each.keys(len(self._batches))]
            self._found[product] = tuple(nlargest(_SHOWN, keys, key=lambda each: each.messages))
        return self._found[product]


class _RecentNode:
    """The sums of one node over the batches that count."""

    def __init__(self) -> None:
        self.products: tuple[str, ...] = ()
        self._node = self._by = ""
        self._messages = self._left_out = 0
        self._counts: Counter[str] = Counter()
        self._known: Counter[str] = Counter()
        self._texts: dict[str, str] = {}

    def count(self, batch: NodeKeys, sign: int) -> None:
        """Add the counts of a batch, or take them away."""
        self._node, self._by, self.products = batch.node, batch.by, batch.products
        self._messages += sign * batch.messages
        self._left_out += sign * batch.left_out
        for each in batch.keys:
            self._counts[each.code] += sign * each.messages
            self._known[each.code] += sign * batch.left_out
            self._texts[each.code] = each.text
            if not self._counts[each.code]:
                del self._counts[each.code], self._known[each.code], self._texts[each.code]

    def keys(self, batches: int) -> list[HotKey]:
        """Return the keys with much of the messages."""
        least = max(_LEAST_MESSAGES, _LEAST_SHARE * self._messages)
        return [
            HotKey(
                node=self._node,
                by=self._by,
                key=self._texts[code],
                messages=messages,
                error=self._left_out - self._known[code],
                of=self._messages,
                batches=batches,
            )
            for code, messages in self._counts.items()
            if messages >= least
        ]


def hot_text(keys: Sequence[HotKey]) -> str:
    """Return which key is so hot that it has to be named, in words; nothing where none is.

    Args:
        keys: Those of a product, the one with the most messages first.

    Example:
        >>> key = HotKey(
        ...     node="Match p/q", by="x", key="7", messages=9000, error=0, of=10_000, batches=20
        ... )
        >>> hot_text([key])
        'hot key: x = 7 has 90% of the messages of Match p/q in the last 20 batches'
    """
    hot = next((each for each in keys if each.named), None)
    if hot is None:
        return ""
    share, most = share_text(hot.share), share_text(hot.most)
    up_to = "" if share == most else f" (up to {most})"
    last = "last batch" if hot.batches == 1 else f"last {hot.batches} batches"
    part = f"{share}{up_to} of the messages of {hot.node} in the {last}"
    return f"hot key: {hot.by} = {hot.key} has {part}"
