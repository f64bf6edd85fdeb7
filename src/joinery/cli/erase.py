"""`joinery erase`: a person's values, made unreadable for good; and what can still be read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from joinery.cli.ending import DONE, FOUND
from joinery.delivery.action_log import ActionLog
from joinery.model.type import is_personal
from joinery.place.place import local
from joinery.plan.build import build_plan
from joinery.plan.product import Plan
from joinery.plan.relation import Relation
from joinery.plan.stream import outputs_of
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.vault.claim import check_vault
from joinery.vault.erasure import EraseError, Receipt, erase, keep_erased, subject_text
from joinery.vault.prove import Proof, prove_erased
from joinery.vault.tables import open_vault


def run_erase(file: Path, relation: str, key: str, *, prove: bool = False, value: str = "") -> int:
    """Erase the subject that a key names, or look for what can still be read of it.

    Returns:
        0; 3 where something can still be read, or could not be looked into.

    Raises:
        EraseError: The relation has no personal columns, or the arguments do not fit.
        VaultError: The vault cannot be used, or is not that of the checkpoints.
    """
    if prove != bool(value):
        raise EraseError("--prove needs --value TEXT, and --value needs --prove")
    spec = load_spec(file)
    plan = build_plan(spec)
    read = _relation(spec, plan, relation)
    subject = subject_text(read, key)
    vault = open_vault(spec)
    try:
        root = local(spec.checkpoint, "erasure")
        check_vault(root, plan, vault)
        name = vault.name_of(relation, subject)
        if prove:
            return _tell_proof(prove_erased(spec, plan, vault, name, value))
        keep_erased(root, vault)
        known = vault.known([name])
        receipt, written = erase(spec, plan, vault, read, subject)
        # Whose values they were is in the receipt alone, under the name of the destroyed key.
        ActionLog(root).note("erase", (relation,), f"receipt {written.name}")
    finally:
        vault.close()
    sys.stdout.write(f"{relation} {key}: {_destroyed(known, name, receipt)}\n")
    for line in _told(plan, read, receipt) if known else ():
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"receipt: {os.path.relpath(written)}\n")
    return DONE


def _destroyed(known: Mapping[bytes, bytes | None], name: bytes, receipt: Receipt) -> str:
    """Return what became of the key: a mistyped subject does not look like an erased one."""
    if name not in known:
        return (
            f"had no key, since none of its values has been read; erased at {receipt.at}"
            " all the same, for rows that come. Is this the right key?"
        )
    if known[name] is None:
        return f"key had been destroyed before; erased again at {receipt.at}"
    return f"key destroyed at {receipt.at}"


def _told(plan: Plan, relation: Relation, receipt: Receipt) -> Iterator[str]:
    """Yield what becomes of what was sent with the values, each product and stream once."""
    streams = [each for each in plan.streams if relation in each.relations]
    again = [each.name for each in streams if each.sends_again_for(relation)]
    products = [each for each in receipt.products if each not in again]
    kept = [each.name for each in streams if each.name not in again and is_personal(each.output)]
    for told, names in (
        ("documents that held its values are sent again with the next batch of", products),
        ("events that a lookup still remembers are sent again by", again),
        ("streams no longer send its values, and what was sent stays as it is", kept),
    ):
        if names:
            yield f"{told}: {', '.join(names)}"


def _relation(spec: ProjectSpec, plan: Plan, name: str) -> Relation:
    read = {each.name: each for one in outputs_of(plan) for each in one.relations}
    if name in read:
        return read[name]
    known = ", ".join(each.name for each in spec.changelogs)
    raise EraseError(f'no product reads a relation "{name}"', hint=f"The project has {known}.")


def _tell_proof(proof: Proof) -> int:
    for each in proof.found:
        sys.stdout.write(f"readable: {each}\n")
    for each in proof.unlooked:
        sys.stdout.write(f"not looked into: {each}\n")
    for each in proof.sources:
        sys.stdout.write(f"the source's own log, which does not count: {each}\n")
    sys.stdout.write(f"looked into: {', '.join(proof.looked)}\n")
    if proof.found or proof.unlooked:
        return FOUND
    sys.stdout.write("nothing of it can be read\n")
    return DONE
