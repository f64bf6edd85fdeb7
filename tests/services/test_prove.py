"""What a proof finds in targets that are servers: a value however it is written, or that it may."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import psycopg
import pytest
from opensearchpy import OpenSearch
from tests.services.captured import new_database

import joinery as jn
from joinery.dev.service import Service
from joinery.vault.prove import Proof, prove_erased
from joinery.vault.tables import open_vault

pytestmark = pytest.mark.services
PROJECT = """\
name: shop
sources: {{changes: {{files: {{path: data}}}}}}
vault: {{sqlite: {{path: keys/vault.db}}, master: "not a secret, since this is only a test"}}
relations:
  person:
    key: [id]
    fields: {{id: long, email: string}}
    personal: {{subject: id, fields: [email]}}
products:
  profile: {{root: person, sink: {{{sink}}}}}
run: {{dead_letters: {{files: {{path: letters}}}}}}
"""


def proof(folder: Path, sink: str, value: str) -> Proof:
    (folder / "joinery.yaml").write_text(PROJECT.format(sink=sink))
    project = jn.load(folder / "joinery.yaml")
    vault = open_vault(project.spec)
    try:
        name = vault.name_of("person", "7")
        return prove_erased(project.spec, project.plan, vault, name, value)
    finally:
        vault.close()


@pytest.mark.parametrize("value", ['Ann "Apple" Lee', "back\\slash", "two\nlines", "é", "plain"])
@pytest.mark.parametrize("escaped", [False, True])
def test_a_value_in_a_table_is_found_however_it_is_quoted(
    value: str, escaped: bool, postgres: Service, tmp_path: Path
) -> None:
    table = (
        "create table profile (id bigint primary key, document jsonb, name text, version bigint)"
    )
    with new_database(postgres, "proof", table) as url:
        sink = f"postgres: {{url: '{url}'}}"
        assert () == proof(tmp_path, sink, value).found
        document = json.dumps({"name": value}, ensure_ascii=escaped)
        with psycopg.connect(url) as link:
            link.execute("insert into profile values (1, %s, null, 1)", (document,))
            link.execute("insert into profile values (2, null, %s, 1)", (value,))
            link.execute("insert into profile values (3, null, %s, 1)", (document,))

        found = proof(tmp_path, sink, value)

    assert ('sink postgres of profile: 3 rows of "profile"',) == found.found
    assert () == found.unlooked


def test_an_index_with_documents_that_are_not_known_by_their_keys_is_not_looked_into(
    opensearch: Service, tmp_path: Path
) -> None:
    index = f"proof{uuid.uuid4().hex}"
    sink = f"opensearch: {{url: '{opensearch.address}', index: {index}}}"
    with OpenSearch(opensearch.address, timeout=60) as server:
        server.index(index=index, id="1", body={"id": 1, "email": "bob@example.org"})
        whole = proof(tmp_path, sink, "ann@example.org")
        server.index(index=index, id="sha256:abc", body={"id": 2, "email": "ann@example.org"})
        part = proof(tmp_path, sink, "ann@example.org")

    assert () == whole.unlooked
    assert ("sink opensearch of profile: 1 of its documents are not known by their keys",) == (
        part.unlooked
    )
    assert "sink opensearch of profile" not in part.looked
