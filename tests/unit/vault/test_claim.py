"""Which vault a checkpoint was sealed with: another is refused, by a run and by an erasure."""

from __future__ import annotations

from pathlib import Path

import pytest

import joinery as jn
from joinery.plan.product import Plan
from joinery.vault.claim import check_vault, claim_vault
from joinery.vault.keys import Vault, VaultError
from joinery.vault.tables import SqliteVault

MASTER = "a master key of a test, which is no secret"
PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: vault.db}, master: "not a secret, since this is only a test"}
relations:
  person: {key: [id], fields: {id: long, email: string}, personal: {subject: id, fields: [email]}}
  page: {key: [id], fields: {id: long}}
products:
  profile: {root: person}
  pages: {root: page}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    return jn.load(tmp_path / "joinery.yaml").plan


def test_a_checkpoint_stays_with_the_vault_that_sealed_it(tmp_path: Path, plan: Plan) -> None:
    own = Vault(SqliteVault(tmp_path / "own.db"), MASTER)
    again = Vault(SqliteVault(tmp_path / "own.db"), MASTER)
    other = Vault(SqliteVault(tmp_path / "other.db"), MASTER)

    claim_vault(tmp_path / "checkpoint/profile", "profile", own)

    claim_vault(tmp_path / "checkpoint/profile", "profile", again)
    check_vault(tmp_path / "checkpoint", plan, again)
    with pytest.raises(VaultError, match='not the one that "profile" was sealed with'):
        claim_vault(tmp_path / "checkpoint/profile", "profile", other)
    with pytest.raises(VaultError, match="not the one"):
        check_vault(tmp_path / "checkpoint", plan, other)


def test_what_queries_left_that_read_nothing_personal_any_more_stops_nobody(
    tmp_path: Path, plan: Plan
) -> None:
    vault = Vault(SqliteVault(tmp_path / "own.db"), MASTER)
    other = Vault(SqliteVault(tmp_path / "other.db"), MASTER)
    for query in ("gone", "pages"):
        claim_vault(tmp_path / f"checkpoint/{query}", query, other)

    check_vault(tmp_path / "checkpoint", plan, vault)

    claim_vault(tmp_path / "checkpoint/profile", "profile", other)
    with pytest.raises(VaultError, match="profile"):
        check_vault(tmp_path / "checkpoint", plan, vault)


def test_what_is_noted_tells_no_key(tmp_path: Path) -> None:
    vault = Vault(SqliteVault(tmp_path / "own.db"), MASTER)

    claim_vault(tmp_path / "profile", "profile", vault)

    noted = (tmp_path / "profile/joinery.vault").read_text().strip()
    assert noted == vault.identity
    assert noted not in vault.of_names.hex()
