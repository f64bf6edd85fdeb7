"""A function of Python as a project file names it, and as another process imports it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any

from joinery.errors import SpecError


def imported(name: str) -> Any:
    """Return what `module:name` names, in any process that finds the module.

    Raises:
        ImportError: There is no such module.
        AttributeError: The module has no such name.

    Example:
        >>> imported("math:sqrt")(4)
        2.0
    """
    module, _, path = name.partition(":")
    return attrgetter(path)(import_module(module))


def shown_name(function: object) -> str:
    """Return what a function is called in messages."""
    return str(getattr(function, "__qualname__", "function"))


def importable(function: Callable[..., Any]) -> str | None:
    """Return `module:name` of a function that others can import, else None.

    A bound method has the name of what its class has, which is another function.

    Example:
        >>> importable(importable), importable(lambda: None)
        ('joinery.project.function:importable', None)
    """
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "<lambda>")
    if module in (None, "__main__") or "<" in name:
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found == function else None


def function_name(function: Callable[..., Any]) -> str:
    """Return `module:name` of a function.

    Raises:
        SpecError: Others cannot import it.
    """
    name = importable(function)
    if name is not None:
        return name
    raise SpecError(
        f'function "{shown_name(function)}" cannot be imported by another process',
        code="SPEC_FUNCTION",
        detail="An option holds the module and the name of a function, by which it is imported"
        " where it runs.",
        hint="Define it at the top of a module, and import it from there; a condition is"
        " no function but a text, such as 'amount > 0'.",
    )
