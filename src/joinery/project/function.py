"""A function of Python as a project file names it, so that another process can import it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from joinery.errors import SpecError


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
    shown = getattr(function, "__qualname__", "function")
    raise SpecError(
        f'function "{shown}" cannot be imported by another process',
        code="SPEC_FUNCTION",
        detail="It runs in a process of its own, which imports it by module and name.",
        hint="Define it at the top of a module, and import it from there.",
    )
