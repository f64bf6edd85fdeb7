"""`joinery table add` from a real schema registry, and from a sample of a real topic."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from tests.services.log import Log
from typer.testing import CliRunner

from joinery.cli.commands import app
from joinery.dev.service import Service
from joinery.project.load import load_spec
from joinery.project.relation import RelationSpec

pytestmark = pytest.mark.services

PROJECT = """\
sources: {{changes: {{kafka: {{bootstrap: "{kafka}", registry: "{registry}"}}}}}}
relations:
  customer: {{key: [id], fields: {{id: long}}}}
products:
  profile: {{root: customer, sink: {{console: {{}}}}}}
"""
VALUE = json.dumps(
    {
        "type": "record",
        "name": "review",
        "fields": [
            {"name": "number", "type": "long"},
            {"name": "stars", "type": ["null", "int"]},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        ],
    }
)
KEY = json.dumps({"type": "record", "name": "key", "fields": [{"name": "number", "type": "long"}]})


@dataclass(frozen=True, slots=True)
class Topic:
    """A project, and a topic of its broker."""

    project: Path
    log: Log
    registry: str
    name: str

    def put_avro(self) -> None:
        """Append a message in Avro, which tells its schemas to the registry."""
        client = SchemaRegistryClient({"url": self.registry})
        key = AvroSerializer(client, KEY)({"number": 1}, self.context(MessageField.KEY))
        row = {"number": 1, "stars": 5, "day": 20455}
        value = AvroSerializer(client, VALUE)(row, self.context(MessageField.VALUE))
        self.log.put(self.name, value, key=key)

    def context(self, part: MessageField) -> SerializationContext:
        """Return what a serializer wants to know."""
        return SerializationContext(self.name, part)

    def add(self, *arguments: str) -> tuple[int, str]:
        """Run the command; return its exit code and what it said."""
        done = CliRunner().invoke(app, ["table", "add", *arguments, "--file", str(self.project)])
        return done.exit_code, done.stderr

    def relation(self, name: str) -> RelationSpec:
        """Return a relation of the project as it stands."""
        return next(each for each in load_spec(self.project).relations if each.name == name)


@pytest.fixture
def topic(kafka: Service, registry: Service, tmp_path: Path) -> Topic:
    """A topic of a name of its own, not there yet."""
    file = tmp_path / "joinery.yaml"
    text = PROJECT.format(kafka=kafka.address, registry=registry.address)
    file.write_text(text, encoding="utf-8")
    name = f"t{uuid.uuid4().hex[:8]}.public.review"
    return Topic(file, Log(kafka.address, {}), registry.address, name)


FIELDS = (("number", "long"), ("stars", "int"), ("day", "date"))


@pytest.mark.parametrize("where", ["registry:{registry}#{name}-value", "registry:#{name}"])
def test_a_subject_becomes_a_relation(topic: Topic, where: str) -> None:
    topic.put_avro()

    assert topic.add(where.format(registry=topic.registry, name=topic.name)) == (0, "")

    made = topic.relation("review")
    assert (made.key, made.fields) == (("number",), FIELDS)
    assert (made.topic, made.format) == (topic.name, "avro")


def test_a_topic_in_avro_becomes_a_relation(topic: Topic) -> None:
    topic.put_avro()

    code, told = topic.add(f"topic:{topic.name}", "--key", "number")

    assert (code, told) == (0, "")
    assert topic.relation("review").fields == FIELDS


def test_a_topic_in_json_becomes_a_relation(topic: Topic) -> None:
    event = {"op": "c", "after": {"number": 1, "text": "fine", "at": "2026-01-02T03:04:05Z"}}
    topic.log.put(topic.name, event, key={"number": 1})
    topic.log.put(topic.name, {"op": "u", "after": {"number": 2, "text": None, "stars": 4.5}})
    topic.log.put(topic.name, None, key={"number": 2})

    assert topic.add(f"topic:{topic.name}", "--name", "review2") == (0, "")

    made = topic.relation("review2")
    assert (made.key, made.format) == (("number",), "debezium-json")
    assert made.fields == (
        ("number", "long"),
        ("text", "string"),
        ("at", "timestamp"),
        ("stars", "double"),
    )


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("registry:#nothing", 'the schema registry has no subject "nothing-value"'),
        ("registry:http://127.0.0.1:1#x", "could not reach the schema registry"),
        ("topic:nothing", 'topic "nothing" has no messages to learn from'),
        ("oracle://h/d", "tables cannot be read from there"),
        ("mysql://h/d", "no table is named"),
        ("postgresql://h/d", "no table is named"),
    ],
)
def test_what_tells_nothing_is_one_clear_error(topic: Topic, where: str, told: str) -> None:
    before = topic.project.read_bytes()

    code, said = topic.add(where)

    assert code != 0
    assert told in said
    assert before == topic.project.read_bytes()


def test_a_topic_without_messages_tells_nothing(topic: Topic) -> None:
    topic.log.create(topic.name)

    _, said = topic.add(f"topic:{topic.name}")

    assert "has no messages to learn from" in said
