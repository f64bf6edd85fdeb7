"""The door of a vault: who is let in, what it answers, and that it waits for its vault."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest

from joinery.model.progress import Waiting
from joinery.retry import Patience
from joinery.vault.door import SILENT, VaultDoor, check_one_machine, waiting_for
from joinery.vault.keys import Vault, VaultError, VaultUnavailableError
from joinery.vault.tables import SqliteVault

MASTER = "a master key of a test, which is no secret"
GREETING = 32 + 32 + 2 + 10 + 64
LIMIT_S = 60


class Failing(SqliteVault):
    """A vault whose tables are away for some requests."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.away = 0

    def keys(self, made: Mapping[bytes, bytes]) -> Mapping[bytes, bytes | None]:
        if self.away:
            self.away -= 1
            raise VaultUnavailableError("the vault is not there now")
        return super().keys(made)


@pytest.fixture
def store(tmp_path: Path) -> Failing:
    return Failing(tmp_path / "vault.db")


@pytest.fixture
def waits() -> list[Waiting | None]:
    return []


@pytest.fixture
def door(store: Failing, waits: list[Waiting | None]) -> Iterator[VaultDoor]:
    door = VaultDoor(
        Vault(store, MASTER),
        retention=timedelta(days=7),
        tell=waits.append,
        patience=Patience(first_s=0.01, longest_s=0.01, rest_s=0.01),
    )
    yield door
    door.close()


def read(link: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count and (more := link.recv(count - len(found))):
        found += more
    return found


def opened(door: VaultDoor, token: str) -> socket.socket:
    link = socket.create_connection(("127.0.0.1", door.address.port), timeout=LIMIT_S)
    link.sendall(struct.pack(">H", len(token)) + token.encode())
    return link


def test_a_task_gets_the_keys_that_it_asks_for(door: VaultDoor, store: Failing) -> None:
    vault = Vault(store, MASTER)
    ann, bob = vault.name_of("person", "1"), vault.name_of("person", "2")
    vault.destroy("person", "2")
    with opened(door, door.address.token) as link:
        greeting = read(link, GREETING)
        link.sendall(struct.pack(">i", 2) + ann + bob)
        answer = read(link, 1 + 64 + 1)

    key = vault.keys([ann])[ann]
    assert greeting[:64] == vault.of_names + vault.of_indexes
    assert key is not None
    assert answer == b"\x01" + key + b"\x00"


def test_a_task_gets_the_key_of_lines_while_it_is_there(door: VaultDoor, store: Failing) -> None:
    vault = Vault(store, MASTER)
    made = vault.key_of_lines("slot 2026-11-26")
    with opened(door, door.address.token) as link:
        read(link, GREETING)
        for name in ("slot 2026-11-26", "slot 2026-11-25"):
            link.sendall(struct.pack(">iH", -1, len(name)) + name.encode())
        answer = read(link, 1 + 32 + 1)
    vault.forget_lines("other", date(2026, 12, 1))
    kept = vault.key_of_known_lines("slot 2026-11-26")
    vault.forget_lines("slot", date(2026, 11, 27))

    assert answer == b"\x01" + made + b"\x00"
    assert kept == made
    assert vault.key_of_known_lines("slot 2026-11-26") is None


def test_who_does_not_know_the_token_is_told_nothing(door: VaultDoor) -> None:
    with opened(door, "another token") as link:
        assert read(link, 1) == b""
    assert door.address.token not in repr(door.address)


def test_tasks_on_other_machines_are_refused() -> None:
    check_one_machine("local[2]")

    with pytest.raises(VaultError, match="on one machine"):
        check_one_machine("spark://host:7077")


def test_a_task_waits_while_the_vault_is_away(
    door: VaultDoor, store: Failing, waits: list[Waiting | None]
) -> None:
    with opened(door, door.address.token) as link:
        read(link, GREETING)
        store.away = 3
        link.sendall(struct.pack(">i", 1) + bytes(16))
        answer = read(link, 65)

    assert answer[:1] == b"\x01"
    assert waits[-1] is None
    assert any(each is not None for each in waits)


def test_a_vault_that_is_not_there_at_the_start_is_waited_for(
    tmp_path: Path, waits: list[Waiting | None]
) -> None:
    folder = tmp_path / "keys"
    folder.write_text("no folder yet")
    path = folder / "vault.db"

    def told(waiting: Waiting | None) -> None:
        waits.append(waiting)
        if folder.is_file():
            folder.unlink()  # it comes to be while it is waited for

    patience = Patience(first_s=0.01, longest_s=0.01, rest_s=0.01)
    waiting = waiting_for(f"sqlite {path}", ended=lambda: False, tell=told, patience=patience)
    vault = waiting.until_done(lambda: Vault(SqliteVault(path), MASTER), SILENT)

    assert vault.keys([bytes(16)])
    assert waits[0] is not None
    assert waits[-1] is None
