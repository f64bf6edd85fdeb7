"""How keys and documents become the bytes of records: as JSON, or as Avro by a registry.

Writes documents, which are staged as JSON, in Avro by the types of their product.

The types are known, so each is written by a function of its own. A general library looks
for the branch of each union by trying; fastavro wrote 3,800 documents a second where this
writes several times that.

Invariant: a number keeps all its digits; what has no place in Avro is refused, never bent.

The Avro schema of documents and of their keys.

Every field of a document may be null. A record has a name of its own for each place, so that
a schema holds however deep it is.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal as Number
from typing import Any, Protocol

from joinery.clients.schema_registry import RegistryError, SchemaRegistry
from joinery.model.type import STRING, Array, Atomic, DataType, Decimal, Map, Struct
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import SinkError, SinkUnavailableError, StagedBatch

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_avro_schema_ATOMIC: dict[str, Any] = {
    "boolean": "boolean",
    "byte": "int",
    "short": "int",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
    "void": "null",
}


class AvroNameError(ValueError):
    """A field has a name that Avro does not allow; the message is the field's path."""


def record_schema(type_: Struct, name: str, *, filled: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of an object.

    Args:
        type_: Its fields.
        name: Of the record; what Avro does not allow in it becomes `_`.
        filled: Those of its own fields that are never null; those inside always may be.

    Raises:
        AvroNameError: A field cannot be named so in Avro.

    Example:
        >>> from joinery.model.type import INT, Field
        >>> record_schema(Struct((Field("id", INT),)), "key", filled={"id"})
        {'type': 'record', 'name': 'key', 'fields': [{'name': 'id', 'type': 'int'}]}
    """
    fields = []
    for field in type_.fields:
        if not _NAME.fullmatch(field.name):
            raise AvroNameError(field.name)
        try:
            inner = _schema(field.type, f"{name}_{field.name}")
        except AvroNameError as error:
            raise AvroNameError(f"{field.name}.{error}") from None
        fields.append(_field(field.name, inner, nullable=field.name not in filled))
    return {"type": "record", "name": _safe(name), "fields": fields}


def _field(name: str, schema: Any, *, nullable: bool) -> dict[str, Any]:
    if nullable:
        return {"name": name, "type": _avro_schema_or_null(schema), "default": None}
    return {"name": name, "type": schema}


def _avro_schema_or_null(schema: Any) -> Any:
    return schema if schema == "null" else ["null", schema]


def _schema(type_: DataType, name: str) -> Any:
    match type_:
        case Atomic():
            return _avro_schema_ATOMIC[type_.name]
        case Decimal(precision, scale):
            decimal = {"type": "bytes", "logicalType": "decimal"}
            return {**decimal, "precision": precision, "scale": scale}
        case Array(element):
            return {"type": "array", "items": _avro_schema_or_null(_schema(element, name))}
        case Map(key, value) if key == STRING:
            return {"type": "map", "values": _avro_schema_or_null(_schema(value, name))}
        case Map(key, value):
            # As Kafka Connect writes maps whose keys are no texts.
            key_field = {"name": "key", "type": _schema(key, f"{name}_key")}
            value_field = _field("value", _schema(value, f"{name}_value"), nullable=True)
            entry = {"type": "record", "name": _safe(name), "fields": [key_field, value_field]}
            return {"type": "array", "items": entry}
        case Struct():
            return record_schema(type_, name)


def _safe(name: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return safe if _NAME.fullmatch(safe) else f"_{safe}"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = date(1970, 1, 1).toordinal()
_MICRO = timedelta(microseconds=1)
_JSON = json.JSONDecoder(parse_float=Number)
_NULL, _VALUE, _END = 0, 2, 0
_SHORT = 64
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
Write = Callable[[bytearray, Any], None]


class RecordWriter:
    """Writes objects of one type.

    Args:
        type_: Their type.
        name: Of the record.
        filled: Those of its own fields that are never null.

    Attributes:
        schema: Theirs, as a registry takes it.

    Raises:
        AvroNameError: A field cannot be named so in Avro.
    """

    def __init__(self, type_: Struct, name: str, *, filled: Collection[str] = ()) -> None:
        self.schema = record_schema(type_, name, filled=filled)
        self._write = _object(type_, filled)

    def write(self, text: str, head: bytes = b"") -> bytes:
        """Return an object, given as JSON, behind `head`.

        Raises:
            ValueError: It has a value that Avro has no place for.
        """
        out = bytearray(head)
        try:
            self._write(out, _JSON.decode(text))
        except (TypeError, OverflowError, struct.error) as error:
            raise ValueError(str(error)) from error
        return bytes(out)


def _writer(type_: DataType) -> Write:
    """Return what writes a value of a type, which is not null."""
    match type_:
        case Atomic(name):
            return _ATOMIC[name]
        case Decimal(_, scale):
            return lambda out, value: _bytes(out, _unscaled(value, scale))
        case Array(element):
            return _list(_or_null(element))
        case Map(key, value) if key == STRING:
            return _map(_or_null(value))
        case Map(key, value):
            return _entries(key, _or_null(value))
        case Struct():
            return _object(type_)


def _or_null(type_: DataType) -> Write:
    """Return what writes a value, null or not: the union's branch, then the value."""
    if type_ == Atomic("void"):
        return _void
    write = _writer(type_)

    def write_or_null(out: bytearray, value: Any) -> None:
        if value is None:
            out.append(_NULL)
        else:
            out.append(_VALUE)
            write(out, value)

    return write_or_null


def _filled(name: str, type_: DataType) -> Write:
    """Return what writes a value that the schema has no null for."""
    write = _writer(type_)

    def write_filled(out: bytearray, value: Any) -> None:
        if value is None:
            raise ValueError(f'"{name}" is null, which its schema does not allow')
        write(out, value)

    return write_filled


def _object(type_: Struct, filled: Collection[str] = ()) -> Write:
    parts = tuple(
        (each.name, _filled(each.name, each.type) if each.name in filled else _or_null(each.type))
        for each in type_.fields
    )

    def write_object(out: bytearray, value: Any) -> None:
        for name, write in parts:
            write(out, value.get(name))

    return write_object


def _list(write: Write) -> Write:
    def write_list(out: bytearray, value: Any) -> None:
        if value:
            _whole(out, len(value))
            for each in value:
                write(out, each)
        out.append(_END)

    return write_list


def _map(write: Write) -> Write:
    def write_map(out: bytearray, value: Any) -> None:
        if value:
            _whole(out, len(value))
            for name, each in value.items():
                _text(out, name)
                write(out, each)
        out.append(_END)

    return write_map


def _entries(key: DataType, write: Write) -> Write:
    """Return what writes a map as a list of entries; its keys are texts in JSON."""
    write_key = _writer(key)
    texts = ("string", "binary", "date", "timestamp", "timestamp_ntz")
    plain = isinstance(key, Atomic) and key.name in texts

    def write_entries(out: bytearray, value: Any) -> None:
        if value:
            _whole(out, len(value))
            for name, each in value.items():
                write_key(out, name if plain else _JSON.decode(name))
                write(out, each)
        out.append(_END)

    return write_entries


def _whole(out: bytearray, value: int) -> None:
    """Write a number, zigzag, seven bits a byte."""
    if -_SHORT <= value < _SHORT:
        out.append(value << 1 if value >= 0 else ~(value << 1))
        return
    left = value << 1 if value >= 0 else ~(value << 1)
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)


def _bytes(out: bytearray, value: bytes) -> None:
    _whole(out, len(value))
    out += value


def _text(out: bytearray, value: str) -> None:
    _bytes(out, value.encode())


def _void(out: bytearray, value: Any) -> None:
    """Write nothing, which is what a null is."""


def _unscaled(value: Any, scale: int) -> bytes:
    """Return a decimal by its digits: arithmetic would round at the context's precision."""
    sign, digits, exponent = Number(value).as_tuple()
    shift = int(exponent) + scale
    if shift < 0:
        raise ValueError(f"a decimal has more than {scale} decimals")
    number: int = int("".join(map(str, digits))) * 10**shift * (-1 if sign else 1)
    return number.to_bytes((number.bit_length() // 8) + 1, "big", signed=True)


def _days(value: str) -> int:
    return date.fromisoformat(value).toordinal() - _DAY


def _micros(value: str) -> int:
    moment = datetime.fromisoformat(value)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICRO


_ATOMIC: dict[str, Write] = {
    "boolean": lambda out, value: out.append(1 if value else 0),
    **dict.fromkeys(("byte", "short", "int", "long"), _whole),
    "float": lambda out, value: out.extend(_FLOAT.pack(float(value))),
    "double": lambda out, value: out.extend(_DOUBLE.pack(float(value))),
    "string": _text,
    "binary": lambda out, value: _bytes(out, base64.b64decode(value)),
    "date": lambda out, value: _whole(out, _days(value)),
    "timestamp": lambda out, value: _whole(out, _micros(value)),
    "timestamp_ntz": lambda out, value: _whole(out, _micros(value)),
    "void": _void,
}


Part = str | bytes


class Encoding(Protocol):
    """Writes the documents of one product."""

    def prepare(self, batch: StagedBatch) -> None:
        """Learn the types of the documents; called before those of each batch.

        Raises:
            SinkUnavailableError: What is needed for that cannot be reached now.
            SinkError: Documents of these types cannot be written.
        """

    def encode(self, row: StagedRow) -> tuple[Part, Part | None]:
        """Return a document's key and value; None for a tombstone.

        Raises:
            ValueError: It has a value that cannot be written.
        """

    def encode_keys(self, batch: StagedBatch, keys: Iterable[str]) -> dict[bytes, str]:
        """Return root keys by what they are as a record's key.

        Args:
            batch: Names the product and its key's columns.
            keys: As the batch's lines write them.

        Raises:
            SinkUnavailableError, SinkError: As `prepare`.
        """


class JsonEncoding:
    """As they are staged."""

    def prepare(self, batch: StagedBatch) -> None:
        """Need nothing."""

    def encode(self, row: StagedRow) -> tuple[Part, Part | None]:
        """Return both texts."""
        return row.key, row.value

    def encode_keys(self, batch: StagedBatch, keys: Iterable[str]) -> dict[bytes, str]:
        """Return root keys by their bytes."""
        return {each.encode(): each for each in keys}


class AvroEncoding:
    """In a registry's wire format, under the subjects `<topic>-key` and `<topic>-value`."""

    def __init__(self, registry: SchemaRegistry, topic: str) -> None:
        self._registry, self._topic = registry, topic
        self._known: StagedBatch | None = None
        self._key: tuple[RecordWriter, bytes] | None = None
        self._value: tuple[RecordWriter, bytes] | None = None

    def prepare(self, batch: StagedBatch) -> None:
        """Tell the registry both schemas, once for each type."""
        known = self._known
        if known is not None and _types(known) == _types(batch):
            return
        with _told(batch.product):
            value = RecordWriter(batch.value, batch.product)
            self._key = self._key_writer(batch)
            self._value = value, self._head(value, "value")
        self._known = batch

    def encode_keys(self, batch: StagedBatch, keys: Iterable[str]) -> dict[bytes, str]:
        """Return root keys by their bytes, behind the id of their schema."""
        with _told(batch.product):
            writer, head = self._key_writer(batch)
        found: dict[bytes, str] = {}
        for each in keys:
            with suppress(ValueError):  # the topic cannot have it
                found[writer.write(each, head)] = each
        return found

    def _key_writer(self, batch: StagedBatch) -> tuple[RecordWriter, bytes]:
        filled = {each.name for each in batch.key.fields} - batch.nullable_key
        if batch.nullable_key:
            filled |= self._filled_before()
        key = RecordWriter(batch.key, f"{batch.product}_key", filled=filled)
        return key, self._head(key, "key")

    def _filled_before(self) -> frozenset[str]:
        """Return the columns that have no null in keys of the topic up to now.

        They stay so: a key that was written in another way would be another key.
        """
        standing = self._registry.latest(f"{self._topic}-key") or {}
        fields = standing.get("fields", ()) if isinstance(standing, dict) else ()
        return frozenset(each["name"] for each in fields if not isinstance(each["type"], list))

    def _head(self, writer: RecordWriter, part: str) -> bytes:
        number = self._registry.register(f"{self._topic}-{part}", writer.schema)
        return b"\0" + number.to_bytes(self._registry.id_bytes, "big")

    def encode(self, row: StagedRow) -> tuple[Part, Part | None]:
        """Return both, each behind the id of its schema."""
        assert self._key is not None  # `prepare` comes first
        assert self._value is not None
        key, value = self._key, self._value
        told = None if row.value is None else value[0].write(row.value, value[1])
        return key[0].write(row.key, key[1]), told


def _types(batch: StagedBatch) -> tuple[Struct, Struct, frozenset[str]]:
    return batch.key, batch.value, batch.nullable_key


@contextmanager
def _told(product: str) -> Iterator[None]:
    """Tell names that Avro does not allow, and the registry's errors, as those of a sink."""
    try:
        yield
    except AvroNameError as error:
        raise SinkError(
            f'field "{error}" of product "{product}" has a name that Avro does not allow',
            hint="Use letters, digits and _ in names, beginning with a letter.",
        ) from error
    except RegistryError as error:
        kind = SinkUnavailableError if error.passing else SinkError
        raise kind(error.message, detail=error.detail, hint=error.hint) from error
