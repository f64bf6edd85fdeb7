"""The options of a sink, taken by name and type."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from joinery.errors import SinkOptionError as SinkOptionError


def check_names(kind: str, options: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse an option that the kind does not have."""
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise SinkOptionError(
                f'sink "{kind}" has no option "{name}"',
                detail=f"Its options are {', '.join(known)}." if known else "It takes none.",
                hint=f'Use "{near[0]}".' if near else "",
            )


def path_option(kind: str, options: Mapping[str, object], folder: Path) -> Path:
    """Return the option `path`, relative to `folder`."""
    path = options.get("path")
    if not isinstance(path, str) or not path:
        raise SinkOptionError(
            f'sink "{kind}" needs a path', hint=f"Write {{{kind}: {{path: out}}}}."
        )
    return (folder / Path(path).expanduser()).absolute()


def text_option(kind: str, options: Mapping[str, object], name: str, default: str) -> str:
    """Return the text under `name`."""
    value = options.get(name, default)
    if not isinstance(value, str) or not value:
        raise SinkOptionError(f'option "{name}" of sink "{kind}" is not a text')
    return value


def optional_text(kind: str, options: Mapping[str, object], name: str) -> str:
    """Return the text under `name`, empty where there is none."""
    value = options.get(name)
    if value is not None and not isinstance(value, str):
        raise SinkOptionError(f'option "{name}" of sink "{kind}" is not a text')
    return value or ""


def flag_option(kind: str, options: Mapping[str, object], name: str, default: bool) -> bool:
    """Return the true or false under `name`."""
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise SinkOptionError(f'option "{name}" of sink "{kind}" is neither true nor false')
    return value


def count_option(kind: str, options: Mapping[str, object], name: str, default: int) -> int:
    """Return the whole number from 1 under `name`."""
    value = options.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise SinkOptionError(f'option "{name}" of sink "{kind}" is not a whole number from 1')
    return value


def map_option(kind: str, options: Mapping[str, object], name: str) -> dict[str, Any]:
    """Return the map under `name`, empty where there is none."""
    value = plain(options.get(name) or {})
    if not isinstance(value, dict):
        raise SinkOptionError(f'option "{name}" of sink "{kind}" is not a map')
    return value


def plain(value: object) -> Any:
    """Return an option as maps and lists; a spec holds a map as a tuple of pairs.

    Example:
        >>> plain((("number_of_shards", 2), ("tags", ("a", "b"))))
        {'number_of_shards': 2, 'tags': ['a', 'b']}
    """
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if not isinstance(value, tuple | list):
        return value
    if value and all(_pair(each) for each in value):
        return {name: plain(each) for name, each in value}
    return [plain(each) for each in value]


def _pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)
