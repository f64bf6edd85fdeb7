"""The arguments of calls from Python: which were given, and which relation or product is meant."""

from __future__ import annotations

import os.path
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any, Protocol, TypeAlias

from joinery.errors import Location, SpecError
from joinery.project.product import ProductSpec
from joinery.project.relation import RelationSpec

_PACKAGE = __name__.partition(".")[0]


class Declared(Protocol):
    """What declares a relation or a product: a document, or a table or groups of an app."""

    @property
    def spec(self) -> RelationSpec | ProductSpec:
        """The relation, or the product."""


RelationLike: TypeAlias = "RelationSpec | str | Declared"


def caller() -> Location | None:
    """Return the line outside this package that is calling it; None where no file holds it."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    # Unlike that of a Path, it takes whatever name code was compiled under.
    if frame is None or not os.path.isfile(frame.f_code.co_filename):  # noqa: PTH113
        return None
    return Location(frame.f_code.co_filename, frame.f_lineno, 0)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE


def given(parts: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments of a call that were not left out, which are those that are not None."""
    return {name: value for name, value in parts.items() if value is not None}


def check_name(name: object, what: str) -> None:
    """Refuse what is not text as the name of something.

    Raises:
        SpecError: It is none.
    """
    if not isinstance(name, str):
        raise SpecError(
            f"{what} needs a text as its name, not an object of type {type(name).__name__}",
            code="SPEC_NAME",
            hint="Its name comes first.",
        )


def map_given(told: object, name: str) -> dict[str, Any]:
    """Return the map that an argument of a call is; empty where it was left out.

    Raises:
        SpecError: It is not a map.
    """
    if told is None or isinstance(told, Mapping):
        return dict(told or {})
    message = f'"{name}" needs a map, not an object of type {type(told).__name__}'
    raise SpecError(message, code="SPEC_SHAPE", hint=f"Write {name}={{…}}.")


def relation_name(relation: RelationLike) -> str:
    """Return the name under which a relation or a product is read.

    Raises:
        SpecError: It is neither.
    """
    return relation if isinstance(relation, str) else declared_by(relation).name


def declared_by(relation: RelationSpec | Declared) -> RelationSpec | ProductSpec:
    """Return the relation or the product that an object declares.

    Raises:
        SpecError: It declares neither.
    """
    # By name: a user may pass any object, and a log of events is worth a hint of its own.
    spec = relation if isinstance(relation, RelationSpec) else getattr(relation, "spec", None)
    if isinstance(spec, RelationSpec | ProductSpec):
        return spec
    log = getattr(relation, "origin", None)
    raise SpecError(
        f"an object of type {type(relation).__name__} is not a relation",
        code="SPEC_SHAPE",
        hint=f'Write the name of its log, "{log}".'
        if isinstance(log, str)
        else "Pass what jn.relation or app.table gives, a product, or the name of one.",
    )
