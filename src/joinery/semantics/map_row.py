"""What the function of a `map` step makes of an event: a row, nothing, or why neither.

Invariant: of an exception only its kind and place are reported: its message may quote a row.
"""

from __future__ import annotations

import inspect
import sysconfig
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from joinery.expression.python_value import MISFITS, reader, type_name
from joinery.model.change import Row
from joinery.model.type import Array, DataType, Map, Struct
from joinery.plan.step import MapRows
from joinery.project.function import function_at

_LIBRARIES = tuple(
    sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_LONGEST_KEY = 100


@dataclass(frozen=True, slots=True)
class MapFailure:
    """An event that a function did not work off.

    Attributes:
        detail: Why, as a sentence.
    """

    detail: str


def function_of(step: MapRows) -> Callable[[Row], object]:
    """Return the function of a step, imported if the step has only its name.

    Raises:
        FunctionError: It cannot be imported, or answers no call.
    """
    if not isinstance(step.function, str):
        return step.function
    return function_at(step.function)


class RowMapper:
    """Gives rows to the function of one step, and reads what it makes of them.

    Args:
        step: Names the function and its columns.
        function: May change the row that it is given.
    """

    def __init__(self, step: MapRows, function: Callable[[Row], object]) -> None:
        output = step.output.fields
        self._step, self._function = step, function
        self._names = [each.name for each in output]
        self._structured = [each for each in output if _structured(each.type)]
        self._readers = [(each, reader(each.type)) for each in output]

    def mapped(self, row: Row) -> Mapping[str, Any] | MapFailure | None:
        """Return what the function makes of the columns of an event, None where it drops it.

        The columns are the declared ones, in their order and of their types; null where the
        function left one out.
        """
        given, within = frozenset(row), frozenset(_keys(row) if self._structured else ())
        try:
            made = self._function(row)
            return None if made is None else self._read(made, given, within)
        except KeyboardInterrupt:  # somebody ends this process
            raise
        except BaseException as error:  # also of a value that computes when it is read
            return MapFailure(_raised(self._step, self._function, error))

    def _read(
        self, made: object, given: Collection[object], within: Collection[object]
    ) -> Mapping[str, Any] | MapFailure:
        """Return the row that a function made of one with the names `given`, `within` structs."""
        if not isinstance(made, Mapping):
            return MapFailure(
                f"The function {self._step.name} gave a {type(made).__name__}, no row."
            )
        for name in made:
            if name not in self._names and name not in given:
                return self._strange(str(name), "column of its output", self._names)
        for column in self._structured:
            for name, struct in _strangers(made.get(column.name), column.type):
                if name not in within:
                    known = [each.name for each in struct.fields]
                    return self._strange(name, f'field of "{column.name}"', known)
        return self._typed(made)

    def _typed(self, made: Mapping[str, Any]) -> Mapping[str, Any] | MapFailure:
        row: dict[str, Any] = {}
        for column, read in self._readers:
            value = made.get(column.name)
            try:
                row[column.name] = None if value is None else read(value)
            except MISFITS:
                return MapFailure(
                    f'The function {self._step.name}: column "{column.name}" holds'
                    f" {type_name(value)}, which is not of type {column.type}."
                )
        return row

    def _strange(self, name: str, place: str, known: Sequence[str]) -> MapFailure:
        near = get_close_matches(name, known, n=1)
        meant = f'; did it mean "{near[0]}"?' if near else "."
        shown = f'The function {self._step.name} gave "{name[:_LONGEST_KEY]}"'
        return MapFailure(f"{shown}, which is no {place}{meant}")


def _structured(type: DataType) -> bool:
    """Whether values of the type hold structs, whose keys a function spells."""
    match type:
        case Struct():
            return True
        case Array(element):
            return _structured(element)
        case Map(_, value):
            return _structured(value)
        case _:
            return False


def _keys(value: object) -> Iterator[object]:
    """Yield the keys of a row, at any depth."""
    match value:
        case Mapping():
            for key, each in value.items():
                yield key
                yield from _keys(each)
        case list():
            for each in value:
                yield from _keys(each)
        case _:
            pass


def _strangers(value: object, type: DataType) -> Iterator[tuple[str, Struct]]:
    """Yield the keys in a value that a struct in its type does not have, with the struct."""
    match type, value:
        case Struct(fields), Mapping():
            types = {each.name: each.type for each in fields}
            for name, each in value.items():
                if name not in types:
                    yield str(name), type
                else:
                    yield from _strangers(each, types[name])
        case Array(element), list() | tuple():
            for each in value:
                yield from _strangers(each, element)
        case Map(_, held), Mapping():
            for each in value.values():
                yield from _strangers(each, held)
        case _:
            pass


def _raised(step: MapRows, function: Callable[[Row], object], error: BaseException) -> str:
    """Return what a function raised, and where in its own file, else in no library's."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # without the call of the function
    code = getattr(inspect.unwrap(function), "__code__", None)
    own = [each for each in frames if code is not None and each.filename == code.co_filename]
    told: Sequence[traceback.FrameSummary] = own or [
        each for each in frames if not each.filename.startswith(_LIBRARIES)
    ]
    told = told or frames
    where = f" at {Path(told[-1].filename).name}:{told[-1].lineno}" if told else ""
    return f"The function {step.name} raised {type(error).__name__}{where}."
