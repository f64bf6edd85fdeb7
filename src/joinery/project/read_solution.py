"""Reads solutions with their options: of one product, and of the whole project under `run`.

Another solution for a whole project, in place of those that its products name.
"""

from __future__ import annotations

import difflib
from dataclasses import replace

from joinery.errors import SpecError
from joinery.project import grammar
from joinery.project.kinds import KEY_VALUE_STORES, STORE_SOLUTIONS
from joinery.project.option import Option, check_options
from joinery.project.product import Options, ProductSpec, ProjectSpec
from joinery.project.reader import Reader
from joinery.project.tree import Entry, MapTree, Scalar, Tree

DEFAULT = "spark-state"
AUTO = "auto"


def read_solution(reader: Reader, tree: Tree | None, what: str) -> tuple[str, Options]:
    """Return a solution and its options: a name, or a map from one name to options."""
    if tree is None:
        return DEFAULT, ()
    part = f'"solution" of {what}'
    if isinstance(tree, MapTree) and len(tree.entries) == 1:
        return _with_options(reader, tree.entries[0], part)
    if isinstance(tree, MapTree):
        reader.shape(tree, part, "one name, or a map with one name")
        return DEFAULT, ()
    return reader.word(tree, part, solution_names()) or DEFAULT, ()


def read_solutions(reader: Reader, tree: Tree) -> tuple[tuple[str, Options], ...]:
    """Return `run.solutions`: what solutions take where a product does not say it itself."""
    part = '"solutions" of "run"'
    return tuple(_with_options(reader, each, part) for each in reader.entries(tree, part))


def solution_names() -> tuple[str, ...]:
    """Return the names of all solutions, with those of installed packages."""
    return tuple(dict.fromkeys((*grammar.SOLUTIONS, *STORE_SOLUTIONS.names())))


def _with_options(reader: Reader, entry: Entry, part: str) -> tuple[str, Options]:
    known = reader.word(Scalar(entry.name, entry.name, entry.value.mark), part, solution_names())
    told = f'"{entry.name}" of {part}'
    if entry.name in grammar.SOLUTION_OPTIONS:
        names = grammar.SOLUTION_OPTIONS[entry.name]
        check_options(reader, entry, told, {name: Option(each) for name, each in names.items()})
    if known == "kv":
        _check_store(reader, entry.value, told)
    return known, reader.options(entry.value, told)


def _check_store(reader: Reader, tree: Tree, told: str) -> None:
    store = tree.get("store") if isinstance(tree, MapTree) else None
    if isinstance(store, Scalar) and isinstance(store.value, str):
        reader.word(store, f'"store" of {told}', KEY_VALUE_STORES.names())


def with_solution(spec: ProjectSpec, name: str) -> ProjectSpec:
    """Return the project whose products all have the solution `name`; outboxes keep theirs.

    A product's own options stay where it names that solution already.

    Raises:
        SpecError: There is no such solution.
    """
    known = solution_names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise SpecError(
            f'there is no solution "{name}"',
            detail=f"Known: {', '.join(known)}.",
            hint=f'Use "{near[0]}".' if near else "",
            code="RUN_SELECTION",
        )
    return replace(spec, products=tuple(_changed(each, name) for each in spec.products))


def _changed(product: ProductSpec, name: str) -> ProductSpec:
    if product.outbox or product.solution == name:
        return product
    return replace(product, solution=name, solution_options=())
