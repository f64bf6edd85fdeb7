"""A test case of a project: rows in steps, and what each step must leave or send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from joinery.errors import Location
from joinery.model.change import Change
from joinery.model.type import Struct
from joinery.plan.nodes import Product, Relation
from joinery.plan.stream import Stream
from joinery.spec.tree import ListTree
from joinery.testing.stream_driver import relations_of

DELETED = "__deleted"
POSITION = "__position"


@dataclass(frozen=True, slots=True)
class Target:
    """What a case tests: a product, whose documents stand, or a stream, which sends events."""

    plan: Product | Stream

    @property
    def kind(self) -> str:
        """`product` or `stream`."""
        return "stream" if isinstance(self.plan, Stream) else "product"

    @property
    def key(self) -> Struct:
        """What identifies a document or an event."""
        return self.plan.key

    @property
    def output(self) -> Struct:
        """What a document or an event shows."""
        return self.plan.output

    @property
    def relations(self) -> Mapping[str, Relation]:
        """Those it reads, by name; those of stores included."""
        plan = self.plan
        found = relations_of(plan) if isinstance(plan, Stream) else plan.relations
        return {each.name: each for each in found}

    def __str__(self) -> str:
        return f'{self.kind} "{self.plan.name}"'


@dataclass(frozen=True, slots=True)
class CaseStep:
    """One batch of a case.

    Attributes:
        changes: In the order of the file.
        after: How long after the batch before it, such as `5m`; for streams alone.
        expect: The documents that stand after it, or the events that it sends, as written;
            None where the step expects nothing in particular.
        dead: The dead letters that it must give, as written; none where empty.
        place: Where the step stands.
    """

    changes: Sequence[Change]
    after: str
    expect: ListTree | None
    dead: ListTree
    place: Location


@dataclass(frozen=True, slots=True)
class Case:
    """One case.

    Attributes:
        name: A sentence.
        target: What it tests.
        steps: At least one.
        place: Where the case stands.
    """

    name: str
    target: Target
    steps: Sequence[CaseStep]
    place: Location

    def __str__(self) -> str:
        return self.name
