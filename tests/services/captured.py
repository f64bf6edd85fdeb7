"""Databases whose logs are captured, one of a test's own; and the wait for what becomes of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

import psycopg
from tests.looking import rest

from joinery.dev.service import Service
from joinery.errors import JoineryError

Connection = psycopg.Connection[tuple[Any, ...]]
_LIMIT_S = 300
_REBUILD = ".joinery/checkpoint/_rebuild/profile"
REBUILD_MOMENTS = (
    f"{_REBUILD}/offsets/0",
    f"{_REBUILD}/commits/0",
    f"{_REBUILD}/joinery-held/*",
    "out/profile",
    f"{_REBUILD}/joinery-swapped",
    ".joinery/checkpoint/profile/commits/*",
)
"""What stands in the folder of a project whose `profile` is built anew, first to last."""


def until(condition: Callable[[], object], limit_s: float = _LIMIT_S) -> None:
    """Wait until a condition holds."""
    begun = time.monotonic()
    deadline = begun + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it takes too long"
        rest(begun, 0.02)
        begun = time.monotonic()


def message_and_hint(error: JoineryError) -> tuple[str, str]:
    return error.message, error.hint


@contextmanager
def new_database(postgres: Service, prefix: str, *statements: str) -> Iterator[str]:
    """Give the URL of a new database after some statements; its slots are dropped at the end."""
    name = f"{prefix}_{uuid4().hex[:8]}"
    with closing(psycopg.connect(postgres.address, autocommit=True)) as server:
        server.execute(f'create database "{name}"'.encode())
        url = postgres.address.rpartition("/")[0] + f"/{name}"
        with closing(psycopg.connect(url, autocommit=True)) as link:
            for each in statements:
                link.execute(each.encode())
    yield url
    # It may have been stopped and started meanwhile.
    with closing(psycopg.connect(postgres.address, autocommit=True)) as server:
        server.execute(
            "select pg_terminate_backend(active_pid) from pg_replication_slots"
            " where database = %s and active",
            (name,),
        )
        slots = "select slot_name from pg_replication_slots where database = %s"
        for (slot,) in server.execute(slots, (name,)).fetchall():
            until(partial(_dropped, server, slot))


def _dropped(server: Connection, slot: str) -> bool:
    try:
        server.execute("select pg_drop_replication_slot(%s)", (slot,))
    except psycopg.errors.ObjectInUse:
        return False
    return True
