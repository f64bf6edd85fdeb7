"""The settings with which Debezium captures tables of PostgreSQL for Joinery.

Invariant: a null stays a null on the way (`replace.null.with.default`), and numbers keep all
their digits (`decimal.handling.mode`).

Adds tables to those that a local Debezium connector captures.

Invariant: a table that was captured stays so without a gap: the connector goes on with it
where it was, while tables that are new are read whole, once, and then followed.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from joinery.dev import connect
from joinery.dev.service import Service, ServiceError

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


_WHERE = ("database.hostname", "database.port", "database.dbname")


def capture_tables(
    worker: Service, name: str, *, database: str, tables: Sequence[str]
) -> tuple[str, ...]:
    """Let a connector capture some tables beside those that it captures; return the new ones.

    Args:
        worker: Connect, running.
        name: The connector's; it is made where it is not there.
        database: The URL of the database.
        tables: Each as `schema.table`.

    Raises:
        ServiceError: The connector captures another database, is refused, or fails.
    """
    stood = connect.config_of(worker, name)
    _check_database(name, stood, capture(name, database=database, tables=tables))
    known = captured(stood)
    fresh = tuple(dict.fromkeys(each for each in tables if each not in known))
    if not fresh and connect.state_of(worker, name) == "RUNNING":
        return ()
    every = (*known, *fresh)
    # A file of its own for each set of tables: the task before this one reads its own.
    signals = _signal_file(worker.folder, name, every)
    config = capture(name, database=database, tables=every, signals=signals)
    connect.create(worker, name, config)
    if known and fresh:
        signals.write_text(snapshot_signal(fresh), encoding="utf-8")
    return fresh


def _signal_file(folder: Path, name: str, tables: Sequence[str]) -> Path:
    among = folder / "signals"
    among.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(",".join(tables).encode()).hexdigest()[:12]
    return among / f"{name}-{digest}.jsonl"


def _check_database(name: str, stood: Mapping[str, str], config: Mapping[str, str]) -> None:
    if stood and any(stood.get(each) != config[each] for each in _WHERE):
        host, port, database = (stood.get(each, "") for each in _WHERE)
        raise ServiceError(
            f'connector "{name}" captures another database: {host}:{port}/{database}',
            hint="Choose another name for the connector.",
        )
