"""The settings with which Debezium captures tables of PostgreSQL for Joinery.

Invariant: a null stays a null on the way (`replace.null.with.default`), and numbers keep all
their digits (`decimal.handling.mode`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote, urlsplit

_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


def capture(
    name: str, *, database: str, tables: Sequence[str], settings: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the settings of a connector that captures some tables.

    Args:
        name: Names the connector; its topics are `<name>.<schema>.<table>`, its slot
            and its publication `<name>`.
        database: The URL of the database.
        tables: Each as `schema.table`.
        settings: The connector's settings on top of these.
    """
    url = urlsplit(database)
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": url.hostname or "localhost",
        "database.port": str(url.port or 5432),
        "database.user": unquote(url.username or ""),
        "database.password": unquote(url.password or ""),
        "database.dbname": url.path.lstrip("/"),
        "topic.prefix": name,
        "table.include.list": ",".join(tables),
        "plugin.name": "pgoutput",
        "slot.name": name,
        "publication.name": name,
        "publication.autocreate.mode": "filtered",
        "snapshot.mode": "initial",
        "decimal.handling.mode": "string",
        "poll.interval.ms": "100",
        **_json("key"),
        **_json("value"),
        **(settings or {}),
    }


def _json(side: str) -> dict[str, str]:
    return {
        f"{side}.converter": _CONVERTER,
        f"{side}.converter.schemas.enable": "false",
        f"{side}.converter.replace.null.with.default": "false",
    }
