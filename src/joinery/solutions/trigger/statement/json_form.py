"""How objects and lists are written: as documents are, or as PostgreSQL shows `jsonb`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JsonForm:
    """A form of JSON text.

    Attributes:
        comma: Stands between entries.
        colon: Stands between the name and the value of one.
        sorted: Entries stand by the length of their names, then by their bytes; else as declared.
    """

    comma: str = ","
    colon: str = ":"
    sorted: bool = False

    def ordered(self, entries: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        """Return the entries of an object, each a name and a text, in their order.

        Example:
            >>> [name for name, _ in JSONB.ordered([("id", "1"), ("name", "2"), ("at", "3")])]
            ['at', 'id', 'name']
        """
        if not self.sorted:
            return entries
        return sorted(entries, key=lambda each: (len(each[0].encode()), each[0].encode()))


COMPACT = JsonForm()
JSONB = JsonForm(", ", ": ", sorted=True)
