"""How much state one node of a query keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeState:
    """How much state one node of a query keeps.

    Attributes:
        node: Its kind and name, such as `Match profile/orders`; empty for what the query itself
            notes, such as what is to be forgotten when.
        products: By product, its share of the node: all of it, or a part of what it has in common
            with others, by what the node sends to each.
        keys: How many keys it keeps something for.
        pages: In how many pages what is large is kept, beside the entries of the keys.
        bytes: All of that, with the keys, before Spark compresses it.
    """

    node: str
    products: Mapping[str, float]
    keys: int
    pages: int
    bytes: int
