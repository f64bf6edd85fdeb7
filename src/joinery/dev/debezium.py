"""The settings with which Debezium captures tables of PostgreSQL for Joinery.

Invariant: a null stays a null on the way (`replace.null.with.default`), and numbers keep all
their digits (`decimal.handling.mode`).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


def capture(
    name: str,
    *,
    database: str,
    tables: Sequence[str],
    signals: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the settings of a connector that captures some tables.

    Args:
        name: Names the connector; its topics are `<name>.<schema>.<table>`, its slot
            and its publication `<name>`.
        database: The URL of the database.
        tables: Each as `schema.table`.
        signals: A file from which the connector takes signals, such as `snapshot_signal` gives.
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
        **(_signals(signals) if signals else {}),
        **(settings or {}),
    }


def captured(config: Mapping[str, str]) -> tuple[str, ...]:
    """Return the tables that a connector with such settings captures."""
    return tuple(each for each in config.get("table.include.list", "").split(",") if each)


def snapshot_signal(tables: Sequence[str]) -> str:
    """Return the line that makes a running connector read some of its tables whole, once.

    A connector reads tables whole when it first starts; one that is added later, it only
    follows from then on. It stops following its other tables while it reads, and goes on with
    them where it was.
    """
    data = {"type": "blocking", "data-collections": [*tables]}
    signal = {"id": uuid.uuid4().hex, "type": "execute-snapshot", "data": data}
    return f"{json.dumps(signal)}\n"


def _signals(file: Path) -> dict[str, str]:
    return {
        "signal.enabled.channels": "file",
        "signal.file": str(file),
        "signal.poll.interval.ms": "500",
    }


def _json(side: str) -> dict[str, str]:
    return {
        f"{side}.converter": _CONVERTER,
        f"{side}.converter.schemas.enable": "false",
        f"{side}.converter.replace.null.with.default": "false",
    }
