"""What the numbers in a program's nodes stand for: nodes, relations, assemblers, products.

So nodes can be compared by what they are, whatever their places, and be given other numbers.

Invariant: each class that a document's node is made of is in the table, with all its numbers that
stand for something else.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from joinery.model.type import DataType
from joinery.project.window import Span
from joinery.solutions.spark_state.assembler import (
    Address,
    AggregateColumn,
    ScopeName,
    Slot,
    Sql,
)
from joinery.solutions.spark_state.document_program import (
    Arm,
    Branch,
    FanOut,
    Fold,
    Gather,
    Gathers,
    Interval,
    Match,
    Merge,
    Near,
    ToOne,
    Upward,
    Valid,
    ValidRows,
)
from joinery.solutions.spark_state.event_fold_program import EventFold, TransitionProgram
from joinery.solutions.spark_state.group_program import (
    Closing,
    Cuts,
    Deadlines,
    Group,
    LateProgram,
    SessionProgram,
    SlidingProgram,
    WindowProgram,
)
from joinery.solutions.spark_state.interval_program import Judged, Kept
from joinery.solutions.spark_state.pattern_program import (
    Pattern,
    ReadProgram,
    Rule,
    RulesProgram,
    RuleUse,
    StepProgram,
    TestProgram,
)
from joinery.solutions.spark_state.program import (
    ROLE_PRIMARY,
    ChildUse,
    DocumentNode,
    GroupUse,
    Inserts,
    KernelNode,
    KernelProgram,
    OwnUse,
    ParentUse,
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
from joinery.solutions.spark_state.shaping import shaping
from joinery.solutions.spark_state.versioning import History

Kind = Literal["node", "relation", "assembler", "product"]
_NODE: Mapping[str, Kind] = {"target": "node"}
_FOLD: Mapping[str, Kind] = {"fold": "node"}
_RELATION: Mapping[str, Kind] = {"relation": "relation"}
_SENT: Mapping[str, Kind] = {"assembler": "assembler", "product": "product"}
_INPUT: Mapping[str, Kind] = {**_RELATION, **_SENT, "input": "assembler"}
_PLAIN: Mapping[str, Kind] = {}
REFERENCES: Mapping[type, Mapping[str, Kind]] = MappingProxyType(
    {
        Address: _PLAIN,
        AggregateColumn: _PLAIN,
        Arm: _PLAIN,
        Branch: _PLAIN,
        Gathers: _PLAIN,
        LateProgram: _PLAIN,
        Near: _PLAIN,
        ReadProgram: _PLAIN,
        Removed: _PLAIN,
        ScopeName: _PLAIN,
        SessionProgram: _PLAIN,
        SlidingProgram: _PLAIN,
        Slot: _PLAIN,
        Span: _PLAIN,
        Sql: _PLAIN,
        StepProgram: _PLAIN,
        ValidRows: _PLAIN,
        WindowProgram: _PLAIN,
        ChildUse: {"assembler": "assembler"},
        Closing: {**_NODE, **_RELATION, "other": "relation"},
        Deadlines: {**_NODE, **_RELATION},
        Cuts: {**_NODE, "closing": "node"},
        EventFold: {
            **_RELATION,
            "product": "product",
            "input": "assembler",
            "initial": "assembler",
        },
        FanOut: _NODE,
        Fold: {**_RELATION, **_SENT},
        Gather: _FOLD,
        Group: _INPUT,
        GroupUse: _NODE,
        History: {**_RELATION, **_SENT},
        Inserts: _RELATION,
        Interval: _FOLD,
        Judged: {"product": "product"},
        Kept: {"logs": "relation"},
        Match: _FOLD,
        Merge: {**_RELATION, "assembler": "assembler"},
        OwnUse: _NODE,
        ParentUse: {**_NODE, **_FOLD},
        Pattern: _INPUT,
        QueryUse: {**_NODE, "assembler": "assembler"},
        Retract: _RELATION,
        Root: {**_RELATION, "product": "product", "read": "relation"},
        Rule: {**_NODE, **_RELATION},
        RulesProgram: {"assembler": "assembler"},
        RuleUse: _NODE,
        Search: {
            **_SENT,
            "documents": "relation",
            "queries": "relation",
            "stored": "assembler",
        },
        SearchedUse: _NODE,
        Subjects: _RELATION,
        TestProgram: {"assembler": "assembler"},
        ThroughUse: _NODE,
        ToOne: {
            **_FOLD,
            "child_relation": "relation",
            "child_assembler": "assembler",
            "parent_relation": "relation",
        },
        TransitionProgram: {"assembler": "assembler"},
        Upward: _NODE,
        Valid: _FOLD,
        Versions: {**_RELATION, "versions": "relation"},
    }
)
# What differs between programs that keep the same: a level is where a node stands, and its uses
# are those of whoever is there.
_APART = frozenset({"level", "uses", "read", "was_read"})
_WHOSE = frozenset({"product"})
# What hashes were without before: where it says nothing, they are as they were.
_LATER = frozenset({"gathers", "beside", "raw"})
_NOTHING = frozenset[str]()
Part = TypeVar("Part")


def with_numbers(part: Part, numbers: Mapping[int, int]) -> Part:
    """Return a node, a use or a route with the nodes that it names under other numbers."""
    if isinstance(part, Route):
        return replace(part, node=numbers[part.node])
    return renumbered(part, {"node": numbers})


def renumbered(part: Part, numbers: Mapping[Kind, Mapping[int, int]]) -> Part:
    """Return a node or a use with what it names under other numbers, by their kinds."""
    return _renumbered(part, numbers)  # type: ignore[no-any-return]


def _renumbered(value: Any, numbers: Mapping[Kind, Mapping[int, int]]) -> Any:
    if isinstance(value, tuple):
        return tuple(_renumbered(each, numbers) for each in value)
    if isinstance(value, _DATA_TYPES) or not dataclasses.is_dataclass(value):
        return value
    named, changed = REFERENCES[type(value)], {}
    for each in dataclasses.fields(value):
        found, kind = getattr(value, each.name), named.get(each.name)
        if kind is not None and kind in numbers:
            changed[each.name] = _moved(found, numbers[kind])
        else:
            changed[each.name] = _renumbered(found, numbers)
    made: type = type(value)
    return made(**changed)


def _moved(found: Any, numbers: Mapping[int, int]) -> Any:
    if isinstance(found, tuple):
        return tuple(_moved(each, numbers) for each in found)
    return found if found is None or found < 0 else numbers[found]


_DATA_TYPES = DataType.__args__


@dataclass(slots=True)
class Digests:
    """What the parts of a program are, as hashes that no number is in.

    Attributes:
        program: A program of products.
    """

    program: KernelProgram
    _known: dict[tuple[Kind, int], str] = field(default_factory=dict)

    def of_node(self, node: KernelNode) -> str:
        """Return what a node keeps, by what comes of whom and for whom."""
        return digest_of(self._told(shaping(node, self.program)))

    def of_use(self, use: Use) -> str:
        """Return what a row is for."""
        return digest_of(self._told(use))

    def of_route(self, route: Route) -> str:
        """Return where changes go and by what, whoever is told of them first."""
        columns = [
            self.program.relations[route.relation].columns[each].name
            for each in route.address.ordinals
        ]
        relation, types = self._named("relation", route.relation), self._told(route.address.types)
        role = route.role & ~ROLE_PRIMARY
        return digest_of([relation, self._named("node", route.node), role, columns, types])

    def _told(self, value: Any) -> Any:
        if isinstance(value, _DATA_TYPES):
            return value.ddl
        if isinstance(value, tuple):
            return [self._told(each) for each in value]
        if not dataclasses.is_dataclass(value):
            return value
        named = REFERENCES[type(value)]
        apart = _apart(value)
        told: dict[str, Any] = {"": type(value).__name__}
        for each in dataclasses.fields(value):
            found = getattr(value, each.name)
            if each.name not in apart and not (found is None and each.name in _LATER):
                kind = named.get(each.name)
                told[each.name] = self._told(found) if kind is None else self._all(kind, found)
        if isinstance(value, ToOne) and value.child_relation < 0:
            told["child_assembler"] = None  # It has none, and says 0.
        return told

    def _all(self, kind: Kind, found: int | tuple[int, ...] | None) -> Any:
        if isinstance(found, tuple):
            return [self._all(kind, each) for each in found]
        return found if found is None or found < 0 else self._named(kind, found)

    def _named(self, kind: Kind, place: int) -> str:
        if (kind, place) not in self._known:
            self._known[kind, place] = self._name(kind, place)
        return self._known[kind, place]

    def _name(self, kind: Kind, place: int) -> str:
        program = self.program
        match kind:
            case "node":
                return key_of(program.nodes[place])
            case "product":
                return digest_of(_plain(program.products[place]))
            case "assembler":
                return digest_of(_plain(program.assemblers[place]))
            case "relation":
                relation = program.relations[place]
                view = self._named("assembler", relation.assembler)
                told = _plain(replace(relation, assembler=0, append=None))
                del told["notes"]
                if relation.part is None:
                    del told["part"]
                return digest_of([told, view])


def _apart(value: object) -> frozenset[str]:
    if isinstance(value, Judged):
        return _WHOSE  # What rows are for tells it, too.
    return _APART if isinstance(value, DocumentNode) else _NOTHING


def key_of(node: KernelNode) -> str:
    """Return what a node is called in its program; those of one relation may be called alike."""
    return f"{node.kind} {node.name}"


def _plain(value: Any) -> Any:
    if isinstance(value, _DATA_TYPES):
        return value.ddl
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if dataclasses.is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    return value


def digest_of(told: Any) -> str:
    """Return a hash of values of JSON."""
    text = json.dumps(told, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
