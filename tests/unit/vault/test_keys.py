"""Keys of subjects: three states, one master key, and tables that tell nothing of a person."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from joinery.vault.keys import Vault, VaultError, VaultUnavailableError, mark_of, parse_sealed
from joinery.vault.tables import SqliteVault

MASTER = "a master key of a test, which is no secret"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(SqliteVault(tmp_path / "vault.db"), MASTER)


def test_what_is_sealed_opens_with_its_subjects_key_alone(vault: Vault) -> None:
    ann, bob = vault.name_of("person", "1"), vault.name_of("person", "2")
    keys = vault.keys([ann, bob])
    mine, other = keys[ann], keys[bob]
    assert mine is not None
    assert other is not None

    sealed = vault.seal(mine, ann, "ann@example.org")

    parsed = parse_sealed(sealed)
    assert parsed is not None
    assert (ann, "ann@example.org") == (parsed[0], vault.open(mine, *parsed))
    assert vault.open(other, *parsed) is None
    assert sealed == vault.seal(mine, ann, "ann@example.org")


def test_a_key_that_was_destroyed_never_comes_back(vault: Vault, tmp_path: Path) -> None:
    name = vault.name_of("person", "1")
    assert vault.known([name]) == {}
    assert vault.keys([name])[name] is not None
    another = Vault(SqliteVault(tmp_path / "vault.db"), MASTER)
    assert another.keys([name]) == vault.keys([name])

    _, first = another.destroy("person", "1")

    assert vault.keys([name]) == {name: None}  # also where it was held before
    assert vault.known([name]) == {name: None}
    assert another.destroy("person", "1")[1] > first
    assert Vault(SqliteVault(tmp_path / "vault.db"), MASTER).keys([name]) == {name: None}


def test_a_subject_that_never_was_can_be_destroyed(vault: Vault) -> None:
    name, _ = vault.destroy("person", "nobody")

    assert vault.keys([name]) == {name: None}


def test_the_file_tells_no_subject_and_no_key(vault: Vault, tmp_path: Path) -> None:
    name = vault.name_of("person", "ann@example.org")
    key = vault.keys([name])[name]
    vault.close()

    raw = (tmp_path / "vault.db").read_bytes()
    assert key is not None
    assert b"ann@example.org" not in raw
    assert key not in raw


def test_a_destroyed_key_is_overwritten_in_the_file(vault: Vault, tmp_path: Path) -> None:
    store = SqliteVault(tmp_path / "vault.db")
    name = vault.name_of("person", "1")
    vault.keys([name])
    wrapped = store.known([name])[name]
    assert wrapped is not None
    assert wrapped in (tmp_path / "vault.db").read_bytes()

    vault.destroy("person", "1")
    vault.close()

    assert wrapped not in (tmp_path / "vault.db").read_bytes()


def test_another_master_key_is_refused(vault: Vault, tmp_path: Path) -> None:
    vault.close()

    with pytest.raises(VaultError, match="created with another master key"):
        Vault(SqliteVault(tmp_path / "vault.db"), f"{MASTER}, or another")


def test_keys_of_days_are_destroyed_after_their_time(vault: Vault) -> None:
    today = datetime.now(UTC).date()
    kept, old = vault.key_of_day(today), vault.key_of_day(date(2020, 1, 1))

    vault.forget_days(timedelta(days=7))

    assert vault.key_of_day(today) == kept
    assert vault.key_of_day(date(2020, 1, 1)) != old


def test_a_vault_that_is_not_there_may_come_back(tmp_path: Path) -> None:
    (tmp_path / "vault.db").mkdir()

    with pytest.raises(VaultUnavailableError, match="is not available now"):
        Vault(SqliteVault(tmp_path / "vault.db"), MASTER)


def test_keys_that_are_not_remembered_are_asked_for_again(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.vault.keys._KNOWN_KEYS", 2)
    names = [vault.name_of("person", str(each)) for each in range(5)]

    made = vault.keys(names)
    vault.destroy("person", "0")

    assert {**made, names[0]: None} == {each: vault.keys([each])[each] for each in names}
    assert {**made, names[0]: None} == vault.keys(names)


def test_a_mark_opens_to_nothing(vault: Vault) -> None:
    name = vault.name_of("person", "1")
    key = vault.keys([name])[name]
    parsed = parse_sealed(mark_of(name, 17))

    assert key is not None
    assert parsed is not None
    assert vault.open(key, *parsed) is None
    assert parse_sealed("jy1:short:") is None
