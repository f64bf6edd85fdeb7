"""Sets the levels of a program's nodes: how far each is from the last that hears of it.

Invariant: every message goes to a later level.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from joinery.solutions.spark_state.document_program import (
    FanOut,
    Fold,
    Gather,
    Interval,
    Match,
    ToOne,
    Valid,
)
from joinery.solutions.spark_state.event_fold_program import EventFold
from joinery.solutions.spark_state.group_program import Closing, Cuts, Deadlines, Group
from joinery.solutions.spark_state.pattern_program import Pattern, Rule
from joinery.solutions.spark_state.program import (
    ChildUse,
    DocumentNode,
    GroupUse,
    Inserts,
    OwnUse,
    ParentUse,
    ProductNode,
    ProductRead,
    Removed,
    Retract,
    Root,
    Route,
    Subjects,
    ThroughUse,
    Use,
    Versions,
)
from joinery.solutions.spark_state.search_program import QueryUse, Search, SearchedUse
from joinery.solutions.spark_state.versioning import History


def leveled(
    nodes: Sequence[DocumentNode], reads: Sequence[ProductRead], routes: Sequence[Route]
) -> list[DocumentNode]:
    """Return nodes with their levels, the last of which sends to sinks alone.

    Args:
        nodes: Those of a program.
        reads: The products that others read, whose nodes send to the first of these.
        routes: Where the changes of relations go.
    """
    readers: dict[int, list[int]] = defaultdict(list)
    for read in reads:
        readers[read.product] += [each.node for each in routes if each.relation == read.relation]
    waits: dict[int, list[int]] = defaultdict(list)
    for index, each in enumerate(nodes):
        if isinstance(each, Closing | Cuts):
            waits[each.target].append(index)
    rules: dict[int, list[int]] = {
        index: [use.target for use in each.rules.uses]
        for index, each in enumerate(nodes)
        if isinstance(each, Pattern) and each.rules is not None
    }
    targets = [_all_targets(each, readers, waits, rules) for each in nodes]
    for index, each in enumerate(nodes):
        if isinstance(each, Subjects):
            rows = (route.node for route in routes if route.relation == each.relation)
            targets[index] = [node for node in rows if node != index]
    depths: dict[int, int] = {}

    def depth(index: int) -> int:
        node = nodes[index]
        if isinstance(node, Deadlines):
            return depth(node.target)
        if index not in depths:
            depths[index] = 1 + max(map(depth, targets[index])) if targets[index] else 0
        return depths[index]

    kept = [i for i, each in enumerate(nodes) if not isinstance(each, Inserts)]
    deepest = max(map(depth, kept), default=0)
    return [
        replace(each, level=0 if isinstance(each, Inserts) else deepest + 1 - depth(i))
        for i, each in enumerate(nodes)
    ]


def _all_targets(
    node: DocumentNode,
    readers: Mapping[int, list[int]],
    waits: Mapping[int, list[int]],
    rules: Mapping[int, list[int]],
) -> list[int]:
    """Return all nodes that one sends to.

    Args:
        node: The one.
        readers: The first nodes that read a product.
        waits: The Closings and Cuts before a node: who sends to it tells them, too.
        rules: The Rules before a node: who sends rows to it asks them, too.
    """
    targets = targets_of(node)
    if not isinstance(node, Closing | Deadlines | Cuts | Rule):
        targets += [one for each in targets for one in (*waits.get(each, ()), *rules.get(each, ()))]
    if isinstance(node, ProductNode):
        targets += readers.get(node.product, [])
    return targets


def targets_of(node: DocumentNode) -> list[int]:
    """Return the nodes that one sends to, by its own program alone, once for each way."""
    match node:
        case Retract() | Inserts() | Versions() | Root():
            return [target for use in node.uses for target in targets_of_use(use)]
        case ToOne():
            return [node.merge.upward.target if node.merge else node.fold]
        case Match() | Interval() | Valid() | Gather():
            return [node.fold]
        case FanOut() | Rule():
            return [node.target]
        case Fold():
            return [node.upward.target] if node.upward else []
        case Group() | History() | Search() | EventFold() | Pattern() | Removed():
            return []
        case Subjects():
            return []  # the routes of its relation tell
        case Closing() | Deadlines():
            return [node.target]
        case Cuts():
            return [node.closing]


def targets_of_use(use: Use) -> list[int]:
    """Return the nodes that a row is sent to for a use."""
    match use:
        case OwnUse() | GroupUse() | ThroughUse() | SearchedUse() | QueryUse():
            return [use.target]
        case ChildUse():
            return [use.upward.target]
        case ParentUse():
            return [use.target] if use.fold < 0 else [use.target, use.fold]
