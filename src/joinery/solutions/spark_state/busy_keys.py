"""The keys that had the most messages in a batch, as the kernel counted them, in words."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import nlargest

from joinery.model.hot_key import CountedKey, NodeKeys
from joinery.solutions.spark_state.costs import document_nodes, shares
from joinery.solutions.spark_state.node_key import NodeKey, node_keys
from joinery.solutions.spark_state.program import KernelProgram
from joinery.solutions.spark_state.words import node_title

Told = Mapping[str, Mapping[str, int]]
"""Counts by the place of a node, as text, and name."""

_MOST = 16
_HASH_BYTES = 4
_WHOLE_BYTES = 200
"""So much of an address the kernel tells; of what is as long something may be missing."""


class BusyKeys:
    """Tells the keys with the most messages of each node; of a program with streams nothing.

    A node whose keys nobody could read is left out.

    Args:
        program: That of the query.
    """

    def __init__(self, program: KernelProgram) -> None:
        nodes = document_nodes(program)
        self._titles = [node_title(each) for each in nodes]
        self._owners = [
            tuple(program.products[product].name for product in part) for part in shares(nodes)
        ]
        self._keys = node_keys(program) if nodes else ()

    def of(self, nodes: Told, keys: Told, left_out: Told) -> tuple[NodeKeys, ...]:
        """Return the keys with the most messages of each node that had some.

        Args:
            nodes: The `messages` of each node that had some.
            keys: Those of addresses, in hexadecimal digits.
            left_out: As `messages`, how many any other address had at most.
        """
        counted = {
            int(node): each["messages"] for node, each in nodes.items() if "messages" in each
        }
        return tuple(
            NodeKeys(
                node=self._titles[place],
                by=key.by,
                products=self._owners[place],
                messages=messages,
                left_out=_left_out(keys.get(str(place), {}), left_out.get(str(place), {})),
                keys=_readable(key, keys.get(str(place), {})),
            )
            for place, messages in counted.items()
            if self._keys and (key := self._keys[place]) is not None
        )


def _left_out(keys: Mapping[str, int], told: Mapping[str, int]) -> int:
    """Return the most that a key has which is not among the first few."""
    rest = sorted(keys.values(), reverse=True)[_MOST:]
    return max([told.get("messages", 0), *rest])


def _readable(key: NodeKey, counts: Mapping[str, int]) -> tuple[CountedKey, ...]:
    most = nlargest(_MOST, counts.items(), key=lambda each: each[1])
    texts = ((code, _text(key, bytes.fromhex(code)), count) for code, count in most)
    return tuple(CountedKey(code, text, count) for code, text, count in texts if text is not None)


def _text(key: NodeKey, address: bytes) -> str | None:
    """Return what stands behind an address's hash and the number of its node."""
    at = _HASH_BYTES
    while address[at] & 0x80:
        at += 1
    return key.text(address[at + 1 :], cut=len(address) >= _WHOLE_BYTES)
