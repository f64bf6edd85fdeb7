"""Loads the cases of a project: `tests/*.yaml` beside its file, every problem at once.

Reads the cases of a file: `product` or `stream`, `given`, `expect`, in one step or several.

A row is written as the `json` format has it: a column left out keeps its value (null at
first), `__deleted: true` deletes the row, `__position`, or the column that the relation's
`position` names, is its place in the source's log.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from joinery.errors import JoineryError, Location, SpecError
from joinery.expression.problem import UNCHECKED
from joinery.model.change import Change
from joinery.model.type import BOOLEAN, LONG, STRING, DataType
from joinery.plan.build import examine
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.plan.stream import Stream
from joinery.project.load import file_tree
from joinery.project.product import ProjectSpec
from joinery.project.read import raise_all
from joinery.project.reader import Reader
from joinery.project.tree import Entry, ListTree, MapTree, Scalar, Tree
from joinery.testing.case import DELETED, POSITION, Case, CaseStep, Target, read_value
from joinery.testing.changes import ended_by, position_of

_FILE = ("product", "stream", "cases")
_STEP = ("given", "after", "until_closed", "expect", "dead_letters")
_CASE = ("name", "product", "stream", *_STEP, "steps")
_NEXT = "1s"
_REASON = "reason"

TargetOf = Callable[[str, str], Target]
"""Returns the target of a kind and a name; raises SpecError where there is none."""


def read_cases(reader: Reader, tree: Tree, targets: TargetOf) -> list[Case]:
    """Return the cases of one file.

    Args:
        reader: Takes the problems.
        tree: The file.
        targets: Finds products and streams.
    """
    parts = reader.named(tree, "the file", _FILE)
    cases = parts.get("cases")
    if cases is None:
        if isinstance(tree, MapTree):
            message, hint = "the file has no cases", 'Write a list under "cases".'
            reader.refuse("SPEC_MISSING_KEY", message, tree.mark.value, hint=hint)
        return []
    if not isinstance(cases, ListTree):
        reader.shape(cases, '"cases"', "a list", "Write - name: … for each.")
        return []
    shared = _tested(parts)
    found = (_case(reader, each, shared, targets) for each in cases.items)
    return [each for each in found if each is not None]


def _case(reader: Reader, tree: Tree, shared: Mapping[str, Tree], targets: TargetOf) -> Case | None:
    name = _name(tree)
    what = f'case "{name}"' if name else "a case"
    own = reader.named(tree, what, _CASE)
    if not isinstance(tree, MapTree):
        return None
    if not name:
        hint = "Write a sentence that says what holds."
        reader.refuse("SPEC_MISSING_KEY", "a case needs a name", tree.mark.value, hint=hint)
    target = _target(reader, _tested(own) or shared, what, tree, targets)
    if target is None:
        return None
    place = tree.mark.value or Location("")
    steps = _steps(reader, own, what, tree, target)
    _check_appended(reader, steps, what, target)
    return Case(name, target, steps, place)


def _check_appended(reader: Reader, steps: Sequence[CaseStep], what: str, target: Target) -> None:
    """Check that no row of an append relation is changed or deleted, which a run would ignore."""
    before: dict[tuple[str, str], Mapping[str, Any]] = {}
    for step in steps:
        for change in step.changes:
            relation = target.relations[change.relation]
            if not (relation.append and relation.key):
                continue
            first = before.setdefault((relation.name, str(change.key)), change.after or {})
            row = change.after
            if row is None or any(first.get(name) != value for name, value in row.items()):
                done = "deletes" if row is None else "changes"
                message = f'{what} {done} a row of "{relation.name}", whose rows never change'
                hint = f'Give the row another key, or remove "append" of "{relation.name}".'
                reader.refuse("TEST_CASE", message, step.place, hint=hint)


def _name(tree: Tree) -> str:
    named = tree.get("name") if isinstance(tree, MapTree) else None
    return named.text if isinstance(named, Scalar) else ""


def _tested(parts: Mapping[str, Tree]) -> dict[str, Tree]:
    """Return who is tested: `product` or `stream`, or wrongly both."""
    return {name: parts[name] for name in ("product", "stream") if name in parts}


def _target(
    reader: Reader, named: Mapping[str, Tree], what: str, case: Tree, targets: TargetOf
) -> Target | None:
    if len(named) != 1:
        message = f"{what} names {'both a product and a stream' if named else 'no product'}"
        hint = 'Write "product" or "stream", in the case or at the top of the file.'
        reader.refuse("TEST_CASE", message, case.mark.value, hint=hint)
        return None
    ((kind, tree),) = named.items()
    name = reader.text(tree, f'"{kind}" of {what}')
    if not name:
        return None
    try:
        return targets(kind, name)
    except SpecError as error:
        error.location = tree.mark.value
        if str(error) not in [str(each) for each in reader.problems]:
            reader.problems.append(error)
        return None


def _steps(
    reader: Reader, own: Mapping[str, Tree], what: str, tree: Tree, target: Target
) -> list[CaseStep]:
    here = [name for name in _STEP if name in own]
    if "steps" not in own:
        if "expect" not in own and "dead_letters" not in own:
            message, hint = f"{what} expects nothing", 'Write "expect" under it.'
            reader.refuse("SPEC_MISSING_KEY", message, tree.mark.value, hint=hint)
        return [_step(reader, {name: own[name] for name in here}, what, tree, target)]
    steps = own["steps"]
    if here:
        message = f'{what} has both "steps" and "{here[0]}"'
        hint = f'Put "{here[0]}" into a step.'
        reader.refuse("TEST_CASE", message, tree.mark.value, hint=hint)
    if not isinstance(steps, ListTree) or not steps.items:
        reader.shape(steps, f'"steps" of {what}', "a list of steps")
        return []
    found = []
    for number, each in enumerate(steps.items, 1):
        label = f"step {number} of {what}"
        found.append(_step(reader, reader.named(each, label, _STEP), label, each, target))
    if not any(isinstance(each.expect, ListTree) or each.dead.items for each in found):
        message, hint = f"{what} expects nothing", 'Write "expect" in a step.'
        reader.refuse("SPEC_MISSING_KEY", message, tree.mark.value, hint=hint)
    return found


def _step(
    reader: Reader, parts: Mapping[str, Tree], what: str, tree: Tree, target: Target
) -> CaseStep:
    after = _NEXT
    if "after" in parts:
        reader.duration_ms(parts["after"], f'"after" of {what}')
        after = parts["after"].text if isinstance(parts["after"], Scalar) else _NEXT
        if target.kind == "product":
            message, hint = "time does not change documents", 'Remove "after".'
            reader.refuse("TEST_CASE", message, parts["after"].mark.value, hint=hint)
    expect = _listed(reader, parts.get("expect"), f'"expect" of {what}')
    dead = _listed(reader, parts.get("dead_letters"), f'"dead_letters" of {what}')
    _check_expected(reader, expect, target)
    _check_dead(reader, dead, target)
    changes = _changes(reader, parts.get("given"), f'"given" of {what}', target)
    place = tree.mark.value or Location("")
    ends = _ends(reader, parts.get("until_closed"), what, target)
    return CaseStep(changes, after, expect, dead or ListTree(()), place, until_closed=ends)


def _ends(reader: Reader, tree: Tree | None, what: str, target: Target) -> bool:
    """Return whether all logs have ended after a step."""
    if tree is not None and target.kind == "stream":
        message, hint = "a stream has no windows to close", 'Remove "until_closed".'
        reader.refuse("TEST_CASE", message, tree.mark.value, hint=hint)
    return tree is not None and reader.flag(tree, f'"until_closed" of {what}')


def _listed(reader: Reader, tree: Tree | None, what: str) -> ListTree | None:
    if tree is None:
        return None
    if isinstance(tree, Scalar) and tree.value is None:
        return ListTree((), tree.mark)
    if isinstance(tree, ListTree):
        return tree
    reader.shape(tree, what, "a list", "Write - in front of each, or [] for none.")
    return None


def _check_expected(reader: Reader, expect: ListTree | None, target: Target) -> None:
    """Check the names and values of expected documents; comparing them cannot fail then."""
    known = expected_types(target)
    for each in expect.items if expect else ():
        _read_row(reader, each, known, f'a document of "{target.plan.name}"')


def expected_types(target: Target) -> dict[str, DataType]:
    """Return what an expected document may name: its fields, its key, that it is gone."""
    key = {each.name: each.type for each in target.key.fields}
    shown = {each.name: each.type for each in target.output.fields}
    return {**key, **shown, DELETED: BOOLEAN}


def _check_dead(reader: Reader, dead: ListTree | None, target: Target) -> None:
    keys = [*(each.key_fields() for each in target.relations.values()), target.key.fields]
    types = {each.name: each.type for fields in keys for each in fields}
    known = {**types, _REASON: STRING}
    for each in dead.items if dead else ():
        _read_row(reader, each, known, f'a dead letter of "{target.plan.name}"')


def _changes(reader: Reader, given: Tree | None, what: str, target: Target) -> list[Change]:
    changes: list[Change] = []
    for entry in reader.entries(given, what) if given is not None else ():
        relation = target.relations.get(entry.name)
        if relation is None and entry.name in target.project:
            continue  # So that cases of several products can share their rows.
        if relation is None:
            message = f'{target} reads no relation "{entry.name}"'
            reader.unknown(message, entry.name, list(target.relations), entry.place)
            continue
        rows = _listed(reader, entry.value, f'"{entry.name}" of {what}')
        for row in rows.items if rows else ():
            change = _change(reader, row, relation)
            if change is not None:
                changes.append(change)
    return changes


def _change(reader: Reader, tree: Tree, relation: Relation) -> Change | None:
    what = f'a row of "{relation.name}"'
    columns = {each.name: each.type for each in relation.columns}
    known = len(reader.problems)
    row = _read_row(reader, tree, {**columns, DELETED: BOOLEAN, POSITION: LONG}, what)
    deleted, position = row.pop(DELETED, None), row.pop(POSITION, None)
    missing = [name for name in relation.key if row.get(name) is None]
    if missing and len(reader.problems) == known:
        message = f'{what} lacks the key column "{missing[0]}"'
        reader.refuse("TEST_CASE", message, tree.mark.value, hint=f"Write {missing[0]}: …")
    for name, value in row.items():
        if not _finite(value):
            message, hint = f'"{name}" of {what} is not a finite number', "Write null, or a number."
            reader.refuse("TEST_CASE", message, tree.mark.value, hint=hint)
    if len(reader.problems) > known:
        return None
    key = {name: row[name] for name in relation.key}
    if position is None:
        position = position_of(relation, row)
    if deleted:
        return Change(relation.name, key, None, position, ended=ended_by(relation, row))
    return Change(relation.name, key, row, position)


def _finite(value: Any) -> bool:
    """Return whether a value holds numbers that a record can hold, and no others."""
    match value:
        case float():
            return math.isfinite(value)
        case list():
            return all(map(_finite, value))
        case dict():
            return all(map(_finite, (*value, *value.values())))
        case _:
            return True


def _read_row(
    reader: Reader, tree: Tree, types: Mapping[str, DataType], what: str
) -> dict[str, Any]:
    """Return the columns that a row names, with their values."""
    if not isinstance(tree, MapTree):
        reader.shape(tree, what, "a map", "Write {column: value, …}.")
        return {}
    row: dict[str, Any] = {}
    for entry in reader.entries(tree, what):
        if entry.name not in types:
            _no_column(reader, entry, types, what)
        else:
            row[entry.name] = read_value(reader, entry.value, types[entry.name], entry.name, what)
    return row


def _no_column(reader: Reader, entry: Entry, types: Mapping[str, DataType], what: str) -> None:
    reader.unknown(f'{what} has no column "{entry.name}"', entry.name, list(types), entry.place)


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
        spec = spec.alone(name) if kind == "product" else spec.streams_alone()
        plan, problems, _ = examine(spec)
        if plan is None:
            raise _only_spark(kind, name, problems)
        built: list[Product | Stream] = [*plan.products, *plan.streams]
        made = next(each for each in built if each.name == name)
        if isinstance(made, Product) and made.outbox:
            raise CaseError(f'product "{name}" has an outbox, and no documents to test')
        return Target(made, frozenset(each.name for each in self._spec.changelogs))


def _unknown(kind: str, name: str, known: Sequence[str]) -> CaseError:
    near = difflib.get_close_matches(name, known, n=1)
    return CaseError(
        f'there is no {kind} "{name}"',
        detail=f"Known: {', '.join(known)}." if known else "None are declared.",
        hint=f'Use "{near[0]}".' if near else "",
    )


def _only_spark(kind: str, name: str, problems: Sequence[JoineryError]) -> CaseError:
    places = ", ".join(str(each.location) for each in problems if each.location)
    return CaseError(
        f'{kind} "{name}" has expressions that only Spark can evaluate',
        detail=f"They are at {places}." if places else "",
        hint="Use the functions that docs/expressions.md lists, or run it on Spark.",
    )
