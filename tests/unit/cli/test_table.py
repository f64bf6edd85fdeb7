"""What `joinery table add` does with the files of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.cli import table
from joinery.cli.table import Editing

PRODUCTS = """\
products:
  card:
    root: customer
    fields: [id]
    embed:
      orders: {many: order, on: {customer_id: id}, fields: [id]}
    sink: {files: {path: out}}
"""
BASE = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long}}
  order: {key: [id], fields: {id: long, customer_id: long}}
"""


def test_a_relation_is_written_before_what_embeds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_products.yaml").write_text(PRODUCTS)
    (tmp_path / "z_base.yaml").write_text(BASE)
    editing = Editing(tmp_path)
    fields = {"id": "long", "customer_id": "long"}
    embed = {"many": "note", "on": {"customer_id": "id"}, "fields": ["id"]}
    editing.put(("relations",), "note", {"key": ["id"], "fields": fields})
    editing.put(("products", "card", "embed"), "notes", embed)
    written = []
    monkeypatch.setattr(table, "replace_text", lambda file, text: written.append(file.name))

    editing.finish(write=True)

    assert ["z_base.yaml", "a_products.yaml"] == written
