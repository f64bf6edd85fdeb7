"""The dead letters of a project as an operator sees them: what is open, and what was done.

Invariant: looking changes nothing, and asks no broker.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby

from joinery.dead_letters.dead_letter import (
    BrokenLetterError,
    DeadLetter,
    Resolution,
    State,
    sorted_out,
)
from joinery.dead_letters.reader import folder_reader
from joinery.place.place import Place

_LARGEST_FOLDER = 32 << 20  # bytes of dead letters that are counted one by one


@dataclass(frozen=True, slots=True)
class HandledLetters:
    """Dead letters that somebody replayed or dropped at once.

    Attributes:
        state: What became of them.
        at: When, ISO 8601 in UTC.
        by: Who; empty where that was not kept.
        count: How many of them.
    """

    state: State
    at: str
    by: str
    count: int


@dataclass(frozen=True, slots=True)
class KeptLetters:
    """Dead letters, and all that was ever done about them.

    Attributes:
        letters: In the order of their places, open or not.
        marks: What was done, in any order.
    """

    letters: tuple[DeadLetter, ...]
    marks: tuple[Resolution, ...]

    @property
    def open(self) -> tuple[DeadLetter, ...]:
        """Those about which nothing was done."""
        return tuple(each for each in self.letters if each.state == "open")

    def handled(self) -> list[HandledLetters]:
        """Return what was done about them, the oldest first."""
        ordered = sorted(self.marks, key=_done)
        return [
            HandledLetters(state, at, by, len({each.id for each in some}))
            for (at, state, by), some in groupby(ordered, _done)
        ]

    def of(self, names: Collection[str], sources: Collection[str] = ()) -> KeptLetters:
        """Return those of some topics, products or streams.

        Args:
            names: Of them.
            sources: Whose records count, since another source may have a topic of the same name;
                where none is named, all do.
        """
        letters = tuple(
            each for each in self.letters if belongs(each.of, each.source, names, sources)
        )
        ids = {each.id for each in letters}
        return KeptLetters(letters, tuple(each for each in self.marks if each.id in ids))


def belongs(of: str, source: str, names: Collection[str], sources: Collection[str]) -> bool:
    """Return whether a letter of a name and a source is one of those that `KeptLetters.of` returns.

    Example:
        >>> belongs("public.a", "crm", ["public.a"], ["shop"]), belongs("a", "", ["a"], ["shop"])
        (False, True)
    """
    return of in names and (not sources or source in ("", *sources))


def _done(mark: Resolution) -> tuple[str, State, str]:
    return mark.at, mark.state, mark.by


def kept_letters(folder: Place | None) -> KeptLetters | None:
    """Return the dead letters of a project's folder of them.

    None where they are not read here: letters of a topic, more than 32 MB of them, more than 1,000
    objects of a store, and files that hold anything else than letters.
    """
    if folder is None:
        return None
    reader = folder_reader(folder)
    try:
        return None if reader.size > _LARGEST_FOLDER else _read(reader.lines(), reader.marks())
    except (OSError, ValueError, TypeError, BrokenLetterError):
        return None


def _read(lines: Iterable[bytes], marks: Iterable[Resolution]) -> KeptLetters:
    made = tuple(marks)
    return KeptLetters(tuple(sorted_out(lines, made)), made)
