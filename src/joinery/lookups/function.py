"""The lookup store function: rows that a user's own Python function returns.

It is called with a list of keys, a value each or a tuple for a key of several columns, and
returns a map from key to row, itself a map from column to value. It may be called from
several threads at once. `ConnectionError`, `TimeoutError` and other `OSError`s ask for
patience; anything else ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from joinery.errors import LookupOptionError
from joinery.expression.python_value import type_name
from joinery.lookups.protocol import (
    Answer,
    Key,
    LookupStoreError,
    LookupTable,
    LookupUnavailableError,
    Unfit,
)
from joinery.lookups.value import RowReader
from joinery.project.function import FunctionError, function_at, why_silent
from joinery.project.option import Option, Target, declared, options
from joinery.project.reader import Reader

Function = Callable[[list[Any]], Mapping[Any, Mapping[str, Any] | None]]


class FunctionStore:
    """Calls a function with lists of keys."""

    most_keys: int | None = None

    def __init__(self, table: LookupTable, function: Function | str, folder: Path) -> None:
        self._function = function
        self._folder = folder
        self._single = len(table.key) == 1
        self._rows = RowReader(table.columns)
        self._called: Function | None = None
        name = function if isinstance(function, str) else getattr(function, "__name__", "")
        self.target = f"function {name}"

    def open(self) -> None:
        """Import the function.

        Raises:
            LookupStoreError: It cannot be imported, or answers no call.
        """
        given = self._function
        if isinstance(given, str):
            given = _imported(given, self._folder)
        elif why := why_silent(given):
            raise LookupStoreError(f"{self.target} {why}")
        self._called = given

    def fetch(self, keys: Sequence[Key]) -> Mapping[Key, Answer]:
        """Return what the function gives for `keys`."""
        if self._called is None:
            raise LookupStoreError(f"{self.target} is not open")
        asked = {(key[0] if self._single else key): key for key in keys}
        try:
            found = self._called(list(asked))
        except OSError as error:
            detail = f"{type(error).__name__}: {error}."
            raise LookupUnavailableError(f"{self.target} is not ready", detail=detail) from error
        except Exception as error:
            detail = f"{type(error).__name__}: {error}."
            raise LookupStoreError(f"{self.target} failed", detail=detail) from error
        if not isinstance(found, Mapping):
            raise LookupStoreError(
                f"{self.target} returned {type_name(found)}",
                hint="Return a map from key to row.",
            )
        return {key: self._answer(found.get(given)) for given, key in asked.items()}

    def close(self) -> None:
        """Forget the function."""
        self._called = None

    def _answer(self, row: object) -> Answer:
        if row is None:
            return None
        if not isinstance(row, Mapping):
            return Unfit(f"the function returned {type_name(row)}, not a map of columns")
        return self._rows.named(row)


def _function(given: object) -> Function | str:
    if isinstance(given, str) or callable(given):
        return given
    raise TypeError("a text")


@options
class FunctionOptions:
    """`{function: {function: "module:name"}}`; Python may give a function itself."""

    function: Function | str = declared(
        Option(
            {
                "anyOf": [{"type": "string"}],
                "description": "Module and function, `module:name`, that returns rows by key.",
            },
            _function,
            Reader.text,
        )
    )

    def make(self, table: LookupTable, folder: Path) -> FunctionStore:
        """Return the store of a table."""
        named = self.function
        if isinstance(named, str) and not _is_named(named):
            raise LookupOptionError(
                'option "function" of lookup store "function" is not of the form module:name',
                hint="Write {function: {function: my_module:customers}}.",
            )
        return FunctionStore(table, named, folder)

    def target(self, relation: str, folder: Path) -> Target | None:
        """What the function reads is its own."""
        return None


def _is_named(text: str) -> bool:
    return all(part.isidentifier() for part in text.replace(":", ".", 1).split("."))


def _imported(named: str, folder: Path) -> Function:
    try:
        called: Function = function_at(named, folder)
    except FunctionError as error:
        detail, hint = error.detail, error.hint
        raise LookupStoreError(error.message, detail=detail, hint=hint) from error
    return called
