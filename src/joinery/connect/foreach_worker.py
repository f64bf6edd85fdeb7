"""The process that calls a user's function, so that no document can take the run down with it.

It reads one JSON line a call and answers with one; the function's own output goes to the
error stream. It ends when its input does. Nothing is unpickled: the function is imported.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from joinery.connect.document_text import Reading, reading_of
from joinery.connect.protocol import SinkUnavailableError
from joinery.model.change import DocumentChange
from joinery.model.ddl import parse_type

Function = Callable[[list[DocumentChange]], "Iterable[tuple[DocumentChange, str]] | None"]
_LONGEST_DETAIL = 2000


def main(name: str) -> None:
    """Serve the function `module:name` until the input ends."""
    requests, answers = sys.stdin, os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = _found(name)
    except BaseException as error:
        _answer(answers, {"outcome": "unusable", "detail": _told(error)})
        return
    _answer(answers, {"outcome": "ready"})
    for line in requests:
        _answer(answers, _called(function, json.loads(line)))


def _found(name: str) -> Function:
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{name} cannot be called")
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
        raise TypeError("it returned other than pairs of its own documents and reasons") from error


def _told(error: BaseException) -> str:
    """Return an error as one line: what it is, and where the user's code raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    what = " ".join(str(error).split())
    return f"{type(error).__name__}: {what}"[:_LONGEST_DETAIL] + where


def _answer(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
