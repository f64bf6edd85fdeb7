"""Loads the cases of a project: `tests/*.yaml` beside its file, every problem at once."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from joinery.errors import JoineryError, SpecError
from joinery.expression.problem import UNCHECKED
from joinery.plan.build import examine
from joinery.plan.nodes import Product
from joinery.plan.stream import Stream
from joinery.project.load import file_tree
from joinery.project.product import ProjectSpec
from joinery.project.read import raise_all
from joinery.project.reader import Reader
from joinery.testing.case import Case, Target
from joinery.testing.case_read import read_cases

FOLDER = "tests"


class CaseError(SpecError):
    """A case names what cannot be tested, or what is not there."""

    code = "TEST_CASE"


def case_files(folder: Path) -> list[Path]:
    """Return the files of cases of the project in `folder`, in name order."""
    tests = folder / FOLDER
    return sorted(each for each in tests.glob("*.y*ml") if each.suffix in (".yaml", ".yml"))


def load_cases(spec: ProjectSpec, files: Sequence[Path]) -> list[Case]:
    """Return the cases of `files`.

    Raises:
        ProjectErrors: With every problem of the project and of the files.
    """
    check_project(spec)
    found: list[JoineryError] = []
    targets = Targets(spec)
    cases: list[Case] = []
    for file in files:
        tree = file_tree(str(file), found)
        if tree is not None:
            reader = Reader()
            cases += read_cases(reader, tree, targets.find)
            found += reader.problems
    raise_all(tuple(found))
    return cases


def check_project(spec: ProjectSpec) -> None:
    """Refuse a project that is wrong, but for expressions that only Spark can check.

    Raises:
        ProjectErrors: With every problem.
    """
    _, problems, _ = examine(spec)
    raise_all(tuple(each for each in problems if each.code != UNCHECKED))


class Targets:
    """The products and streams of a project that can be run without Spark."""

    def __init__(self, spec: ProjectSpec) -> None:
        self._spec = spec
        self._found: dict[tuple[str, str], Target] = {}

    def find(self, kind: str, name: str) -> Target:
        """Return the product or stream of a name.

        Args:
            kind: `product` or `stream`.
            name: Its name.

        Raises:
            CaseError: There is none, or only Spark can run it.
        """
        if (kind, name) not in self._found:
            self._found[kind, name] = self._target(kind, name)
        return self._found[kind, name]

    def _target(self, kind: str, name: str) -> Target:
        spec = self._spec
        parts = spec.products if kind == "product" else spec.streams
        if name not in [each.name for each in parts]:
            raise _unknown(kind, name, [each.name for each in parts])
        if kind == "product":
            own = tuple(each for each in spec.products if each.name == name)
            spec = replace(spec, products=own, streams=())
        else:
            spec = replace(spec, products=())
        plan, problems, _ = examine(spec)
        if plan is None:
            raise _only_spark(kind, name, problems)
        built: list[Product | Stream] = [*plan.products, *plan.streams]
        made = next(each for each in built if each.name == name)
        if isinstance(made, Product) and made.outbox:
            raise CaseError(f'product "{name}" has an outbox, and no documents to test')
        return Target(made)


def _unknown(kind: str, name: str, known: Sequence[str]) -> CaseError:
    near = difflib.get_close_matches(name, known, n=1)
    return CaseError(
        f'there is no {kind} "{name}"',
        detail=f"Known are {', '.join(known)}." if known else "None are declared.",
        hint=f'Use "{near[0]}".' if near else "",
    )


def _only_spark(kind: str, name: str, problems: Sequence[JoineryError]) -> CaseError:
    places = ", ".join(str(each.location) for each in problems if each.location)
    return CaseError(
        f'{kind} "{name}" has expressions that only Spark can evaluate',
        detail=f"They are at {places}." if places else "",
        hint="Use the functions that docs/expressions.md lists, or run it on Spark.",
    )
