"""The data types of columns and documents, in Spark's words.

Types are values: two types are equal exactly when Spark would call them equal, names of
struct fields included.

Spark DDL types as text, read into data types.

Invariant: `parse_type(type.ddl) == type` for every type it can return.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from joinery.errors import SpecError

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
_DDL_NAMES = {"byte": "tinyint", "short": "smallint", "long": "bigint", "personal": "string"}


@dataclass(frozen=True, slots=True)
class Atomic:
    """A type without parts; `name` is one of `ATOMIC_NAMES`."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def ddl(self) -> str:
        """The type as Spark's parser reads it."""
        return "string" if self.name.startswith(_SEALED) else _DDL_NAMES.get(self.name, self.name)


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


def typed_names(fields: Iterable[Field]) -> str:
    """Return names with their types: `id long, name string`."""
    return ", ".join(f"{each.name} {each.type}" for each in fields)


BOOLEAN, INT, LONG, DOUBLE = Atomic("boolean"), Atomic("int"), Atomic("long"), Atomic("double")
WHOLE_NUMBERS = frozenset({"byte", "short", "int", "long"})
"""The names of the types whose values are whole numbers."""
STRING, BINARY, DATE, TIMESTAMP = (
    Atomic("string"),
    Atomic("binary"),
    Atomic("date"),
    Atomic("timestamp"),
)


PERSONAL = Atomic("personal")
"""A text that is sealed from its decoding to a sink; no declaration names it as a type."""
_SEALED = f"{PERSONAL.name} "


def sealed(kind: DataType) -> Atomic:
    """Return the type of a value that is sealed from its decoding to a sink.

    Example:
        >>> str(sealed(LONG))
        'personal long'
    """
    if kind == STRING:
        return PERSONAL
    return Atomic(f"{_SEALED}{kind if isinstance(kind, Atomic | Decimal) else kind.ddl}")


def is_personal(kind: DataType) -> bool:
    """Return whether a value of a type is personal, or has parts that are."""
    match kind:
        case Atomic(name):
            return kind == PERSONAL or name.startswith(_SEALED)
        case Decimal():
            return False
        case Array(element):
            return is_personal(element)
        case Map(key, value):
            return is_personal(key) or is_personal(value)
        case Struct(fields):
            return any(is_personal(each.type) for each in fields)


def opened(kind: DataType) -> DataType:
    """Return a type as it is once what is personal was opened.

    Example:
        >>> str(opened(Struct((Field("email", PERSONAL), Field("id", LONG)))))
        'struct<email: string, id: long>'
    """
    match kind:
        case Atomic(name) if name.startswith(_SEALED):
            return parse_type(name.removeprefix(_SEALED))
        case Atomic():
            return STRING if kind == PERSONAL else kind
        case Decimal():
            return kind
        case Array(element):
            return Array(opened(element))
        case Map(key, value):
            return Map(opened(key), opened(value))
        case Struct(fields):
            return Struct(tuple(Field(each.name, opened(each.type)) for each in fields))


def quoted(name: str) -> str:
    """Return `name` as a quoted Spark identifier."""
    return "`" + name.replace("`", "``") + "`"


_ATOMIC = {
    "boolean": "boolean",
    "bool": "boolean",
    "byte": "byte",
    "tinyint": "byte",
    "short": "short",
    "smallint": "short",
    "int": "int",
    "integer": "int",
    "long": "long",
    "bigint": "long",
    "float": "float",
    "real": "float",
    "double": "double",
    "string": "string",
    "varchar": "string",
    "char": "string",
    "character": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}
_CONTAINERS = ("array", "map", "struct")
_KNOWN = (*dict.fromkeys(_ATOMIC.values()), "decimal", *_CONTAINERS)
_SPELLINGS = (*_ATOMIC, "decimal", *_CONTAINERS)
_ELSEWHERE = {
    **dict.fromkeys(("text", "str", "uuid", "json", "jsonb", "enum"), "string"),
    **dict.fromkeys(("time", "interval", "int64", "serial", "bigserial"), "long"),
    **dict.fromkeys(("int32", "int4"), "int"),
    **dict.fromkeys(("float64", "float8", "number"), "double"),
    **dict.fromkeys(("timestamptz", "instant"), "timestamp"),
    **dict.fromkeys(("bytea", "blob", "bytes"), "binary"),
    "datetime": "timestamp_ntz",
    "list": "array",
    "dict": "map",
}
_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|([A-Za-z_][A-Za-z_0-9]*)|([0-9]+)|([<>(),:]))")
_STOP = re.compile(r"\S")


class TypeTextError(SpecError):
    """A text that is not a Spark DDL type; `offset` counts its characters from 0."""

    code = "SPEC_TYPE"

    def __init__(self, message: str, *, offset: int, detail: str = "", hint: str = "") -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.offset = offset


def parse_type(text: str) -> DataType:
    """Return the data type that a Spark DDL text names.

    Raises:
        TypeTextError: If `text` is not a type that columns can have.

    Example:
        >>> str(parse_type("struct<a: int, b: array<varchar(10)>>"))
        'struct<a: int, b: array<string>>'
    """
    parser = _Parser(text)
    try:
        result = parser.type()
    except RecursionError:
        raise TypeTextError("the type is nested too deeply", offset=0) from None
    if parser.kind:
        listed = text.removesuffix("[]").strip()
        hint = f"Write array<{listed}>." if text.endswith("[]") else ""
        raise parser.error(f'type "{text}" continues after its end', hint)
    return result


class _Parser:
    """Reads one type from left to right."""

    def __init__(self, text: str) -> None:
        self.source = text
        self.start = self.end = 0
        self.kind = self.text = ""
        self.advance()

    def advance(self) -> None:
        found = _TOKEN.match(self.source, self.end)
        if found is None:
            rest = _STOP.search(self.source, self.end)
            self.start = rest.start() if rest else len(self.source)
            self.kind, self.text = ("other" if rest else ""), (rest.group() if rest else "")
            return
        group = found.lastindex or 0
        self.kind = ("", "quoted", "word", "number", "mark")[group]
        self.text, self.start, self.end = found.group(group), found.start(group), found.end()

    def error(self, message: str, hint: str = "") -> TypeTextError:
        return TypeTextError(message, offset=self.start, hint=hint)

    def accept(self, mark: str) -> bool:
        if self.kind == "mark" and self.text == mark:
            self.advance()
            return True
        return False

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            found = f'"{self.text}"' if self.kind else "its end"
            raise self.error(f'type "{self.source}" needs "{mark}" before {found}')

    def number(self) -> int:
        if self.kind != "number":
            raise self.error(f'type "{self.source}" needs a number here')
        value = int(self.text)
        self.advance()
        return value

    def type(self) -> DataType:
        if self.kind != "word":
            raise self.error(
                f'type "{self.source}" does not name a type', "Write one such as string."
            )
        word, start = self.text.lower(), self.start
        if word in ("decimal", "dec", "numeric"):
            return self.decimal()
        if word in _CONTAINERS:
            return self.container(word)
        if word not in _ATOMIC:
            message = f'there is no type "{self.text}"'
            raise TypeTextError(message, offset=start, hint=_instead(word))
        self.advance()
        if word in ("varchar", "char", "character") and self.accept("("):
            self.number()
            self.expect(")")
        return Atomic(_ATOMIC[word])

    def decimal(self) -> Decimal:
        start, precision, scale = self.start, 10, 0
        self.advance()
        if self.accept("("):
            precision = self.number()
            scale = self.number() if self.accept(",") else 0
            self.expect(")")
        if not (1 <= precision <= 38 and scale <= precision):
            raise TypeTextError(
                f'type "{self.source}" has an impossible precision or scale',
                offset=start,
                hint="Use a precision of 1 to 38, and a scale up to the precision.",
            )
        return Decimal(precision, scale)

    def container(self, word: str) -> DataType:
        self.advance()
        self.expect("<")
        if word == "struct":
            return self.struct()
        first = self.type()
        if word == "array":
            self.expect(">")
            return Array(first)
        if isinstance(first, Map):
            raise self.error(f'type "{self.source}" has a map as a key of a map')
        self.expect(",")
        value = self.type()
        self.expect(">")
        return Map(first, value)

    def struct(self) -> Struct:
        fields: list[Field] = []
        while not self.accept(">"):
            if fields:
                self.expect(",")
            field = self.field()
            if field.name in {each.name for each in fields}:
                raise self.error(f'type "{self.source}" has two fields named "{field.name}"')
            fields.append(field)
        return Struct(tuple(fields))

    def field(self) -> Field:
        if self.kind not in ("word", "quoted"):
            raise self.error(f'type "{self.source}" needs the name of a field here')
        quoted = self.kind == "quoted"
        name = self.text[1:-1].replace("``", "`") if quoted else self.text
        self.advance()
        if self.kind == "other":
            raise self.error(
                f'type "{self.source}" has "{self.text}" in the name of a field',
                "Put such a name in backticks: struct<`größe`: int>.",
            )
        self.accept(":")
        kind = self.type()
        if self.kind == "word" and self.text.lower() == "not":
            self.advance()
            if self.text.lower() != "null":
                raise self.error(f'type "{self.source}" needs "null" after "not"')
            self.advance()
        return Field(name, kind)


def _instead(word: str) -> str:
    """Return a hint with the type that other systems call `word`, or with the nearest name."""
    near = difflib.get_close_matches(word, _SPELLINGS, n=1)
    meant = _ELSEWHERE.get(word) or (near[0] if near else "")
    return f'Use "{meant}".' if meant else f"Use one of {', '.join(_KNOWN)}."
