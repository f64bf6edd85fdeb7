"""Runs cases on the reference solution: no Spark, no servers.

Limits: what waits by the clock of a run (`emit`, `ready`) is not waited for, and a store
that a stream queries holds the rows that the case gives.

What differs between the documents, events or dead letters of a step and what it expects.

An entry is compared in the fields that it names; lists and maps are compared whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from joinery.errors import JoineryError, Location
from joinery.model.change import Row
from joinery.model.type import Array, DataType, Map, Struct
from joinery.plan.product import Product
from joinery.project.reader import Reader
from joinery.project.tree import ListTree, MapTree, Scalar, Tree
from joinery.semantics.render import document_json
from joinery.solutions.protocol import DeadDocument
from joinery.testing.case import DELETED, Case, CaseStep, Target, read_value
from joinery.testing.driver import Driver, Emission
from joinery.testing.stream_driver import StreamDriver

_NOTHING = "nothing"
_REASON = "reason"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as expected.

    Attributes:
        path: To the differing field: `id=1 orders[0].amount`.
        expected: As JSON text, or `nothing`.
        found: As JSON text, or `nothing`.
        place: Of what was expected, or of the list that does not have it.
    """

    path: str
    expected: str
    found: str
    place: Location | None

    def __str__(self) -> str:
        return f"{self.path}: expected {self.expected}, got {self.found}"


@dataclass(frozen=True, slots=True)
class Found:
    """A document or an event under its key."""

    key: Row
    value: Row


def compare_documents(expect: ListTree, found: Sequence[Found], target: Target) -> list[Difference]:
    """Return how documents, or the events of a batch, differ from those expected.

    Entries that name the whole key are compared with the document of that key, in any
    order; the others with the documents that are left, in theirs.
    """
    by_key = {_identity(each.key, target): each for each in found}
    keyed = _keyed(found, target)
    pairs: list[tuple[Tree, Found | None]] = []
    rest: list[Tree] = []
    for entry in expect.items:
        identity = _entry_identity(entry, target) if keyed else None
        if identity is None:
            rest.append(entry)
        else:
            pairs.append((entry, by_key.pop(identity, None)))
    left = list(by_key.values())
    pairs += [(entry, each) for entry, each in zip_longest(rest, left) if entry is not None]
    more = left[len(rest) :]
    out = [each for entry, one in pairs for each in _entry(entry, one, target)]
    return out + [
        Difference(key_label(each.key, target), _NOTHING, _json(each.value, target.output), None)
        for each in more
    ]


def compare_dead(
    expect: ListTree, found: Sequence[DeadDocument], target: Target
) -> list[Difference]:
    """Return how dead letters differ from those expected."""
    left = list(found)
    out: list[Difference] = []
    for entry in expect.items:
        match = next((each for each in left if _names(entry, each, target)), None)
        if match is None:
            out.append(Difference("dead letters", _as_written(entry), _NOTHING, entry.mark.value))
        else:
            left.remove(match)
    for each in left:
        told = f"{each.reason} ({each.detail})"
        path = f"dead letter of {key_label(each.key, target)}"
        out.append(Difference(path, _NOTHING, told, None))
    return out


def key_label(key: Row, target: Target) -> str:
    """Return a key for people, such as `owner="ann", number=1`; the product of an empty one.

    Args:
        key: Of a document, or of a dead letter, which may be that of a row.
        target: What sent it.
    """
    types = _types(key, target)
    parts = (f"{name}={document_json(key[name], types[name])}" for name in types)
    return ", ".join(parts) or target.plan.name


def _names(entry: Tree, dead: DeadDocument, target: Target) -> bool:
    types = _types(dead.key, target)
    for each in entry.entries if isinstance(entry, MapTree) else ():
        if each.name not in types and each.name != _REASON:
            return False
        if each.name == _REASON:
            if isinstance(each.value, Scalar) and each.value.text != dead.reason:
                return False
        elif _text(each.value, types[each.name]) != _json(dead.key[each.name], types[each.name]):
            return False
    return True


def _types(key: Row, target: Target) -> dict[str, DataType]:
    """Return the types of a key's columns: the target's, or those of a row that it reads."""
    keys = [target.key.fields, *(each.key_fields() for each in target.relations.values())]
    named = [{each.name: each.type for each in fields} for fields in keys]
    return next((each for each in named if each.keys() == key.keys()), {})


def _identity(key: Row, target: Target) -> tuple[str, ...]:
    return tuple(_json(key[each.name], each.type) for each in target.key.fields)


def _entry_identity(entry: Tree, target: Target) -> tuple[str, ...] | None:
    """Return the key that an expected entry names; None where it leaves a column out."""
    named = entry.get if isinstance(entry, MapTree) else lambda _: None
    parts = [(named(each.name), each.type) for each in target.key.fields]
    if any(part is None for part, _ in parts):
        return None
    return tuple(_text(part, type_) for part, type_ in parts if part is not None)


def _keyed(found: Sequence[Found], target: Target) -> bool:
    """Say whether no field that has a key column's name shows something else."""
    shown = {each.name for each in target.output.fields}
    names = [each.name for each in target.key.fields if each.name in shown]
    return all(each.value[name] == each.key[name] for each in found for name in names)


def _entry(entry: Tree, found: Found | None, target: Target) -> Iterator[Difference]:
    assert isinstance(entry, MapTree)  # as read
    gone = entry.get(DELETED)
    wants_gone = isinstance(gone, Scalar) and gone.value is True
    place = entry.mark.value
    if found is None:
        if not wants_gone:
            yield Difference(_entry_label(entry, target), _as_written(entry), _NOTHING, place)
        return
    label = key_label(found.key, target)
    if wants_gone:
        yield Difference(label, _NOTHING, _json(found.value, target.output), place)
        return
    shown = {each.name: each.type for each in target.output.fields}
    for each in entry.entries:
        if each.name in shown:
            path = f"{label} {each.name}"
            yield from differences(each.value, found.value[each.name], shown[each.name], path)


def _entry_label(entry: MapTree, target: Target) -> str:
    names = [each.name for each in target.key.fields if entry.get(each.name) is not None]
    parts = (f"{name}={_as_written(entry.get(name))}" for name in names)
    return ", ".join(parts) or target.plan.name


def differences(tree: Tree, value: Any, type_: DataType, path: str) -> Iterator[Difference]:
    """Yield where a value differs from what a case writes for it.

    Args:
        tree: What is written; it was read before, so it fits `type_`.
        value: What was found.
        type_: Of both.
        path: To the value.
    """
    if value is None or (isinstance(tree, Scalar) and tree.value is None):
        if value is not None or not (isinstance(tree, Scalar) and tree.value is None):
            yield Difference(path, _as_written(tree), _json(value, type_), tree.mark.value)
        return
    match type_:
        case Struct(fields):
            types = {each.name: each.type for each in fields}
            for each in tree.entries if isinstance(tree, MapTree) else ():
                part = f"{path}.{each.name}"
                yield from differences(each.value, value[each.name], types[each.name], part)
        case Array(element):
            yield from _lists(tree, value, element, path)
        case Map():
            yield from _maps(tree, value, type_, path)
        case _:
            expected, found = _text(tree, type_), _json(value, type_)
            if expected != found:
                yield Difference(path, expected, found, tree.mark.value)


def _lists(tree: Tree, value: Sequence[Any], type_: DataType, path: str) -> Iterator[Difference]:
    assert isinstance(tree, ListTree)  # as read
    for index, item in enumerate(tree.items[: len(value)]):
        yield from differences(item, value[index], type_, f"{path}[{index}]")
    for index, item in enumerate(tree.items[len(value) :], len(value)):
        yield Difference(f"{path}[{index}]", _as_written(item), _NOTHING, item.mark.value)
    for index, each in enumerate(value[len(tree.items) :], len(tree.items)):
        yield Difference(f"{path}[{index}]", _NOTHING, _json(each, type_), tree.mark.value)


def _maps(tree: Tree, value: Mapping[Any, Any], type_: Map, path: str) -> Iterator[Difference]:
    assert isinstance(tree, MapTree)  # as read
    left = dict(value)
    for entry in tree.entries:
        key = read_value(Reader(), Scalar(entry.name, entry.name), type_.key, "")
        part = f"{path}[{entry.name}]"
        if key in left:
            yield from differences(entry.value, left.pop(key), type_.value, part)
        else:
            yield Difference(part, _as_written(entry.value), _NOTHING, entry.place)
    for key, each in left.items():
        found = _json(each, type_.value)
        yield Difference(f"{path}[{key}]", _NOTHING, found, tree.mark.value)


def _text(tree: Tree, type_: DataType) -> str:
    return _json(read_value(Reader(), tree, type_, ""), type_)


def _json(value: Any, type_: DataType) -> str:
    return document_json(value, type_)


def _as_written(tree: Tree | None) -> str:
    """Return a part of a case on one line."""
    match tree:
        case None:
            return _NOTHING
        case Scalar():
            return tree.text or "null"
        case ListTree(items):
            return f"[{', '.join(map(_as_written, items))}]"
        case MapTree(entries):
            inside = (f"{each.name}: {_as_written(each.value)}" for each in entries)
            return f"{{{', '.join(inside)}}}"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of a case.

    Attributes:
        step: The first step that failed, from 1; None where all passed.
        differences: Of that step.
        error: Why the case could not go on; empty where it could.
    """

    case: Case
    step: int | None = None
    differences: tuple[Difference, ...] = ()
    error: str = ""

    @property
    def passed(self) -> bool:
        """Whether all is as expected."""
        return self.step is None


def run_case(case: Case) -> CaseResult:
    """Run a case up to its first step that does not give what is expected."""
    try:
        send = _opened(case.target)
    except (JoineryError, ImportError, AttributeError) as error:  # a function that is not there
        return CaseResult(case, 1, error=_told(error))
    for number, step in enumerate(case.steps, 1):
        try:
            found, dead = send(step)
        except JoineryError as error:
            return CaseResult(case, number, error=_told(error))
        differences = _documents(step, found, case) + compare_dead(step.dead, dead, case.target)
        if differences:
            return CaseResult(case, number, tuple(differences))
    return CaseResult(case)


def _told(error: Exception) -> str:
    return error.message if isinstance(error, JoineryError) else str(error)


def _documents(step: CaseStep, found: Sequence[Found], case: Case) -> list[Difference]:
    return [] if step.expect is None else compare_documents(step.expect, found, case.target)


Send = Callable[[CaseStep], tuple[list[Found], list[DeadDocument]]]


def _opened(target: Target) -> Send:
    """Return what sends a step, and gives what is to be compared and the dead letters."""
    if isinstance(target.plan, Product):
        return _product(target, Driver(target.plan))
    return _stream(target, StreamDriver(target.plan))


def _product(target: Target, driver: Driver) -> Send:
    def send(step: CaseStep) -> tuple[list[Found], list[DeadDocument]]:
        known = len(driver.dead_letters)
        driver.send(step.changes)
        if step.until_closed:
            driver.until_closed()
        documents = driver.documents().items()
        found = [Found(_row(key, target.key), value) for key, value in documents]
        return found, driver.dead_letters[known:]

    return send


def _stream(target: Target, driver: StreamDriver) -> Send:
    def send(step: CaseStep) -> tuple[list[Found], list[DeadDocument]]:
        known = len(driver.dead_letters)
        sent: list[Emission] = driver.send(step.changes, after=step.after)
        found = [Found(_row(each.key, target.key), each.value or {}) for each in sent]
        return found, driver.dead_letters[known:]

    return send


def _row(key: Any, shape: Struct) -> Row:
    """Return a driver's key by its columns; a column that is an object has a key of its own."""
    fields = shape.fields
    values = (key,) if len(fields) == 1 else key
    return {
        each.name: _row(value, each.type)
        if isinstance(each.type, Struct) and value is not None
        else value
        for each, value in zip(fields, values, strict=True)
    }
