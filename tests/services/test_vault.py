"""A vault in PostgreSQL: what one process destroys, another sees, in the order of commits."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.services.captured import until

from joinery.dev.service import Service
from joinery.vault.keys import Vault
from joinery.vault.tables import PostgresVault

pytestmark = pytest.mark.services
MASTER = "m" * 44


@pytest.fixture
def schema() -> str:
    return f"vault_{uuid.uuid4().hex[:8]}"


@pytest.fixture
def vault(postgres: Service, schema: str) -> Iterator[Vault]:
    vault = Vault(PostgresVault(postgres.address, schema), MASTER)
    yield vault
    vault.close()


def test_a_key_stays_destroyed_for_whoever_opens_the_vault_later(
    postgres: Service, schema: str, vault: Vault
) -> None:
    store = PostgresVault(postgres.address, schema)
    name, number = vault.destroy("customer", "42")

    again, later = Vault(store, MASTER).destroy("customer", "42")

    assert (name, 1, 2) == (again, number, later)
    assert {name: None} == store.known([name])
    store.close()


def test_erasures_at_once_have_numbers_of_their_own_in_the_order_of_commits(
    postgres: Service, schema: str, vault: Vault
) -> None:
    vault.destroy("customer", "0")  # makes the tables
    seen: list[int] = []

    def destroy(subject: int) -> int:
        one = Vault(PostgresVault(postgres.address, schema), MASTER)
        try:
            return one.destroy("customer", str(subject))[1]
        finally:
            one.close()

    store = PostgresVault(postgres.address, schema)

    def look() -> bool:
        seen.extend(number for number, _ in store.destroyed_after(max(seen, default=0)))
        return len(seen) == 13

    with ThreadPoolExecutor(4) as pool:
        erasing = pool.map(destroy, range(1, 13))
        until(look)
    store.close()

    assert sorted(seen) == seen
    assert [*range(2, 14)] == sorted(erasing)
