"""The data types of columns and documents, in Spark's words.

Types are values: two types are equal exactly when Spark would call them equal, names of
struct fields included.
"""

from __future__ import annotations

from dataclasses import dataclass

ATOMIC_NAMES = (
    "boolean",
    "byte",
    "short",
    "int",
    "long",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "void",
)
_DDL_NAMES = {"byte": "tinyint", "short": "smallint", "long": "bigint"}


@dataclass(frozen=True, slots=True)
class Atomic:
    """A type without parts; `name` is one of `ATOMIC_NAMES`."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def ddl(self) -> str:
        """The type as Spark's parser reads it."""
        return _DDL_NAMES.get(self.name, self.name)


@dataclass(frozen=True, slots=True)
class Decimal:
    """An exact number of at most 38 digits."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"

    @property
    def ddl(self) -> str:
        """The type as Spark's parser reads it."""
        return str(self)


@dataclass(frozen=True, slots=True)
class Array:
    """A list; every element may be null."""

    element: DataType

    def __str__(self) -> str:
        return f"array<{self.element}>"

    @property
    def ddl(self) -> str:
        """The type as Spark's parser reads it."""
        return f"array<{self.element.ddl}>"


@dataclass(frozen=True, slots=True)
class Map:
    """A map; keys are never null, values may be."""

    key: DataType
    value: DataType

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"

    @property
    def ddl(self) -> str:
        """The type as Spark's parser reads it."""
        return f"map<{self.key.ddl},{self.value.ddl}>"


@dataclass(frozen=True, slots=True)
class Field:
    """A named column of a relation or a struct; every field may be null."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Struct:
    """An object with fields in a fixed order."""

    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{field.name}: {field.type}' for field in self.fields)}>"

    @property
    def ddl(self) -> str:
        """The type as Spark's parser reads it."""
        return (
            f"struct<{','.join(f'{quoted(field.name)}:{field.type.ddl}' for field in self.fields)}>"
        )


DataType = Atomic | Decimal | Array | Map | Struct

BOOLEAN, INT, LONG, DOUBLE = Atomic("boolean"), Atomic("int"), Atomic("long"), Atomic("double")
STRING, BINARY, DATE, TIMESTAMP = (
    Atomic("string"),
    Atomic("binary"),
    Atomic("date"),
    Atomic("timestamp"),
)


def quoted(name: str) -> str:
    """Return `name` as a quoted Spark identifier."""
    return "`" + name.replace("`", "``") + "`"
