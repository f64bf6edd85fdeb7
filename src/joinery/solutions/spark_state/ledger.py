"""The ledger of a program's nodes: which number each has, so that its state stays where it is.

State stands under the number of its node, at the level of it, and rows of a relation hold the
columns that some product once needed. So a program that is to go on from the state of another
keeps what that has: nodes are found again by what they are, whatever their places in the project,
and keep their numbers and levels; a number whose product is gone is not given again; columns,
Retracts and Inserts that nobody needs any more stay.

Invariant: a node keeps its number only if it keeps the same, of the same, as the node that had it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, Self

from joinery.solutions.spark_state.costs import shares
from joinery.solutions.spark_state.document_program import (
    FanOut,
    Gather,
    Interval,
    Match,
    ToOne,
    Valid,
)
from joinery.solutions.spark_state.event_fold_program import EventFold
from joinery.solutions.spark_state.group_program import Closing, Cuts
from joinery.solutions.spark_state.level import targets_of, targets_of_use
from joinery.solutions.spark_state.node_numbers import Digests, digest_of, key_of, with_numbers
from joinery.solutions.spark_state.program import (
    ROLE_PRIMARY,
    DocumentNode,
    Inserts,
    KernelProgram,
    ProductNode,
    RelationProgram,
    Removed,
    Retract,
    Root,
    Subjects,
    Use,
    Versions,
)
from joinery.solutions.spark_state.search_program import Search
from joinery.solutions.spark_state.stream_program import StreamNode

_OF_NO_RELATION = ToOne | Match | Interval | Valid | FanOut | Gather | Cuts | Search | Removed
_REMOVED = "removed"
_READ = "read"
"""Stands among the uses of a Root that keeps what readers know, whoever they were."""

Way = Literal["retract", "inserts"]
"""By what the rows of a relation are sent to all but those that have a way of their own."""


@dataclass(frozen=True, slots=True)
class NumberedNode:
    """A node as a checkpoint knows it, under the number that is its place in the ledger.

    Attributes:
        key: Its kind and name.
        level: Where its state is.
        keeps: A hash of what it keeps.
        heard: A hash of what comes to it, and of whom.
        uses: Hashes of what its rows are for.
        products: Those that it is for.
        timed: Whether it asks to be called at a time.
    """

    key: str
    level: int
    keeps: str
    heard: str
    uses: tuple[str, ...]
    products: tuple[str, ...]
    timed: bool = False

    @property
    def removed(self) -> bool:
        """Whether no product of the program has it any more."""
        return self.key.startswith(f"{_REMOVED} ")


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a checkpoint holds, by the numbers of nodes.

    Attributes:
        nodes: By number.
        relations: By name the columns of their rows, derived ones too; in the program's order.
        levels: How many there are.
        ways: By relation, what its rows are sent by; those that are kept where they arrive are
            not in it.
        made: The relations that are products, which no source has.
        earlier: The marks of programs before that state may still have.
        places: By relation, also one that is gone, the place under which levels note what is over
            by its time.
        parts: By product the part of the program that it is in; those of the first are not there.

    A relation that a later part reads has the name that it has there (`RelationProgram.own_name`).
    """

    nodes: tuple[NumberedNode, ...]
    relations: Mapping[str, tuple[str, ...]]
    levels: int
    ways: Mapping[str, Way]
    made: tuple[str, ...]
    earlier: tuple[str, ...] = ()
    places: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        program: KernelProgram,
        earlier: Sequence[str] = (),
        gone: Mapping[str, int] = MappingProxyType({}),
    ) -> Self | None:
        """Return the ledger of a program; None of one with streams.

        Args:
            program: The program.
            earlier: The marks of programs before that state may still have.
            gone: The places of relations that it may not have any more.
        """
        nodes = [each for each in program.nodes if not isinstance(each, StreamNode)]
        if len(nodes) != len(program.nodes):
            return None
        digests, heard = Digests(program), _heard(program, nodes)
        owners = _owners(program, nodes)
        numbered = tuple(
            NumberedNode(
                key=key_of(node),
                level=node.level,
                keeps=digests.of_node(node),
                heard=heard[place],
                uses=tuple(sorted((*map(digests.of_use, _uses(node)), *_was_read(node)))),
                products=owners[place],
                timed=node.timed if isinstance(node, Removed) else _is_timed(node),
            )
            for place, node in enumerate(nodes)
        )
        versions = sum(each.kind == "versions" for each in nodes)
        kept = program.relations[: len(program.relations) - versions]
        rows = {
            each.own_name: tuple(one.name for one in program.assemblers[each.assembler].type.fields)
            for each in kept
        }
        made = tuple(program.relations[each.relation].own_name for each in program.reads)
        places = {
            each.own_name: place if each.notes is None else each.notes
            for place, each in enumerate(kept)
        }
        ways = dict(_ways(program))
        places = {**gone, **places}
        parts = dict(_parts(program, nodes, owners))
        return cls(numbered, rows, program.levels, ways, made, tuple(earlier), places, parts)

    @classmethod
    def from_plain(cls, told: Mapping[str, Any]) -> Self:
        """Return the ledger that `to_plain` told."""
        nodes = (
            NumberedNode(key, level, keeps, heard, tuple(uses), tuple(products), timed)
            for key, level, keeps, heard, uses, products, timed in told["nodes"]
        )
        rows = {name: tuple(columns) for name, columns in told["relations"].items()}
        return cls(
            tuple(nodes),
            rows,
            int(told["levels"]),
            dict(told["ways"]),
            tuple(told["made"]),
            tuple(told["earlier"]),
            dict(told.get("places", {name: place for place, name in enumerate(rows)})),
            dict(told.get("parts", {})),
        )

    def to_plain(self) -> dict[str, Any]:
        """Return it as values of JSON."""
        return {
            "levels": self.levels,
            "ways": dict(self.ways),
            "made": list(self.made),
            "earlier": list(self.earlier),
            "places": dict(self.places),
            "parts": dict(self.parts),
            "relations": {name: list(columns) for name, columns in self.relations.items()},
            "nodes": [
                [
                    each.key,
                    each.level,
                    each.keeps,
                    each.heard,
                    *map(list, (each.uses, each.products)),
                ]
                + [each.timed]
                for each in self.nodes
            ],
        }

    def of_part(self, part: int | None) -> Ledger:
        """Return what a part keeps of relations, under their names; the nodes are those of all."""
        names = {
            own: name
            for own in (*self.relations, *self.ways)
            for name, at in [_name_and_part(own)]
            if at == part
        }
        rows = {names[own]: each for own, each in self.relations.items() if own in names}
        ways = {names[own]: each for own, each in self.ways.items() if own in names}
        return replace(self, relations=rows, ways=ways)

    @property
    def next_part(self) -> int:
        """The number of a part that it never had."""
        told = (_name_and_part(each)[1] for each in (*self.places, *self.relations))
        return max((each for each in told if each is not None), default=0) + 1

    @property
    def products(self) -> frozenset[str]:
        """The products whose state it holds."""
        return frozenset(name for each in self.nodes for name in each.products)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a program stands to a checkpoint.

    Attributes:
        program: It with the numbers of the ledger; None where some of it has none there.
        changed: Products that both have, of which a node is another or hears of others.
        added: Those that the checkpoint does not have.
        removed: Those that the program does not have.
        extended: Nodes whose rows are for more than in the checkpoint.
    """

    program: KernelProgram | None
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()


def stand(program: KernelProgram, ledger: Ledger) -> Standing:
    """Return how a program, lowered to keep what a ledger has, stands to it.

    Raises:
        ValueError: It is one of streams.
    """
    ours = Ledger.of(program)
    if ours is None:
        raise ValueError("a program of streams has no ledger")
    numbers = known_numbers(program, ours, ledger)
    new = {name for i, each in enumerate(ours.nodes) if i not in numbers for name in each.products}
    names = {each.name for each in program.products}
    extended = tuple(
        node.key
        for place, node in enumerate(ours.nodes)
        if place in numbers and not {*node.uses} <= {*ledger.nodes[numbers[place]].uses}
    )
    fits = len(numbers) == len(program.nodes) and not extended
    return Standing(
        numbered(program, numbers, ledger) if fits else None,
        changed=tuple(sorted(new & ledger.products)),
        added=tuple(sorted(names - ledger.products)),
        removed=tuple(sorted(ledger.products - names)),
        extended=extended,
    )


def known_numbers(program: KernelProgram, ours: Ledger, ledger: Ledger) -> dict[int, int]:
    """Return by place the numbers of the nodes that are in a ledger, with all that they hear of."""
    known: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, each in enumerate(ledger.nodes):
        if not each.removed:
            known[each.key, each.keeps, each.heard].append(number)
    found: dict[int, int] = {}
    for place, node in enumerate(ours.nodes):
        fitting = known[node.key, node.keeps, node.heard]
        if fitting:
            number = max(fitting, key=lambda each: len({*node.uses} & {*ledger.nodes[each].uses}))
            known[node.key, node.keeps, node.heard].remove(number)
            found[place] = number
    _leave_followers(program, found)
    return found


def _leave_followers(program: KernelProgram, found: dict[int, int]) -> None:
    """Remove the nodes that hear of one which is not there: they would miss what it knew."""
    nodes = [each for each in program.nodes if not isinstance(each, StreamNode)]
    reads = {each.product: each.relation for each in program.reads}
    left = [place for place in range(len(nodes)) if place not in found]
    while left:
        node = nodes[left.pop()]
        heirs = targets_of(node)
        sent = reads.get(node.product) if isinstance(node, ProductNode) else None
        heirs += [each.node for each in program.routes if each.relation == sent]
        left += [each for each in {*heirs} if found.pop(each, None) is not None]


def numbered(program: KernelProgram, numbers: Mapping[int, int], ledger: Ledger) -> KernelProgram:
    """Return a program whose nodes have the numbers and levels of a ledger.

    Args:
        program: It was lowered to keep what the ledger has.
        numbers: By place the number of each node; one that is not in the ledger yet stands as far
            from the last level as in the program.
        ledger: The ledger.
    """
    nodes: list[Any] = [
        Removed(each.key.partition(" ")[2], each.level, each.timed) for each in ledger.nodes
    ]
    nodes += [None] * (len({*numbers.values()} - {*range(len(nodes))}))
    for place, number in numbers.items():
        node = with_numbers(program.nodes[place], numbers)
        if number >= len(ledger.nodes):
            nodes[number] = replace(node, level=node.level + ledger.levels - program.levels)
            continue
        known = ledger.nodes[number]
        if isinstance(node, Root) and node.read is None and _READ in known.uses:
            node = replace(node, was_read=True)
        nodes[number] = replace(node, level=known.level)
    return replace(
        program,
        levels=ledger.levels,
        relations=_placed(program, ledger),
        nodes=tuple(nodes),
        routes=tuple(with_numbers(each, numbers) for each in program.routes),
    )


def _placed(program: KernelProgram, ledger: Ledger) -> tuple[RelationProgram, ...]:
    """Return the relations of a program, whose times are noted where they were, or nowhere yet."""
    taken, found = {*ledger.places.values()}, []
    for place, relation in enumerate(program.relations):
        free = place if place not in taken else max(taken) + 1
        noted = ledger.places.get(relation.own_name, free)
        taken.add(noted)
        found.append(replace(relation, notes=None if noted == place else noted))
    return tuple(found)


def _heard(program: KernelProgram, nodes: Sequence[DocumentNode]) -> list[str]:
    """Return by node a text of all that comes to it, and of whom."""
    digests = Digests(program)
    found: dict[int, list[str]] = defaultdict(list)
    for node in nodes:
        for use in _uses(node):
            for target in targets_of_use(use):
                found[target].append(f"{key_of(node)} {digests.of_use(use)}")
        if not _uses(node):
            for target in targets_of(node):
                found[target].append(f"{key_of(node)} {digests.of_node(node)}")
    for route in program.routes:
        found[route.node].append(digests.of_route(route))
    return [digest_of(sorted({*found[place]})) for place in range(len(nodes))]


def _uses(node: DocumentNode) -> tuple[Use, ...]:
    return node.uses if isinstance(node, Retract | Inserts | Versions | Root) else ()


def _was_read(node: DocumentNode) -> tuple[str, ...]:
    return (_READ,) if isinstance(node, Root) and (node.read is not None or node.was_read) else ()


def _ways(program: KernelProgram) -> Iterator[tuple[str, Way]]:
    primary = {each.node for each in program.routes if each.role & ROLE_PRIMARY}
    for place, node in enumerate(program.nodes):
        if isinstance(node, Inserts) and node.judged is not None:
            continue  # A product's own, beside what others read of the relation.
        if isinstance(node, Inserts) or (isinstance(node, Retract) and place in primary):
            yield node.name, node.kind


def _parts(
    program: KernelProgram, nodes: Sequence[DocumentNode], owners: Sequence[Sequence[str]]
) -> Iterator[tuple[str, int]]:
    """Yield the products that are in a later part of a program."""
    for node, products in zip(nodes, owners, strict=True):
        if isinstance(node, _OF_NO_RELATION):
            continue
        if (part := program.relations[node.relation].part) is not None:
            yield from ((each, part) for each in products)


def _name_and_part(own_name: str) -> tuple[str, int | None]:
    """Return the relation of a name that `part_name` made, and its part."""
    name, at, part = own_name.rpartition("@")
    return (name, int(part)) if at and part.isdecimal() else (own_name, None)


def _owners(program: KernelProgram, nodes: Sequence[DocumentNode]) -> list[tuple[str, ...]]:
    """Return by node the products that it is for."""
    found = [set(each) for each in shares(nodes)]
    for place, node in enumerate(nodes):
        if isinstance(node, Subjects):
            rows = [each.node for each in program.routes if each.relation == node.relation]
            found[place] = {product for each in rows for product in found[each]}
    return [tuple(sorted(program.products[each].name for each in one)) for one in found]


def _is_timed(node: DocumentNode) -> bool:
    match node:
        case Closing():
            return node.idles
        case EventFold():
            return node.waits_by_clock
        case _:
            return False
