"""Reads the status file of a query, and says why it cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

from joinery.model.status import QueryStatus
from joinery.place.place import Place


def read_status(file: Place) -> tuple[QueryStatus | None, str]:
    """Return what a run told of a query, and why nothing can be read where something stands.

    Without a file there is nothing, and nothing is wrong, unless a link leads nowhere.
    """
    try:
        return QueryStatus.of_json(json.loads(file.read_text(encoding="utf-8"))), ""
    except FileNotFoundError:
        return None, _broken_link(file)
    except OSError as error:
        return None, not_read(file, error)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        why = "it is truncated, or another version of Joinery wrote it"
        return None, f"{file.name} cannot be read: {why}"


def not_read(file: Place, error: OSError) -> str:
    """Return that a file cannot be read, and why."""
    return f"{file} cannot be read: {error.strerror or error}"


def _broken_link(file: Place) -> str:
    """Return which link on the way to a file leads nowhere, as to a disk that is not mounted."""
    ways = (file, *file.parents) if isinstance(file, Path) else ()
    broken = [each for each in ways if each.is_symlink() and not each.exists()]
    return f"{broken[0]} is a link to what is not there" if broken else ""
