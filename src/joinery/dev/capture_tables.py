"""Adds tables to those that a local Debezium connector captures.

Invariant: a table that was captured stays so without a gap: the connector goes on with it
where it was, while tables that are new are read whole, once, and then followed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from joinery.dev import connect
from joinery.dev.debezium import capture, captured, snapshot_signal
from joinery.dev.service import Service, ServiceError

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
