"""The JSON Schema of a project file completes what the reader takes."""

from __future__ import annotations

from joinery.project import grammar
from joinery.project.kinds import LOOKUP_STORES
from joinery.project.node import EMBED
from joinery.project.part import names_of
from joinery.project.relation import RelationSpec
from joinery.project.run import RunSpec
from joinery.project.schema import schema, schema_text
from joinery.project.step import LookupSpec
from joinery.project.stream import StreamSpec


def test_every_reference_of_the_schema_is_defined() -> None:
    text = schema_text()

    referred = {part.split('"')[0] for part in text.split("#/$defs/")[1:]}

    assert referred == set(schema()["$defs"]) & referred


def test_the_schema_completes_every_key_that_the_reader_knows() -> None:
    defined = schema()["$defs"]

    assert set(names_of(RelationSpec)) == set(defined["relation"]["properties"])
    assert set(EMBED) == set(defined["embed"]["properties"])
    assert set(grammar.PRODUCT) == set(defined["product"]["properties"])
    assert set(names_of(RunSpec)) == set(defined["run"]["properties"])
    assert set(grammar.PROJECT) == set(schema()["properties"])
    assert set(names_of(StreamSpec)) == set(defined["stream"]["properties"])
    assert set(names_of(LookupSpec)) == set(defined["step"]["anyOf"][0]["properties"])
    assert set(LOOKUP_STORES.built_in) == set(defined["store"]["properties"])
