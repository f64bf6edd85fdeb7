"""What a proof finds in targets that are servers: a value however it is written, or that it may."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import Producer
from opensearchpy import OpenSearch
from tests.services.captured import new_database
from tests.services.log import Log

import joinery as jn
from joinery.dev.service import Service
from joinery.sinks.outbox import POSITION_HEADER
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


OUTBOX = """\
  event:
    key: [id]
    fields:
      {{id: string, aggregatetype: string, aggregateid: string, type: string, payload: string}}
"""


def proof(folder: Path, sink: str, value: str, text: str = PROJECT) -> Proof:
    (folder / "joinery.yaml").write_text(text.format(sink=sink))
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


def test_events_are_looked_into_in_every_topic_that_their_columns_name(
    kafka: Service, tmp_path: Path
) -> None:
    at, log = f"t{uuid.uuid4().hex[:8]}", Log(kafka.address, {})
    sink = f'kafka: {{topic: "{at}.{{aggregatetype}}", bootstrap: "{kafka.address}"}}'
    project = PROJECT.replace("products:\n", OUTBOX + "products:\n").replace(
        "{{root: person", "{{outbox: event"
    )
    for topic, headers in (("a", True), ("b", True), ("others", False)):
        producer = Producer({"bootstrap.servers": kafka.address})
        given: dict[str, str | bytes | None] = {POSITION_HEADER: b"1"} if headers else {}
        producer.produce(f"{at}.{topic}", '{"to": "ann@example.org"}', "1", headers=given)
        producer.produce(f"{at}.{topic}", '{"to": "bob@example.org"}', "2", headers=given)
        assert producer.flush(120) == 0
    log.put(f"{at}0", {"to": "ann@example.org"})

    found = proof(tmp_path, sink, "ann@example.org", project)

    assert () == found.unlooked
    assert (
        f"sink kafka of profile: 1 records of topic {at}.a",
        f"sink kafka of profile: 1 records of topic {at}.b",
    ) == found.found
