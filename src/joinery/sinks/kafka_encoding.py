"""How keys and documents become the bytes of records: as JSON, or as Avro by a registry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from joinery.clients.schema_registry import RegistryError, SchemaRegistry
from joinery.model.type import Struct
from joinery.sinks.avro_schema import AvroNameError
from joinery.sinks.avro_writer import RecordWriter
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import SinkError, SinkUnavailableError, StagedBatch

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
