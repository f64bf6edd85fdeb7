"""Lines that are put back into a spool are sealed as its capture seals them."""

from __future__ import annotations

import base64
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from joinery.dead_letters.dead_letter import DeadLetter
from joinery.dead_letters.queue import _into_spool
from joinery.project.load import load_spec
from joinery.vault.lines import sealer_of
from joinery.vault.tables import open_vault

PROJECT = """\
name: shop
sources: {db: {postgres: {url: "postgresql://nobody@localhost/none"}}}
vault: {sqlite: {path: vault.db}, master: "not a secret, since this is only a test"}
relations:
  person:
    key: [id]
    fields: {id: long, email: string}
    personal: {subject: id, fields: [email]}
  town: {key: [id], fields: {id: long, name: string}}
products:
  profile: {root: person, embed: {town: {one: town, on: [id]}}}
"""


def letter(topic: str, value: str) -> DeadLetter:
    facts = {"source": "db", "topic": topic, "file": "1.jsonl", "line": 3, "key": None}
    return DeadLetter("id", {**facts, "value": value})


def test_a_value_given_for_a_record_stands_in_no_file(tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    spec = load_spec(tmp_path / "joinery.yaml")
    given = [letter("public.person", '{"email":"ann"}'), letter("public.town", '{"name":"york"}')]

    _into_spool(spec, spec.sources[0], given)

    texts = {each.parent.name: each.read_text() for each in tmp_path.rglob("*.replay.jsonl")}
    assert texts["public.town"] == '3\t{"name":"york"}\n'
    assert texts["public.person"].startswith("3\tjyl1:")
    assert "ann" not in texts["public.person"]


def test_a_line_opens_with_its_key_alone(tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    vault = open_vault(load_spec(tmp_path / "joinery.yaml"))
    sealed = sealer_of(vault, "slot 2026-01-05")

    _, label, body = sealed(b'{"email":"ann"}').split(b":")

    raw = base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4))
    key = vault.key_of_known_lines("slot 2026-01-05")
    assert key is not None
    assert AESGCM(key).decrypt(raw[:12], raw[12:], label) == b'{"email":"ann"}'
    assert sealed(sealed(b"x")).count(b"jyl1:") == 1
