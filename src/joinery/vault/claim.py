"""Which vault the state of a query was sealed with: noted beside it, and checked before it is used.

Invariant: nothing is read, sealed or erased with a vault that does not have the keys of the state.
"""

from __future__ import annotations

from pathlib import Path

from joinery.files import write_whole
from joinery.vault.keys import Vault, VaultError

_FILE = "joinery.vault"
_HINT = "Give the vault of before, from a backup if need be."


def claim_vault(checkpoint: Path, query: str, vault: Vault) -> None:
    """Let a vault be used for the checkpoint of a query, which is its own from then on.

    Raises:
        VaultError: The state there was sealed with another vault.
    """
    file = checkpoint / _FILE
    if file.exists():
        _check(file, query, vault)
    else:
        write_whole(file, vault.identity + "\n", synced=True)


def check_vault(root: Path, vault: Vault) -> None:
    """Refuse a vault that a query's state was not sealed with.

    Args:
        root: The folder of all checkpoints, `run.checkpoint`.
        vault: That of the project.

    Raises:
        VaultError: It is another.
    """
    for file in sorted(root.glob(f"*/{_FILE}")):
        _check(file, file.parent.name, vault)


def _check(file: Path, query: str, vault: Vault) -> None:
    if file.read_text(encoding="utf-8").strip() != vault.identity:
        raise VaultError(
            f'the vault, {vault.target}, is not the one that "{query}" was sealed with',
            detail="It cannot open what is kept, and does not know who was erased.",
            hint=f"{_HINT} Without it: joinery run --rebuild, then erase again who was erased.",
        )
