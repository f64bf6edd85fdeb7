"""Where an app reads and where it keeps, from the short texts that name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from joinery.errors import SpecError
from joinery.spec.kafka import without_port

_KAFKA = "kafka://"
_POSTGRES = ("postgres://", "postgresql://")


def source_data(source: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a source as a project file declares it.

    Args:
        source: `kafka://host:9092`, a folder, a kind with its options, or None for the
            folder `data`.

    Raises:
        SpecError: It is a URL of another kind, or of Kafka without a port.

    Example:
        >>> source_data("kafka://localhost:9092"), source_data(None)
        ({'kafka': {'bootstrap': 'localhost:9092'}}, {'files': {'path': 'data'}})
    """
    if isinstance(source, Mapping):
        return dict(source)
    if source is not None and source.startswith(_KAFKA):
        bootstrap = source.removeprefix(_KAFKA).rstrip("/")
        if (host := without_port(bootstrap)) is not None:
            raise SpecError(
                f'the source "{source}" needs a port behind each host',
                code="SPEC_VALUE",
                hint=f'Write "{_KAFKA}{host or "host"}:9092".',
            )
        return {"kafka": {"bootstrap": bootstrap}}
    _refuse_url(source, "source", 'Write "kafka://host:9092", or the path of a folder.')
    return {"files": {"path": source or "data"}}


@dataclass(frozen=True, slots=True)
class Database:
    """The database of an app: a URL of PostgreSQL, else a file of SQLite.

    Raises:
        SpecError: It is a URL of another kind.
    """

    place: str

    def __post_init__(self) -> None:
        if self.kind == "sqlite":
            hint = 'Write "postgresql://user@host/database", or the path of a file of SQLite.'
            _refuse_url(self.place, "database", hint)

    @property
    def kind(self) -> str:
        """The kind of sink and of store."""
        return "postgres" if self.place.startswith(_POSTGRES) else "sqlite"

    @property
    def sink(self) -> dict[str, Any]:
        """The sink that keeps tables in it, each in its declared columns."""
        if self.kind == "postgres":
            return {"postgres": {"url": self.place, "mode": "columns"}}
        return {"sqlite": {"path": self.place, "mode": "columns"}}

    def store(self, table: str) -> dict[str, Any]:
        """Return the store that a lookup of `table` asks."""
        where = "url" if self.kind == "postgres" else "path"
        return {self.kind: {where: self.place, "table": table}}


def _refuse_url(text: str | None, what: str, hint: str) -> None:
    """Refuse a URL where only a path is left, so that none becomes the name of a folder."""
    scheme, mark, _ = (text or "").partition("://")
    if mark:
        raise SpecError(f'"{what}" cannot be a URL of {scheme}', code="SPEC_VALUE", hint=hint)
