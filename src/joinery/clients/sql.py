"""Identifiers of standard SQL, as SQLite and PostgreSQL both read them."""

from __future__ import annotations

from collections.abc import Iterable


def quoted(name: str) -> str:
    """Return `name` as an identifier.

    Example:
        >>> quoted('a "b" c')
        '"a ""b"" c"'
    """
    return '"' + name.replace('"', '""') + '"'


def listed(names: Iterable[str]) -> str:
    """Return identifiers with commas between."""
    return ", ".join(map(quoted, names))
