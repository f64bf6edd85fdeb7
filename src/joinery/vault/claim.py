"""Which vault the state of a query was sealed with: noted beside it, and checked before it is used.

Invariant: nothing is read, sealed or erased with a vault that does not have the keys of the state.
That it lacks no erasure is seen to by `erasure.keep_erased`.
"""

from __future__ import annotations

from pathlib import Path

from joinery.files import write_whole
from joinery.plan.product import Plan
from joinery.plan.stream import outputs_of
from joinery.vault.keys import Vault, VaultError

_FILE = "joinery.vault"
_HINT = (
    "Put the former vault back, from a backup if needed: everyone with a receipt is erased in it"
    " again."
)


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


def is_of_another(checkpoint: Path, vault: Vault) -> bool:
    """Return whether the checkpoint of a query was sealed with another vault."""
    file = checkpoint / _FILE
    return file.exists() and _claimed_by(file) != vault.identity


def check_vault(root: Path, plan: Plan, vault: Vault) -> None:
    """Refuse a vault that a query's state was not sealed with.

    Args:
        root: The folder of all checkpoints, `run.checkpoint`.
        plan: That of the project. Queries that it has no more, or that read nothing personal any
            more, may have been sealed with any vault.
        vault: That of the project.

    Raises:
        VaultError: It is another.
    """
    for query in sorted(_personal_queries(plan)):
        if (file := root / query / _FILE).exists():
            _check(file, query, vault)


def _personal_queries(plan: Plan) -> set[str]:
    return {
        each.group or each.name
        for each in outputs_of(plan)
        if any(relation.personal is not None for relation in each.relations)
    }


def _claimed_by(file: Path) -> str:
    return file.read_text(encoding="utf-8").strip()


def _check(file: Path, query: str, vault: Vault) -> None:
    if _claimed_by(file) != vault.identity:
        raise VaultError(
            f'the vault, {vault.target}, is not the one that "{query}" was sealed with',
            detail="It cannot open what is kept, and does not know who was erased.",
            hint=f"{_HINT} Without it: joinery run --rebuild, then repeat the erasures.",
        )
