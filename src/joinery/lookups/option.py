"""The options of a lookup store, taken by name and type."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from joinery.errors import SpecError
from joinery.sinks.option import plain

Kind = TypeVar("Kind")
_WORDS: dict[type, str] = {str: "a text", bool: "true or false", int: "a whole number"}


class LookupOptionError(SpecError):
    """The options of a lookup store are not what its kind takes."""

    code = "SPEC_LOOKUP_OPTION"


class StoreOptions:
    """The options of one store of `kind`.

    Raises:
        LookupOptionError: One of them is not known.
    """

    def __init__(self, kind: str, options: Mapping[str, object], known: Sequence[str]) -> None:
        self._kind = kind
        self._options = options
        for name in options:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                raise LookupOptionError(
                    f'lookup store "{kind}" has no option "{name}"',
                    detail=f"Its options are {', '.join(known)}.",
                    hint=f'Use "{near[0]}".' if near else "",
                )

    def text(self, name: str, default: str) -> str:
        """Return a text that is not empty, `default` where none is given."""
        return self._of_type(name, str, default) or default

    def needed(self, name: str, example: str) -> str:
        """Return a text that has to be given."""
        found = self._of_type(name, str, "")
        if not found:
            raise LookupOptionError(
                f'lookup store "{self._kind}" needs "{name}"',
                hint=f"Write {{{self._kind}: {{{name}: {example}}}}}.",
            )
        return found

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false."""
        return self._of_type(name, bool, default)

    def count(self, name: str, default: int) -> int:
        """Return a whole number from 1."""
        found = self._of_type(name, int, default)
        if isinstance(found, bool) or found < 1:
            raise self._not(name, "a whole number from 1")
        return found

    def texts(self, name: str) -> dict[str, str]:
        """Return a map of texts, empty where none is given."""
        found = plain(self._options.get(name) or {})
        if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
            raise self._not(name, "a map of texts")
        return found

    def path(self, name: str, folder: Path, example: str) -> Path:
        """Return a path that has to be given, relative to `folder`."""
        return (folder / Path(self.needed(name, example)).expanduser()).absolute()

    def _of_type(self, name: str, kind: type[Kind], default: Kind) -> Kind:
        value = self._options.get(name)
        if value is None:
            return default
        if not isinstance(value, kind):
            raise self._not(name, _WORDS[kind])
        return value

    def _not(self, name: str, wanted: str) -> LookupOptionError:
        return LookupOptionError(f'option "{name}" of lookup store "{self._kind}" is not {wanted}')
