"""A program of several parts, each lowered for itself: they share a chain, and no node.

Products that need rows or columns that nobody kept are a part of their own, so that what stood
before stays as it is. A relation that several parts read is in the program once for each.

Invariant: no node of a part hears of a node of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from joinery.solutions.spark_state.assembler import Assembler
from joinery.solutions.spark_state.node_numbers import Kind, renumbered
from joinery.solutions.spark_state.program import (
    ROLE_PRIMARY,
    Inserts,
    KernelNode,
    KernelProgram,
    ProductProgram,
    ProductRead,
    RelationProgram,
    Retract,
    Route,
    Subjects,
    Versions,
)

Part = int | None
"""The number of a part; None for the first."""


def join(parts: Mapping[Part, KernelProgram]) -> KernelProgram:
    """Return one program of several, by their parts; none is of streams."""
    programs = [_named(program, part) for part, program in parts.items()]
    places = _relation_places(programs)
    levels = max(each.levels for each in programs)
    relations: dict[int, RelationProgram] = {}
    nodes: list[KernelNode] = []
    assemblers: list[Assembler] = []
    products: list[ProductProgram] = []
    routes: list[Route] = []
    reads: list[ProductRead] = []
    for program, relation_places in zip(programs, places, strict=True):
        moves: dict[Kind, Mapping[int, int]] = {
            "node": _behind(nodes, program.nodes),
            "relation": relation_places,
            "assembler": _behind(assemblers, program.assemblers),
            "product": _behind(products, program.products),
        }
        for node in program.nodes:
            moved_node: Any = renumbered(node, moves)
            nodes.append(replace(moved_node, level=node.level + levels - program.levels))
        known = {each.name for each in relations.values()}
        for route in program.routes:
            # What becomes of a relation's records is counted once.
            again = program.relations[route.relation].name in known
            routes.append(
                replace(
                    route,
                    relation=relation_places[route.relation],
                    node=moves["node"][route.node],
                    role=route.role & ~ROLE_PRIMARY if again else route.role,
                )
            )
        for place, each in enumerate(program.relations):
            moved = replace(each, assembler=moves["assembler"][each.assembler])
            relations[relation_places[place]] = moved
        reads += (
            replace(
                each,
                relation=relation_places[each.relation],
                product=moves["product"][each.product],
            )
            for each in program.reads
        )
        assemblers += program.assemblers
        products += program.products
    return replace(
        programs[0],
        levels=levels,
        relations=tuple(relations[place] for place in range(len(relations))),
        nodes=tuple(nodes),
        assemblers=tuple(assemblers),
        products=tuple(products),
        routes=tuple(routes),
        reasons=tuple(reason for each in programs for reason in each.reasons),
        reads=tuple(reads),
    )


def relations_of(program: KernelProgram, part: Part) -> frozenset[str]:
    """Return the relations that a part of a program reads from sources."""
    return frozenset(each.name for each in program.decoded if each.part == part)


def _named(program: KernelProgram, part: Part) -> KernelProgram:
    """Return a program whose relations say of which part they are, and their own nodes too."""
    if part is None:
        return program
    relations = tuple(replace(each, part=part) for each in program.relations)
    nodes = tuple(
        replace(each, name=relations[each.relation].own_name)
        if isinstance(each, Retract | Inserts | Subjects | Versions)
        else each
        for each in program.nodes
    )
    return replace(program, relations=relations, nodes=nodes)


def _behind(before: Sequence[object], more: Sequence[object]) -> dict[int, int]:
    return {place: len(before) + place for place in range(len(more))}


def _relation_places(programs: Sequence[KernelProgram]) -> list[dict[int, int]]:
    """Return by program where its relations go: first those of sources, last versions of rows."""
    found: list[dict[int, int]] = [{} for _ in programs]
    free = count()
    for kind in range(3):
        for program, places in zip(programs, found, strict=True):
            for place in list(_kinds_of_relations(program))[kind]:
                places[place] = next(free)
    return found


def _kinds_of_relations(program: KernelProgram) -> Iterator[range]:
    read = len(program.decoded)
    made = read + len(program.reads)
    yield range(read)
    yield range(read, made)
    yield range(made, len(program.relations))
