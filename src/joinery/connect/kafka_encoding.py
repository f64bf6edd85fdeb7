"""How keys and documents become the bytes of records: as JSON, or as Avro by a registry."""

from __future__ import annotations

from typing import Protocol

from joinery.connect.avro_record import RecordWriter
from joinery.connect.avro_schema import AvroNameError
from joinery.connect.line import StagedRow
from joinery.connect.protocol import SinkError, SinkUnavailableError, StagedBatch
from joinery.connect.schema_registry import RegistryError, SchemaRegistry

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


class JsonEncoding:
    """As they are staged."""

    def prepare(self, batch: StagedBatch) -> None:
        """Need nothing."""

    def encode(self, row: StagedRow) -> tuple[Part, Part | None]:
        """Return both texts."""
        return row.key, row.value


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
        if known is not None and (known.key, known.value) == (batch.key, batch.value):
            return
        try:
            key = RecordWriter(batch.key, f"{batch.product}_key", nullable=False)
            value = RecordWriter(batch.value, batch.product)
            self._key = key, self._head(key, "key")
            self._value = value, self._head(value, "value")
        except AvroNameError as error:
            raise SinkError(
                f'field "{error}" of product "{batch.product}" has no name that Avro allows',
                hint="Use letters, digits and _ in names, a letter first.",
            ) from error
        except RegistryError as error:
            kind = SinkUnavailableError if error.passing else SinkError
            raise kind(error.message, detail=error.detail, hint=error.hint) from error
        self._known = batch

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
