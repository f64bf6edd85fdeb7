"""A project of people whose rows come from the log of a database, under keys in a vault."""

from __future__ import annotations

PROJECT = """\
name: shop
sources: {{db: {{{kind}: {{url: "{url}"}}}}}}
vault: {{sqlite: {{path: keys/vault.db}}, master: "not a secret, since this is only a test"}}
relations:
  person:
    key: [id]
    fields: {{id: long, email: string, height: int}}
    personal: {{subject: id, fields: [email, height]}}
  town: {{key: [id], fields: {{id: long, name: string}}}}
products:
  profile:
    root: person
    embed: {{town: {{one: town, on: [id], fields: [name]}}}}
    sink: {{sqlite: {{path: clear.db, reveal: true}}}}
"""
"""Of a `kind` of database at a `url`, with the tables `person` and `town`."""
