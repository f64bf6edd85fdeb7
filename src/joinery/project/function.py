"""A function of Python as a project file names it, and as another process imports it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from joinery.errors import SpecError


class FunctionError(SpecError):
    """A function that a project names is not there, or answers no call."""

    code = "SPEC_FUNCTION"


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


def function_at(name: str, folder: Path | None = None) -> Callable[[Any], Any]:
    """Return the function of one argument that `module:name` names.

    Args:
        name: The module and the function.
        folder: Where its module may stand, besides where Python looks.

    Raises:
        FunctionError: It cannot be imported, or answers no call.
    """
    if folder is not None and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found = imported(name)
    except (Exception, SystemExit) as error:
        where = "" if folder is None else f"in {folder} and "
        raise FunctionError(
            f"cannot import function {name}",
            detail=f"{type(error).__name__}: {error}.",
            hint=f"Its module is looked for {where}among installed packages.",
        ) from error
    if why := why_silent(found):
        raise FunctionError(f"function {name} {why}")
    function: Callable[[Any], Any] = found
    return function


def why_silent(function: object, *, yields: bool = False) -> str:
    """Return why something does not answer a call with one argument; empty where it may.

    Args:
        function: What is to be called.
        yields: Whether its answer may be a generator.

    Example:
        >>> why_silent(5), why_silent(lambda event: None)
        ('cannot be called', '')
        >>> why_silent(lambda: None)
        'does not take one argument: too many positional arguments'
    """
    if not callable(function):
        return "cannot be called"
    called = function, type(function).__call__
    if any(
        inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in called
    ):
        return "is async, and nothing awaits it"
    if not yields and any(inspect.isgeneratorfunction(each) for each in called):
        return "yields, and has to return"
    try:  # a decorated one may add arguments by itself, so what it wraps does not count
        taken = inspect.signature(function, follow_wrapped=False)
    except Exception:  # a builtin may not tell, nor annotations of what only a type checker knows
        return ""
    try:
        taken.bind(None)
    except TypeError as error:
        return f"does not take one argument: {error}"
    return ""


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
    raise FunctionError(
        f'function "{shown_name(function)}" cannot be imported by another process',
        detail="An option holds the module and the name of a function, by which it is imported"
        " where it runs.",
        hint="Define it at the top of a module, and import it from there; a condition is"
        " no function but a text, such as 'amount > 0'.",
    )
