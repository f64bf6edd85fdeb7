"""Follows a few documents on screen: what each batch changed in them, line by line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Document = Mapping[str, Any]

_MARKS = {"+": "\x1b[32m", "-": "\x1b[31m", "~": "\x1b[33m", "*": "\x1b[36m"}
_PLAIN = "\x1b[0m"
_LINES_A_CHANGE = 4


def differences(before: Document | None, after: Document | None) -> Iterator[tuple[str, str]]:
    """Yield what changed between two states of one document, as mark and text.

    Marks: `*` the document came, `-` something left, `+` something came, `~` it changed.

    Example:
        >>> list(differences({"name": "a", "tags": [{"id": 1}]}, {"name": "b", "tags": []}))
        [('~', 'name "a" → "b"'), ('-', 'tags id=1')]
    """
    if after is None:
        yield "-", "document deleted"
        return
    if before is None:
        sizes = [f"{len(value)} {name}" for name, value in after.items() if isinstance(value, list)]
        yield "*", f"new document: {', '.join(sizes)}"
        return
    for name, value in after.items():
        if isinstance(value, list):
            yield from _list_differences(name, before.get(name) or [], value)
        elif before.get(name) != value:
            yield "~", f"{name} {_text(before.get(name))} → {_text(value)}"


def _list_differences(
    name: str, before: list[Document], after: list[Document]
) -> Iterator[tuple[str, str]]:
    stood, stands = ({_identity(each): each for each in rows} for rows in (before, after))
    for identity, row in stood.items():
        if identity not in stands:
            yield "-", f"{name} {_label(row)}"
    for identity, row in stands.items():
        if identity not in stood:
            yield "+", f"{name} {_label(row)}{_rest(row)}"
        elif stood[identity] != row:
            yield "~", f"{name} {_label(row)}: {_moves(stood[identity], row)}"


def _identity(row: Document) -> str:
    return json.dumps([row.get(name) for name in _naming(row)])


def _naming(row: Document) -> tuple[str, ...]:
    names = tuple(each for each in ("repo", "index", "id") if each in row)
    return names or tuple(row)


def _label(row: Document) -> str:
    named = [row[each] for each in _naming(row)]
    if "repo" in row:
        return " #".join(str(each) for each in named)
    return ", ".join(f"{name}={_text(row[name])}" for name in _naming(row))


def _rest(row: Document) -> str:
    told = [_text(row[each]) for each in ("title", "description") if row.get(each)]
    return f" {' '.join(told)}" if told else ""


def _moves(before: Document, after: Document) -> str:
    return ", ".join(
        f"{name} {_text(before.get(name))} → {_text(value)}"
        for name, value in after.items()
        if before.get(name) != value
    )


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


class Followed:
    """The documents that are followed, as they were last shown."""

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self.documents: dict[str, Document | None] = {}
        self._write = write or sys.stdout.write
        self._coloured = sys.stdout.isatty()

    def show(self, key: str, name: str, document: Document | None) -> None:
        """Show what changed in a document, under a name, and remember it."""
        before = self.documents.get(key)
        if document != before:
            self._show(name, differences(before, document))
        self.documents[key] = document

    def _show(self, name: str, changes: Iterator[tuple[str, str]]) -> None:
        told = list(changes)
        for mark, text in told[:_LINES_A_CHANGE]:
            colour, plain = (_MARKS[mark], _PLAIN) if self._coloured else ("", "")
            self._write(f"  {name:<18} {colour}{mark} {text}{plain}\n")
        if len(told) > _LINES_A_CHANGE:
            self._write(f"  {name:<18}   and {len(told) - _LINES_A_CHANGE} more\n")


class Follower:
    """Reads the files that a files sink puts in place, and shows the followed documents.

    Args:
        folder: The product's output folder.
        keys: The root keys to follow, with the names to show.
        column: The root key's column.
    """

    def __init__(
        self,
        folder: Path,
        keys: Mapping[str, str],
        column: str,
        write: Callable[[str], object] | None = None,
    ) -> None:
        self._folder = folder
        self._keys = keys
        self._column = column
        self._seen: set[Path] = set()
        self._followed = Followed(write)

    @property
    def documents(self) -> Mapping[str, Document | None]:
        """The followed documents as they were last seen, by key."""
        return self._followed.documents

    def look(self) -> None:
        """Show what the files that are new since the last look changed."""
        for file in sorted(self._folder.glob("*.jsonl")):
            if file not in self._seen:
                self._seen.add(file)
                self._read(file)

    def _read(self, file: Path) -> None:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                emission = json.loads(line)
                key = emission["key"][self._column]
                if key in self._keys:
                    self._followed.show(key, self._keys[key], emission["value"])
