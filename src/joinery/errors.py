"""The errors a user can meet: a stable code, what is wrong, why, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import CO_VARKEYWORDS
from types import FunctionType
from typing import Any, Protocol, TypeVar, cast


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a project file; `line` and `column` count from 1.

    Of a declaration in Python the line alone is known: its `column` is 0.
    """

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        column = f":{self.column}" if self.column else ""
        return f"{self.file}:{self.line}{column}"


class JoineryError(Exception):
    """Anything Joinery refuses, told in three parts.

    The message names the object and what is wrong with it; `detail` is a sentence of
    facts; `hint` is an action. Both stand below the message of a traceback. Subclasses set
    `code`, which never changes.
    """

    code = "JOINERY"

    def __init__(
        self,
        message: str,
        *,
        detail: str = "",
        hint: str = "",
        location: Location | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.location = location
        if code is not None:
            self.code = code
        for note in _below(self):
            self.add_note(note)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__))

    def __str__(self) -> str:
        return f"{self.code} {self.message}"


class SpecError(JoineryError):
    """The project file, or a project built in Python, cannot be read as declared."""

    code = "SPEC"


class PlanError(JoineryError):
    """A declaration is readable, and cannot hold against its relations.

    Attributes:
        declared: The path of the declaration in its project, such as
            `("products", "orders", "fields")`.
    """

    code = "PLAN"
    declared: tuple[str | int, ...] = ()


class StateMismatchError(JoineryError):
    """A checkpoint holds state that another plan wrote."""

    code = "STATE_MISMATCH"


class RunError(JoineryError):
    """A run could not start or go on."""

    code = "RUN"


class SinkOptionError(SpecError):
    """A sink's options are not what its kind takes."""

    code = "SPEC_SINK_OPTION"


class SolutionOptionError(SpecError):
    """The options of a solution are not what it takes."""

    code = "SPEC_SOLUTION_OPTION"


class StoreOptionError(SpecError):
    """The options of a key-value store are not what it takes."""

    code = "SPEC_STORE_OPTION"


class LookupOptionError(SpecError):
    """The options of a lookup store are not what its kind takes."""

    code = "SPEC_LOOKUP_OPTION"


class SinkError(RunError):
    """A sink could not take a batch, and will not by waiting: access, schema, settings."""

    code = "RUN_SINK"


class SinkUnavailableError(SinkError):
    """A target cannot be reached or is overloaded: the same write may succeed later."""

    code = "RUN_SINK_UNAVAILABLE"


class FencedError(RunError):
    """Another run has taken over; this one may write nothing more."""

    code = "RUN_FENCED"


_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)


def suggesting(function: _Function) -> _Function:
    """Return a function that tells the nearest of its arguments where one is misspelled.

    Example:
        >>> @suggesting
        ... def sink(*, path: str = "") -> None: ...
        >>> sink(pth="out")
        Traceback (most recent call last):
        TypeError: sink() got an unexpected keyword argument 'pth'. Did you mean 'path'?
    """
    return _suggesting(function, lambda given: function.__qualname__)


def _suggesting(function: _Function, title: Callable[[tuple[Any, ...]], str]) -> _Function:
    """Return a `suggesting` function, which problems name by what it was called with."""
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    takes_any = code.co_flags & CO_VARKEYWORDS

    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        for name in () if takes_any else named:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                also = f" Did you mean '{near[0]}'?" if near else ""
                raise TypeError(
                    f"{title(given)}() got an unexpected keyword argument '{name}'.{also}"
                )
        return function(*given, **named)

    return cast(_Function, called)


def suggesting_methods(kind: _Class) -> _Class:
    """Return a class whose public methods, and the making of it, are `suggesting`.

    A method that a class inherits is named by the class that it is called on.
    """
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(member, FunctionType):
            setattr(kind, name, _suggesting(member, _title_of(member)))
        elif isinstance(member, classmethod):
            function = member.__func__
            setattr(kind, name, classmethod(_suggesting(function, _title_of(function))))
    return kind


def _title_of(method: Callable[..., Any]) -> Callable[[tuple[Any, ...]], str]:
    """Return what names a method by the class of what it is called with."""

    def title(given: tuple[Any, ...]) -> str:
        if not given:
            return method.__qualname__
        owner = given[0] if isinstance(given[0], type) else type(given[0])
        return f"{owner.__name__}.{method.__name__}"

    return title


class _Missing(Protocol):
    """Makes the error of a library that is not installed."""

    def __call__(self, message: str, *, hint: str) -> JoineryError: ...


@contextmanager
def needs_extra(name: str, message: str, error: _Missing) -> Iterator[None]:
    """Import within this what only an extra installs; `message` says who needs what.

    Raises:
        JoineryError: The `error`, with the extra in its hint, where it is not installed.

    Example:
        >>> with needs_extra("postgres", "this needs the package psycopg", RunError):
        ...     import psycopg
    """
    try:
        yield
    except ImportError as missing:
        raise error(message, hint=f"Install Joinery with the extra {name}.") from missing


class ProjectErrors(JoineryError):
    """All problems of one project at once, in file order."""

    code = "PROJECT"

    def __init__(self, problems: tuple[JoineryError, ...]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = problems
        for problem in problems:
            self.add_note(_told(problem))


def _told(problem: JoineryError) -> str:
    places = [str(problem.location)] if problem.location else []
    if isinstance(problem, PlanError) and not (problem.location and problem.location.column):
        places.append(_dotted(problem.declared))
    text = "\n  ".join((str(problem), *_below(problem)))
    return ": ".join((*(each for each in places if each), text))


def _below(error: JoineryError) -> tuple[str, ...]:
    """Return what stands below the message of an error."""
    hint = f"hint: {error.hint}" if error.hint else ""
    return tuple(each for each in (error.detail, hint) if each)


def _dotted(path: tuple[str | int, ...]) -> str:
    """Return where something of a project built in Python is declared.

    Example:
        >>> _dotted(("relations", "order", "key", 1))
        'relations.order.key[1]'
    """
    parts = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return "".join(parts).removeprefix(".")


def _rebuild(
    kind: type[JoineryError], args: tuple[object, ...], facts: dict[str, object]
) -> JoineryError:
    error = kind.__new__(kind)
    Exception.__init__(error, *args)
    error.__dict__.update(facts)
    return error
