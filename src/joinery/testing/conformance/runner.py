"""What a solution must offer to be examined, and the reference as the first that does.

Invariant: a runner is given all batches of one project, and tells what each batch sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from joinery.model.change import Change, DocumentChange
from joinery.model.type import Field, Struct
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.semantics.arrivals import LATE_COUNTERS
from joinery.semantics.reference import ReferenceSolution
from joinery.semantics.render import document_json
from joinery.solutions.protocol import DeadDocument, Sent
from joinery.testing.driver import BATCH_US


class Runner(Protocol):
    """Runs a whole project on one solution."""

    def run(self, project: ProjectSpec, batches: Sequence[Sequence[Change]]) -> Sequence[Sent]:
        """Run `project` from nothing, one batch after the other.

        Args:
            project: Its products share one group; their sink is `files`.
            batches: Changes in log order. A batch must be processed as one.

        Returns:
            What each batch sent, as many entries as there are batches.
        """


class ReferenceRunner:
    """Runs a project on the reference solution."""

    def run(self, project: ProjectSpec, batches: Sequence[Sequence[Change]]) -> list[Sent]:
        """Run `project` from nothing, one batch after the other."""
        products = build_plan(project).products
        solution = ReferenceSolution(products, max_document_bytes=project.run.max_document_bytes)
        return [
            _apply(solution, products, _placed(batch, number), (number + 1) * BATCH_US)
            for number, batch in enumerate(batches)
        ]


def _placed(batch: Sequence[Change], number: int) -> list[Change]:
    """Return changes that know their place: a file per batch, a line each."""
    return [replace(each, place=(number, line)) for line, each in enumerate(batch)]


def _apply(
    solution: ReferenceSolution,
    products: Sequence[Product],
    batch: Sequence[Change],
    timestamp_us: int,
) -> Sent:
    emitted = solution.apply(batch, timestamp_us)
    named = {each.name: each for each in products}
    lines: dict[str, list[str]] = {}
    dead: dict[str, list[str]] = {}
    for document in emitted.documents:
        line = document_line(document, named[document.product])
        lines.setdefault(document.product, []).append(line)
    for letter in emitted.dead_letters:
        key = document_json(letter.key, _key_of(letter, named[letter.product]))
        dead.setdefault(letter.product, []).append(key)
    return Sent(lines, dead, emitted.found)


def _key_of(letter: DeadDocument, product: Product) -> Struct:
    """Return the type of a letter's key: a row that came late has its own."""
    if letter.reason not in LATE_COUNTERS:
        return product.key
    read = product.form.relations
    relation = next(each for each in read if set(each.key) == set(letter.key))
    return Struct(tuple(Field(each, relation.type_of(each)) for each in relation.key))


def document_line(document: DocumentChange, product: Product) -> str:
    """Return the line of the files sink for one emission."""
    key = document_json(document.key, product.key)
    value = document_json(document.value, product.output)
    return f'{{"key":{key},"value":{value},"version":{document.version}}}'


__all__ = ["ReferenceRunner", "Runner", "Sent", "document_line"]
