"""What `joinery status` knows of a project without its plan."""

from __future__ import annotations

from pathlib import Path

from joinery.observe.outline import Outline
from joinery.project.load import load_spec

PROJECT = """\
name: shop
sources:
  db: {postgres: {url: "postgresql://127.0.0.1/shop"}}
  crm: {mysql: {url: "mysql://127.0.0.1/crm"}}
  log: {files: {path: log}}
defaults: {format: json}
relations:
  customer: {source: db, key: [id], fields: {id: long}}
  purchase: {source: db, topic: sales.purchase, key: [id], fields: {id: long}}
  lead: {source: crm, key: [id], fields: {id: long}}
  click: {source: log, key: [id], fields: {id: long}}
products:
  person: {root: customer, sink: {files: {path: out}}}
"""


def test_dead_letters_of_a_captured_table_are_known_by_its_whole_name(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT)

    outline = Outline.of(load_spec(file))

    assert {
        "customer": "public.customer",
        "purchase": "sales.purchase",
        "lead": "crm.lead",
        "click": "click",
    } == outline.topics
    names = outline.dead_letter_names("person", ["customer"])
    assert {"person", "public.customer"} == names
