"""What was erased: files that the run of each query reads, and receipts.

An erasure is a line: the row of the subject, with a mark in place of what is sealed. A query reads
it as it reads its sources, so that it is applied once, in a batch, also after a crash, and in a
rebuild.

Invariant: the key is destroyed before the line can be read, so nothing is sealed after it that
the line would have had to find. No file ever has the name of another, whichever vault numbered
it: a query does not read a name again that it has read.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from joinery.errors import SpecError
from joinery.files import write_whole
from joinery.model.type import PERSONAL, opened
from joinery.place.place import local
from joinery.plan.aggregate import AggregateForm
from joinery.plan.pattern import PatternForm, Rule
from joinery.plan.product import Plan, Product
from joinery.plan.relation import Relation
from joinery.plan.stream import Stream, outputs_of
from joinery.project.product import ProjectSpec
from joinery.vault.keys import Vault, mark_of

_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
_NUMBER = re.compile(r"[+-]?[0-9]+")
_log = logging.getLogger(__name__)


class EraseError(SpecError):
    """A subject cannot be erased as it is asked."""

    code = "ERASE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """That the key of a subject was destroyed.

    Attributes:
        number: Of the erasure, in the vault.
        subject: The subject's name there, which says nothing of a person.
        at: When, ISO 8601 in UTC.
        vault: Where the key was.
        identity: What tells that vault from every other.
        relation: Whose subject it was.
        products: Those whose documents, or remembered events, are sent again where they held any
            of them.
    """

    number: int
    subject: str
    at: str
    vault: str
    identity: str
    relation: str
    products: tuple[str, ...]


def erasures_folder(checkpoint: Path) -> Path:
    """Return where the queries of a project read what was erased; `checkpoint` is the run's."""
    return checkpoint / "_erasures"


def receipts_folder(checkpoint: Path) -> Path:
    """Return where receipts are kept."""
    return checkpoint / "_receipts"


def subject_text(relation: Relation, key: str) -> str:
    """Return the subject that a key names, as the kernel writes it.

    Raises:
        EraseError: The relation has no personal columns, or its key is no such value.
    """
    if relation.personal is None:
        raise EraseError(
            f'relation "{relation.name}" has no personal columns',
            hint="Declare them: personal: {subject: …, fields: […]}.",
        )
    kind = str(opened(relation.type_of(relation.personal.subject)))
    if kind not in _BITS:
        return key
    if _NUMBER.fullmatch(key) is None or not _fits(int(key), _BITS[kind]):
        raise EraseError(
            f'"{relation.personal.subject}" of relation "{relation.name}" is of type {kind}',
            detail=f'"{key}" is not such a number.',
        )
    return str(int(key))


def _fits(number: int, bits: int) -> bool:
    return -(1 << bits - 1) <= number < 1 << bits - 1


def erase(
    spec: ProjectSpec, plan: Plan, vault: Vault, relation: Relation, subject: str
) -> tuple[Receipt, Path]:
    """Destroy the key of a subject, and have what held its values sent again.

    Args:
        spec: The project.
        plan: Its plan, which says what reads the relation.
        vault: Holds the key.
        relation: Whose subject it is.
        subject: As `subject_text` gives it.

    Returns:
        The receipt, and its file.
    """
    root = local(spec.checkpoint, "erasure")
    readers = [each.name for each in outputs_of(plan) if _sends_again(each, relation)]
    name, number = vault.destroy(relation.name, subject)
    row = _marks(relation, name, number) | _known_by(relation, subject, vault)
    # A vault that was replaced or put back from a backup gives its numbers again.
    stem = f"{number:010d}-{secrets.token_hex(8)}"
    _write_line(erasures_folder(root) / relation.name / f"{stem}.jsonl", row)
    receipt = Receipt(
        number=number,
        subject=name.hex(),
        at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        vault=vault.target,
        identity=vault.identity,
        relation=relation.name,
        products=tuple(readers),
    )
    file = receipts_folder(root) / f"{stem}.json"
    write_whole(file, json.dumps(asdict(receipt), indent=1) + "\n", synced=True)
    return receipt, file


def _sends_again(output: Product, relation: Relation) -> bool:
    """Return whether what showed a row is sent again once its subject is erased."""
    match output.form:
        case Stream() as stream:
            return stream.sends_again_for(relation)
        case AggregateForm():
            return False  # Of what it reads nothing is personal.
        case PatternForm(rules=rules):
            return relation in output.relations and _joined_by_index(rules, relation)
        case _:
            return relation in output.relations


def _joined_by_index(rules: Iterable[Rule], relation: Relation) -> bool:
    """Return whether a rule of a pattern is found by what is personal in a relation."""
    personal = relation.personal
    indexes = set() if personal is None else {index for _, index in personal.indexes}
    return any({pair.child, pair.parent} & indexes for rule in rules for pair in rule.on)


def keep_erased(root: Path, vault: Vault) -> None:
    """Destroy the keys again of whom the vault does not know to be erased, as from a backup.

    Args:
        root: The folder of all checkpoints, `run.checkpoint`.
        vault: The one that they were sealed with.
    """
    if count := vault.destroy_again(_receipted(root, vault.identity)):
        _log.warning(
            "the vault, %s, is older than %d of the receipts in %s; their keys are destroyed again",
            vault.target,
            count,
            receipts_folder(root),
        )


def _receipted(root: Path, identity: str) -> Iterator[bytes]:
    """Yield the names of all subjects that receipts tell of, of one vault."""
    for file in receipts_folder(root).glob("*.json"):
        told = json.loads(file.read_bytes())
        if told.get("identity", identity) == identity:
            yield bytes.fromhex(told["subject"])


def _marks(relation: Relation, name: bytes, number: int) -> dict[str, object]:
    """Return the row of a subject with a mark in place of each value."""
    personal = relation.personal
    assert personal is not None  # asked for before
    return {
        each: mark_of(name, number, text=relation.type_of(each) == PERSONAL)
        for each in personal.fields
    }


def _known_by(relation: Relation, subject: str, vault: Vault) -> dict[str, object]:
    """Return the column that finds the rows of a subject, in clear where it is not personal."""
    personal = relation.personal
    assert personal is not None  # asked for before
    column = personal.key_of(personal.subject)
    integer = str(opened(relation.type_of(personal.subject))) in _BITS
    if column != personal.subject:
        return {column: vault.index_of(subject)}
    return {column: int(subject) if integer else subject}


def _write_line(file: Path, row: dict[str, object]) -> None:
    write_whole(file, json.dumps(row, ensure_ascii=False) + "\n", synced=True)
