"""What PostgreSQL holds for a value of each type, and how texts with a NUL are held.

A float is a `double precision`, so that nothing is rounded on the way. PostgreSQL's texts hold
no NUL; where one occurs, it is written as two characters, the first of which is escaped too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from joinery.model.type import STRING, Array, Atomic, DataType, Decimal, Field, Map, Struct
from joinery.solutions.relational.value import Convert, from_json_text, json_text

_TYPES = {
    "boolean": "boolean",
    "byte": "smallint",
    "short": "smallint",
    "int": "integer",
    "long": "bigint",
    "float": "double precision",
    "double": "double precision",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
}
_WIDER = {
    "smallint": ("integer", "bigint"),
    "integer": ("bigint",),
}
_ESCAPE = "\ue000"
_BARE = ("boolean", "byte", "short", "int", "long")


def column_type(kind: DataType) -> str:
    """Return the type of a column, as PostgreSQL's `format_type` writes it."""
    if isinstance(kind, Decimal):
        return f"numeric({kind.precision},{kind.scale})"
    return _TYPES.get(kind.name, "text") if isinstance(kind, Atomic) else "text"


def widens(standing: str, wanted: str) -> bool:
    """Return whether every value of a column's type is one of another type, and stays as it is.

    Example:
        >>> widens("integer", "bigint"), widens("bigint", "integer")
        (True, False)
        >>> widens("numeric(10,2)", "numeric(12,2)"), widens("numeric(10,2)", "numeric(10,3)")
        (True, False)
    """
    if wanted in _WIDER.get(standing, ()):
        return True
    if not (standing.startswith("numeric(") and wanted.startswith("numeric(")):
        return False
    (digits, scale), (more, as_fine) = _numeric(standing), _numeric(wanted)
    return scale == as_fine and digits <= more


def to_cell(kind: DataType) -> Convert | None:
    """Return the function from a value that is not null to what the driver takes."""
    if isinstance(kind, Array | Map | Struct):
        return json_text(kind)
    return _real if kind in (Atomic("float"), Atomic("double")) else None


def from_cell(kind: DataType) -> Convert | None:
    """Return the way back; None where the driver gives the value itself."""
    return from_json_text(kind) if isinstance(kind, Array | Map | Struct) else None


def array_text(values: Iterable[Any], kind: DataType) -> str:
    r"""Return values that are not null as the text of an array.

    Example:
        >>> array_text([1, 2], Atomic("long")), array_text(['a"\\'], STRING)
        ('{1,2}', '{"a\\"\\\\"}')
    """
    if isinstance(kind, Atomic) and kind.name in _BARE:
        return "{" + ",".join(map(str, values)) + "}"
    if kind == STRING:
        texts: Iterable[str] = values
    elif kind == Atomic("binary"):
        texts = ("\\x" + each.hex() for each in values)
    else:
        texts = map(str, values)
    inner = '","'.join([each.replace("\\", "\\\\").replace('"', '\\"') for each in texts])
    return escaped(f'{{"{inner}"}}') if inner or values else "{}"


def needs_escape(rows: Sequence[Sequence[Any]], fields: Sequence[Field]) -> bool:
    """Return whether a text among rows of cells holds a NUL, or the character that escapes it."""
    for at, field in enumerate(fields):
        if not isinstance(field.type, Atomic) or column_type(field.type) == "text":
            together = "".join([each[at] for each in rows if each[at].__class__ is str])
            if "\0" in together or _ESCAPE in together:
                return True
    return False


def escaped(text: str) -> str:
    """Return a text that PostgreSQL can hold."""
    if "\0" in text or _ESCAPE in text:
        return text.replace(_ESCAPE, f"{_ESCAPE}1").replace("\0", f"{_ESCAPE}0")
    return text


def unescaped(text: str) -> str:
    """Return the text that was escaped."""
    return text.replace(f"{_ESCAPE}0", "\0").replace(f"{_ESCAPE}1", _ESCAPE)


def escaped_cells(cells: Iterable[Any]) -> tuple[Any, ...]:
    """Return cells with their texts escaped."""
    return tuple([escaped(each) if isinstance(each, str) else each for each in cells])


def unescaped_cells(cells: Iterable[Any]) -> tuple[Any, ...]:
    """Return cells with their texts as they were."""
    return tuple([unescaped(each) if isinstance(each, str) else each for each in cells])


def _numeric(told: str) -> tuple[int, int]:
    precision, _, scale = told.removeprefix("numeric(").removesuffix(")").partition(",")
    return int(precision), int(scale)


def _real(value: Any) -> float:
    return float(value)
