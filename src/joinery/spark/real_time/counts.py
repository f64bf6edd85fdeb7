"""What a query has counted since it went live: by kind, by product or relation, and by name."""

from __future__ import annotations

from collections.abc import Mapping

DocumentCounts = Mapping[str, Mapping[str, int]]
LiveCounts = Mapping[str, DocumentCounts]


def plus(one: LiveCounts, other: LiveCounts) -> LiveCounts:
    """Return the sums of two counts.

    Example:
        >>> plus({"counters": {"p": {"older": 2}}}, {"counters": {"p": {"older": 1}}})
        {'counters': {'p': {'older': 3}}}
    """
    sums = {kind: {owner: dict(each) for owner, each in of.items()} for kind, of in one.items()}
    for kind, owners in other.items():
        for owner, counters in owners.items():
            mine = sums.setdefault(kind, {}).setdefault(owner, {})
            for name, count in counters.items():
                mine[name] = mine.get(name, 0) + count
    return sums


def since(before: LiveCounts, now: LiveCounts) -> dict[str, dict[str, dict[str, int]]]:
    """Return what was counted between two tellings; empty where nothing was.

    Example:
        >>> since({"relations": {"user": {"read": 2}}}, {"relations": {"user": {"read": 5}}})
        {'relations': {'user': {'read': 3}}}
    """
    fresh: dict[str, dict[str, dict[str, int]]] = {}
    for kind, owners in now.items():
        for owner, counters in owners.items():
            known = before.get(kind, {}).get(owner, {})
            more = {name: count - known.get(name, 0) for name, count in counters.items()}
            if any(more.values()):
                fresh.setdefault(kind, {})[owner] = {n: c for n, c in more.items() if c}
    return fresh
