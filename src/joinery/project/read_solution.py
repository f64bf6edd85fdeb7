"""Reads solutions with their options: of one product, and of the whole project under `run`."""

from __future__ import annotations

from importlib.metadata import entry_points

from joinery.project import grammar
from joinery.project.option import check_options
from joinery.project.product import Options
from joinery.project.reader import Reader
from joinery.project.tree import Entry, MapTree, Scalar, Tree

DEFAULT = "spark-state"
AUTO = "auto"
ENTRY_POINTS = "joinery.solutions"
STORE_ENTRY_POINTS = "joinery.stores"


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
    return _with_added(grammar.SOLUTIONS, ENTRY_POINTS)


def store_names() -> tuple[str, ...]:
    """Return the names of all key-value stores, with those of installed packages."""
    return _with_added(grammar.KEY_VALUE_STORES, STORE_ENTRY_POINTS)


def _with_added(names: tuple[str, ...], group: str) -> tuple[str, ...]:
    added = sorted(each.name for each in entry_points(group=group))
    return (*names, *(each for each in added if each not in names))


def _with_options(reader: Reader, entry: Entry, part: str) -> tuple[str, Options]:
    known = reader.word(Scalar(entry.name, entry.name, entry.value.mark), part, solution_names())
    told = f'"{entry.name}" of {part}'
    if entry.name in grammar.SOLUTION_OPTIONS:
        check_options(reader, entry, told, grammar.SOLUTION_OPTIONS[entry.name])
    if known == "kv":
        _check_store(reader, entry.value, told)
    return known, reader.options(entry.value, told)


def _check_store(reader: Reader, tree: Tree, told: str) -> None:
    store = tree.get("store") if isinstance(tree, MapTree) else None
    if isinstance(store, Scalar) and isinstance(store.value, str):
        reader.word(store, f'"store" of {told}', store_names())
