"""Which vault a checkpoint was sealed with: another is refused, by a run and by an erasure."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.vault.claim import check_vault, claim_vault
from joinery.vault.keys import Vault, VaultError
from joinery.vault.tables import SqliteVault

MASTER = "a master key of a test, which is no secret"


def test_a_checkpoint_stays_with_the_vault_that_sealed_it(tmp_path: Path) -> None:
    own = Vault(SqliteVault(tmp_path / "own.db"), MASTER)
    again = Vault(SqliteVault(tmp_path / "own.db"), MASTER)
    other = Vault(SqliteVault(tmp_path / "other.db"), MASTER)

    claim_vault(tmp_path / "checkpoint/profile", "profile", own)

    claim_vault(tmp_path / "checkpoint/profile", "profile", again)
    check_vault(tmp_path / "checkpoint", again)
    with pytest.raises(VaultError, match='not the one that "profile" was sealed with'):
        claim_vault(tmp_path / "checkpoint/profile", "profile", other)
    with pytest.raises(VaultError, match="not the one"):
        check_vault(tmp_path / "checkpoint", other)


def test_what_is_noted_tells_no_key(tmp_path: Path) -> None:
    vault = Vault(SqliteVault(tmp_path / "own.db"), MASTER)

    claim_vault(tmp_path / "profile", "profile", vault)

    noted = (tmp_path / "profile/joinery.vault").read_text().strip()
    assert noted == vault.identity
    assert noted not in vault.of_names.hex()
