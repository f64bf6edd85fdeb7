"""The arguments of `joinery status`, read without Typer.

Invariant: what is read here is read as Typer reads it; anything else is left to Typer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DEFAULT = Path("joinery.yaml")
SINCE = "24h"
_FILE = "--file"
_SINCE = "--since"
_FLAGS = ("--check", "--json", "--all", "--actions", "--history")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusArguments:
    """What `joinery status` is asked.

    Attributes:
        products: Only these products and streams; empty for all.
        file: The project file, or a folder of them.
        check: Exit with 3 where something wants attention.
        as_json: One JSON value.
        every: More than the first twenty.
        actions: What people did, instead of how products stand.
        history: What products did, likewise.
        since: How far back that goes.
    """

    products: tuple[str, ...] = ()
    file: Path = DEFAULT
    check: bool = False
    as_json: bool = False
    every: bool = False
    actions: bool = False
    history: bool = False
    since: str = SINCE


def names_a_project(argument: str) -> bool:
    """Return whether an argument is a project file, or a folder with one, and no product's name."""
    file = Path(argument)
    return file.suffix in (".yaml", ".yml") or (file / DEFAULT).is_file()


def status_arguments(arguments: Sequence[str]) -> StatusArguments | None:
    """Return what `joinery status` is asked; None where it is for Typer to say.

    Example:
        >>> status_arguments(["status", "orders", "--check"]).products
        ('orders',)
        >>> status_arguments(["status", "--help"]), status_arguments(["run"])
        (None, None)
    """
    if not arguments or arguments[0] != "status":
        return None
    products: list[str] = []
    flags: set[str] = set()
    given = {_FILE: str(DEFAULT), _SINCE: SINCE}
    rest = iter(arguments[1:])
    for each in rest:
        name, equals, value = each.partition("=")
        if name in given:
            value = value if equals else next(rest, "")
            if not value or value.startswith("-"):
                return None
            given[name] = value
        elif each in _FLAGS:
            flags.add(each)
        elif each and not each.startswith("-"):
            products.append(each)
        else:
            return None
    return StatusArguments(
        products=tuple(products),
        file=Path(given[_FILE]),
        check="--check" in flags,
        as_json="--json" in flags,
        every="--all" in flags,
        actions="--actions" in flags,
        history="--history" in flags,
        since=given[_SINCE],
    )
