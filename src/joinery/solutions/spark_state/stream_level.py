"""Sets the levels of the nodes of a program of streams.

A level holds functions or lookups, not both; what follows on a store that is asked stands
behind all levels that keep state.

Invariant: every message goes to a later level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from joinery.solutions.spark_state.stream_program import (
    AsOf,
    Claim,
    CurrentLookup,
    Entry,
    MapEvents,
    PairEvents,
    Rolling,
    Seen,
    StreamNode,
)


def leveled(
    nodes: Sequence[StreamNode], entries: Sequence[Entry]
) -> tuple[tuple[StreamNode, ...], int]:
    """Return the nodes with their levels, and how many levels come before any store is asked."""
    depths = [0] * len(nodes)
    late: set[int] = set()

    def visit(targets: Sequence[int], depth: int, *, behind: bool) -> None:
        for index in targets:
            if index < 0:
                continue
            node = nodes[index]
            asked = behind or _asks(node)
            if depth > depths[index] or (asked and index not in late):
                depths[index] = max(depth, depths[index])
                late.update({index} if asked else ())
                visit(_targets(node), depths[index] + 1, behind=asked)

    for entry in entries:
        visit([each.target for each in entry.onward], 1, behind=False)
    places = [
        (index in late, depth, _calls(node))
        for index, (node, depth) in enumerate(zip(nodes, depths, strict=True))
    ]
    order = sorted(set(places))
    levels = {place: number for number, place in enumerate(order, 1)}
    early = sum(1 for is_late, _, _ in order if not is_late)
    placed = tuple(
        replace(node, level=levels[place]) for node, place in zip(nodes, places, strict=True)
    )
    return placed, early


def _asks(node: StreamNode) -> bool:
    """Return whether a store is asked for the node, after all levels that keep state."""
    match node:
        case CurrentLookup():
            return node.asked
        case AsOf() | Claim() | MapEvents() | Rolling() | Seen() | PairEvents():
            return False


def _calls(node: StreamNode) -> bool:
    """Return whether a function is called for the node, which needs a level without state."""
    match node:
        case MapEvents():
            return True
        case CurrentLookup() | AsOf() | Claim() | Rolling() | Seen() | PairEvents():
            return False


def _targets(node: StreamNode) -> list[int]:
    match node:
        case Claim():
            return [node.target]
        case CurrentLookup() | AsOf() | MapEvents() | Rolling() | Seen() | PairEvents():
            return [each.target for each in node.onward]
