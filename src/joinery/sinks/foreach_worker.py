"""The process that calls a user's function, so that no document can take the run down with it.

It reads one JSON text a call and answers with one; the function's own output goes to the
error stream. Nothing is unpickled: the function is imported.

Documents read from their JSON text into Python's values, decimals exact.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from decimal import Decimal as Exact
from pathlib import Path
from typing import Any

from joinery.child import Pipes, pipes_to_parent
from joinery.model.change import DocumentChange
from joinery.model.type import Array, DataType, Decimal, Map, Struct, parse_type
from joinery.project.function import imported, why_silent
from joinery.sinks.protocol import SinkUnavailableError

Reading = Callable[[str], Any]


def reading_of(type: DataType) -> Reading:
    """Return how the text of a document of this type is read.

    A decimal becomes a `decimal.Decimal` with its digits, a double stays a float; times and
    binary values stay text, as they stand in the document.

    Example:
        >>> from joinery.model.type import parse_type
        >>> read = reading_of(parse_type("struct<a: decimal(10,2), b: double>"))
        >>> read('{"a":1.50,"b":1.50}')
        {'a': Decimal('1.50'), 'b': 1.5}
    """
    if not _has_decimal(type):
        return json.loads
    exact = json.JSONDecoder(parse_float=Exact)
    return lambda text: _typed(exact.decode(text), type)


def _has_decimal(type: DataType) -> bool:
    if isinstance(type, Array):
        return _has_decimal(type.element)
    if isinstance(type, Map):
        return _has_decimal(type.value)
    if isinstance(type, Struct):
        return any(_has_decimal(each.type) for each in type.fields)
    return isinstance(type, Decimal)


def _typed(value: Any, type: DataType) -> Any:
    """Return a value read with exact numbers: those that are not decimals become floats."""
    if value is None:
        return None
    if isinstance(type, Struct):
        return {each.name: _typed(value.get(each.name), each.type) for each in type.fields}
    if isinstance(type, Array):
        return [_typed(each, type.element) for each in value]
    if isinstance(type, Map):
        return {name: _typed(each, type.value) for name, each in value.items()}
    if isinstance(type, Decimal):
        return Exact(value) if isinstance(value, int) else value
    return float(value) if isinstance(value, Exact) else value


Function = Callable[[list[DocumentChange]], "Iterable[tuple[DocumentChange, str]] | None"]
_LONGEST_DETAIL = 2000


def main(name: str) -> None:
    """Serve the function `module:name` until the input ends."""
    parent = pipes_to_parent()
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = _found(name)
    except BaseException as error:
        _answer(parent, {"outcome": "unusable", "detail": _told(error)})
        return
    _answer(parent, {"outcome": "ready"})
    with suppress(EOFError):
        while True:
            _answer(parent, _called(function, json.loads(parent.receive())))


def _found(name: str) -> Function:
    found = imported(name)
    if why := why_silent(found, yields=True):
        raise TypeError(f"{name} {why}")
    function: Function = found
    return function


def _called(function: Function, request: dict[str, Any]) -> dict[str, Any]:
    key, value = (reading_of(parse_type(request[name])) for name in ("key", "value"))
    documents = [
        DocumentChange(request["product"], key(row[0]), _read(value, row[1]), row[2])
        for row in request["rows"]
    ]
    try:
        refused = function(documents)
        return {"outcome": "taken", "refused": _places(documents, refused or ())}
    except (SinkUnavailableError, OSError) as error:
        return {"outcome": "later", "detail": _told(error)}
    except Exception as error:
        return {"outcome": "failed", "detail": _told(error)}


def _read(reading: Reading, text: str | None) -> Any:
    return None if text is None else reading(text)


def _places(
    documents: Sequence[DocumentChange], refused: Iterable[tuple[DocumentChange, str]]
) -> list[tuple[int, str]]:
    """Return the refused documents by their place in the list; they must be of that list."""
    places = {id(each): place for place, each in enumerate(documents)}
    try:
        return [(places[id(document)], str(reason)) for document, reason in refused]
    except (KeyError, TypeError, ValueError) as error:
        raise TypeError("it did not return pairs of its own documents and reasons") from error


def _told(error: BaseException) -> str:
    """Return an error as one line: what it is, and where the user's code raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    what = " ".join(str(error).split())
    return f"{type(error).__name__}: {what}"[:_LONGEST_DETAIL] + where


def _answer(parent: Pipes, answer: dict[str, Any]) -> None:
    parent.send(json.dumps(answer).encode())


if __name__ == "__main__":
    main(sys.argv[1])
