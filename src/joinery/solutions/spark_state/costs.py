"""What each product of a query costs: what its nodes took, and its part of those it shares.

A node that products share (a relation's Retract) is divided by what it sends to: two of its three
uses are two thirds of it. What a product takes that others read is its own, not its readers'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from joinery.solutions.spark_state.document_program import NO_RELATION, Fold
from joinery.solutions.spark_state.event_fold_program import EventFold
from joinery.solutions.spark_state.group_program import Group
from joinery.solutions.spark_state.level import targets_of
from joinery.solutions.spark_state.pattern_program import Pattern
from joinery.solutions.spark_state.program import (
    DocumentNode,
    KernelProgram,
    Root,
)
from joinery.solutions.spark_state.search_program import Search
from joinery.solutions.spark_state.stream_program import StreamNode
from joinery.solutions.spark_state.versioning import History

Share = Mapping[int, float]
"""By product, its part of a node; all parts are one."""
_Owned = Fold | Root | Group | History | Search | EventFold | Pattern


class ProductCosts:
    """Tells what nodes took by product; of a program with streams nothing.

    Args:
        program: That of the query.
    """

    def __init__(self, program: KernelProgram) -> None:
        self._products = [each.name for each in program.products]
        self._shares = shares(document_nodes(program))

    def of(self, counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
        """Return what nodes took by product, in microseconds as `us`.

        Args:
            counts: By the place of a node in the program, as text, its `nanos`, if it took any.
        """
        if not self._shares:
            return {}
        found: dict[int, float] = {}
        for node, counted in counts.items():
            for product, part in self._shares[int(node)].items():
                found[product] = found.get(product, 0.0) + part * counted.get("nanos", 0) / 1000
        return {self._products[product]: {"us": round(total)} for product, total in found.items()}


def document_nodes(program: KernelProgram) -> list[DocumentNode]:
    """Return the nodes of a program that makes documents; none of one with streams."""
    nodes = [each for each in program.nodes if not isinstance(each, StreamNode)]
    return nodes if len(nodes) == len(program.nodes) else []


def shares(nodes: Sequence[DocumentNode]) -> list[Share]:
    """Return by node whose it is."""
    known: dict[int, Share] = {}

    def share(index: int) -> Share:
        if index not in known:
            known[index] = _share(nodes[index])
        return known[index]

    def _share(node: DocumentNode) -> Share:
        if isinstance(node, _Owned) and node.product != NO_RELATION:
            return {node.product: 1.0}
        found: dict[int, float] = {}
        targets = targets_of(node)
        for each in targets:
            for product, part in share(each).items():
                found[product] = found.get(product, 0.0) + part / len(targets)
        return found

    return [share(index) for index in range(len(nodes))]
