"""Which subject a key names: the one that its rows name, or none."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest

import joinery as jn
from joinery.plan.relation import Relation
from joinery.vault.claim import check_vault
from joinery.vault.erasure import EraseError, Receipt, erase, keep_erased, subject_text
from joinery.vault.tables import open_vault

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: vault.db}, master: "not a secret, since this is only a test"}
relations:
  person:
    key: [id]
    fields: {id: KIND, email: string}
    personal: {subject: id, fields: [email]}
products:
  profile: {root: person}
"""


def person(folder: Path, kind: str) -> Relation:
    (folder / "joinery.yaml").write_text(PROJECT.replace("KIND", kind))
    return jn.load(folder / "joinery.yaml").products["profile"].plan.root.relation


@pytest.mark.parametrize(
    ("kind", "key", "subject"),
    [("long", "042", "42"), ("long", "-7", "-7"), ("byte", "127", "127"), ("string", " 4 ", " 4 ")],
)
def test_a_key_names_a_subject_as_rows_do(
    kind: str, key: str, subject: str, tmp_path: Path
) -> None:
    assert subject == subject_text(person(tmp_path, kind), key)


@pytest.mark.parametrize(
    ("kind", "key"),
    [("long", "4_2"), ("long", " 42"), ("long", "٤٢"), ("long", str(1 << 63)), ("byte", "128")],
)
def test_what_is_no_such_number_erases_nobody(kind: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(EraseError, match=f"of type {kind}"):
        subject_text(person(tmp_path, kind), key)


def erased(folder: Path, subject: str) -> Receipt:
    relation = person(folder, "long")
    project = jn.load(folder / "joinery.yaml")
    vault = open_vault(project.spec)
    receipt, file = erase(project.spec, project.plan, vault, relation, subject)
    vault.close()
    assert json.loads(file.read_text())["subject"] == receipt.subject
    return receipt


def files(folder: Path) -> set[str]:
    checkpoint = folder / ".joinery/checkpoint"
    return {each.name for each in checkpoint.rglob("*") if each.is_file()}


def test_an_erasure_never_has_the_file_of_another_whichever_vault_numbered_it(
    tmp_path: Path,
) -> None:
    first = erased(tmp_path, "1")
    before = files(tmp_path)
    shutil.copy(tmp_path / "vault.db", tmp_path / "backup.db")
    second = erased(tmp_path, "2")
    shutil.move(tmp_path / "backup.db", tmp_path / "vault.db")
    put_back = erased(tmp_path, "3")
    (tmp_path / "vault.db").unlink()
    anew = erased(tmp_path, "1")

    assert (first.number, second.number) == (anew.number, put_back.number) == (1, 2)
    assert 2 == len(before)
    assert 8 == len(files(tmp_path))


def test_whoever_has_a_receipt_has_no_key_in_an_older_copy_of_the_vault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    person(tmp_path, "long")
    project = jn.load(tmp_path / "joinery.yaml")
    vault = open_vault(project.spec)
    ann, bob = (vault.name_of("person", each) for each in "12")
    keys = vault.keys([ann, bob])
    vault.close()
    shutil.copy(tmp_path / "vault.db", tmp_path / "backup.db")
    erased(tmp_path, "1")
    erased(tmp_path, "3")  # never was
    shutil.move(tmp_path / "backup.db", tmp_path / "vault.db")
    root = tmp_path / ".joinery/checkpoint"

    vault = open_vault(project.spec)
    assert keys == vault.known([ann, bob])
    check_vault(root, project.plan, vault)
    with caplog.at_level(logging.WARNING):
        keep_erased(root, vault)
        keep_erased(root, vault)

    assert {ann: None, bob: keys[bob]} == vault.known([ann, bob])
    assert {vault.name_of("person", "3"): None} == vault.known([vault.name_of("person", "3")])
    assert ["older than 2 of the receipts"] == [
        each.getMessage()[len(f"the vault, {vault.target}, is ") :][:28] for each in caplog.records
    ]
    vault.close()


def test_receipts_of_a_vault_that_was_lost_say_nothing_of_a_new_one(tmp_path: Path) -> None:
    erased(tmp_path, "1")
    (tmp_path / "vault.db").unlink()
    project = jn.load(tmp_path / "joinery.yaml")
    vault = open_vault(project.spec)

    keep_erased(tmp_path / ".joinery/checkpoint", vault)

    ann = vault.name_of("person", "1")
    assert vault.keys([ann])[ann] is not None
    assert 1 == vault.destroy("person", "2")[1]
    vault.close()
