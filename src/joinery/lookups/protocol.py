"""What a lookup store gives: the rows of some keys, in one request.

Invariant: a fetch answers every key that it was asked: with its row, with `Unfit`, or by
leaving it out, which says that there is no row.

The failures that drivers have on the way of a sink, told as those of a lookup store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from joinery.errors import RunError
from joinery.model.type import Field
from joinery.project.option import Target
from joinery.sinks.protocol import SinkError, SinkUnavailableError

Key = tuple[object, ...]
"""The values of a table's key, in the order of `LookupTable.key`."""

Row = tuple[object, ...]
"""The values of a row, in the order of `LookupTable.columns`; Python's own, by their types."""


class LookupStoreError(RunError):
    """A lookup store cannot be asked, and waiting will not help: access, schema, settings."""

    code = "RUN_LOOKUP"


class LookupUnavailableError(LookupStoreError):
    """A lookup store cannot be reached, or is overloaded: the same request may succeed later.

    Attributes:
        after_s: How many seconds the store asks to be left alone; None where it does not say.
    """

    code = "RUN_LOOKUP_UNAVAILABLE"
    after_s: float | None = None

    def after(self, seconds: float | None) -> LookupUnavailableError:
        """Return the error with how long the store asks to be left alone."""
        self.after_s = seconds
        return self


@dataclass(frozen=True, slots=True)
class Unfit:
    """What a store holds under a key is not a row of the table: a value of another type.

    Events that ask for it become dead letters.
    """

    detail: str


Answer = Row | Unfit | None
"""What is known of a key; None where it has no row."""


@dataclass(frozen=True, slots=True)
class LookupTable:
    """What is asked of a store.

    Attributes:
        name: The relation's, which is also the table's unless the store's options say else.
        key: The columns of a key, in the order in which keys give their values.
        columns: Those that a row gives.
    """

    name: str
    key: tuple[Field, ...]
    columns: tuple[Field, ...]


class LookupStore(Protocol):
    """A place that holds the rows of one table.

    Opened, then asked from several threads at once, then closed, also after an error; it
    may be opened again after that.
    """

    @property
    def target(self) -> str:
        """Where the rows are, for messages: kind, name and address, never a secret."""

    @property
    def most_keys(self) -> int | None:
        """The most keys that one request takes; None where any number goes."""

    def open(self) -> None:
        """Connect, and see that the table is there.

        Raises:
            LookupUnavailableError: It cannot be reached, or has no such table yet.
            LookupStoreError: It cannot be used at all.
        """

    def fetch(self, keys: Sequence[Key]) -> Mapping[Key, Answer]:
        """Return what stands under `keys`, by one request; keys without a row are left out.

        Args:
            keys: Distinct, none holds None, at most `most_keys`.

        Raises:
            LookupUnavailableError: The same request may succeed later.
            LookupStoreError: It will not without a change of the store or the project.
        """

    def close(self) -> None:
        """Release connections; without effect where nothing is open."""


class LookupOptions(Protocol):
    """The options of a kind of store; an entry point of `joinery.lookups` names such a class.

    Made by `joinery.project.option.options`, which says how a project file gives them.
    """

    def make(self, table: LookupTable, folder: Path) -> LookupStore:
        """Return the store of a table, not yet opened.

        Args:
            table: What will be asked for.
            folder: Where relative paths begin.

        Raises:
            SpecError: If the options do not fit each other or the table.
        """

    def target(self, relation: str, folder: Path) -> Target | None:
        """Return the table of a relation, as a sink that keeps it does; None where nothing tells.

        Where both are of one run, answers that were kept are forgotten once the sink has written.
        """


def as_lookup(error: SinkError) -> LookupStoreError:
    """Return `error` as one of a lookup store: to be waited out, or not."""
    passing = isinstance(error, SinkUnavailableError)
    kind = LookupUnavailableError if passing else LookupStoreError
    return kind(error.message, detail=error.detail, hint=error.hint)
