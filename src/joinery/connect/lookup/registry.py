"""Lookup stores by name: those of Joinery, and those that installed packages add.

A package adds one by an entry point of the group `joinery.lookups` that names a
`LookupStoreFactory`. Invariant: a package cannot replace a built-in one.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import cast

from joinery.connect.lookup.protocol import LookupStore, LookupStoreFactory, LookupTable
from joinery.errors import SpecError

_GROUP = "joinery.lookups"
_BUILT_IN = ("dynamodb", "function", "http", "postgres", "redis", "sqlite")


class UnknownLookupStoreError(SpecError):
    """No lookup store has this name here."""

    code = "SPEC_UNKNOWN_LOOKUP_STORE"


def store_kinds() -> tuple[str, ...]:
    """Return the names of all lookup stores that are installed."""
    return tuple(sorted({*_BUILT_IN, *_added()}))


def make_store(
    kind: str, table: LookupTable, options: Mapping[str, object], folder: Path
) -> LookupStore:
    """Return the store `kind` of a table, not yet opened.

    Raises:
        SpecError: No such store is installed, or its options are not what it takes.
    """
    return _factory(kind)(table, options, folder)


def _factory(kind: str) -> LookupStoreFactory:
    if kind in _BUILT_IN:
        module = import_module(f"joinery.connect.lookup.{kind}")
        return cast(LookupStoreFactory, getattr(module, f"{kind}_store"))
    if entry := _added().get(kind):
        return cast(LookupStoreFactory, entry.load())
    known = store_kinds()
    near = difflib.get_close_matches(kind, known, n=1)
    raise UnknownLookupStoreError(
        f'lookup store "{kind}" is not installed',
        detail=f"Installed are {', '.join(known)}.",
        hint=f'Use "{near[0]}".' if near else "",
    )


def _added() -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=_GROUP)}
