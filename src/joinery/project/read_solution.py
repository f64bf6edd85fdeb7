"""Reads solutions with their options: of one product, and of the whole project under `run`."""

from __future__ import annotations

from joinery.project import grammar
from joinery.project.kinds import KEY_VALUE_STORES, STORE_SOLUTIONS
from joinery.project.option import Option, check_options
from joinery.project.product import Options
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
