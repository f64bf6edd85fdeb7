"""Which subject a key names: the one that its rows name, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

import joinery as jn
from joinery.plan.nodes import Relation
from joinery.vault.erasure import EraseError, subject_text

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
