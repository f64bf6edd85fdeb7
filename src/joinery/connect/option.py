"""The options of a sink, taken by name and type."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from joinery.errors import SpecError


class SinkOptionError(SpecError):
    """A sink's options are not what its kind takes."""

    code = "SPEC_SINK_OPTION"


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
