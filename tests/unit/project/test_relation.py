"""A relation: what its keys hold, and every problem with them at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.errors import ProjectErrors, SpecError
from joinery.project.declare import relation_of
from joinery.project.load import dump_spec, load_spec
from joinery.project.relation import RelationSpec, relation_data
from joinery.project.stream import ClocksSpec

HEAD = "products: {}\nrelations:\n"
WRONG = """\
  user:
    topic: 7
    source: []
    format: xml
    key: []
    fields: {id: lng, __op: long}
    derive: {a/b: id}
    position: {}
    time_unit: seconds
    images: none
    unique: id
    where: []
    append: 1
    time: [at]
    watermark: {delay: soon}
    personal: {subject: id}
    filter: id > 0
"""


def load(folder: Path, text: str) -> RelationSpec:
    file = folder / "joinery.yaml"
    file.write_text(HEAD + text, encoding="utf-8")
    return load_spec(file).relations[0]


def problems(folder: Path, text: str) -> list[SpecError]:
    with pytest.raises(ProjectErrors) as caught:
        load(folder, text)
    return [each for each in caught.value.problems if isinstance(each, SpecError)]


def placed(found: list[SpecError]) -> list[str]:
    return [
        f"{each.location.line}:{each.location.column} {each.message}"
        for each in found
        if each.location
    ]


def test_every_problem_with_a_key_is_told_at_its_place(tmp_path: Path) -> None:
    assert [
        '4:12 "topic" of relation "user" needs a text, not "7"',
        '5:13 "source" of relation "user" needs a text, not a list',
        '6:13 "format" of relation "user" cannot be "xml"',
        '7:10 "key" of relation "user" does not name a column',
        '8:18 field "id" of relation "user": there is no type "lng"',
        '8:23 a field cannot be named "__op"',
        '9:14 a derived column cannot be named "a/b"',
        '10:15 "position" of relation "user" needs a text, not a map',
        '11:16 "time_unit" of relation "user" cannot be "seconds"',
        '12:13 "images" of relation "user" cannot be "none"',
        '13:13 "unique" of relation "user" needs a list of lists, not "id"',
        '14:12 "where" of relation "user" needs an expression, not a list',
        '15:13 "append" of relation "user" needs true or false, not "1"',
        '16:11 "time" of relation "user" needs a text, not a list',
        '17:24 "delay" of "watermark" of relation "user" needs a duration, not "soon"',
        '18:15 "personal" of relation "user" needs "fields"',
        '19:5 relation "user" has no key "filter"',
    ] == placed(problems(tmp_path, WRONG))


def test_an_unknown_key_is_told_with_those_there_are_in_the_order_of_the_page(
    tmp_path: Path,
) -> None:
    *_, last = problems(tmp_path, WRONG)

    assert last.detail == (
        "Known: topic, source, format, key, fields, derive, position, time_unit, images, unique,"
        " where, append, time, watermark, personal, product."
    )


@pytest.mark.parametrize(
    ("keys", "lacking"),
    [("topic: t", ["key", "fields"]), ("append: true", ["fields"]), ("product: p", [])],
)
def test_a_relation_needs_a_key_and_fields_but_a_log_and_a_product(
    keys: str, lacking: list[str], tmp_path: Path
) -> None:
    text = f"  user: {{{keys}, nothing: 1}}\n"

    found = placed(problems(tmp_path, text))

    assert [f'3:3 relation "user" needs "{name}"' for name in lacking] == found[:-1]


def test_a_product_refuses_what_it_has_itself(tmp_path: Path) -> None:
    text = "  user: {product: p, key: id, time: {event: a}, images: key, where: id > 0}\n"

    found = problems(tmp_path, text)

    assert [
        '3:3 relation "user" is a product, and cannot have "key"',
        '3:3 relation "user" is a product, and cannot have "images"',
        '3:37 "time" of relation "user" needs a text, not a map',
    ] == placed(found)
    assert "Its keys are product, derive, where, time, watermark." == found[0].hint


def test_a_relation_is_written_with_what_its_rows_are_first(tmp_path: Path) -> None:
    text = (
        "  user: {topic: t, unique: [[name]], append: true, key: [id], images: full,\n"
        "    time: {event: a, sent: b, received: $log}, fields: {id: long, name: string}}\n"
    )

    written = relation_data(load(tmp_path, text))

    assert ["key", "fields", "topic", "unique", "append", "time"] == list(written)
    assert {"event": "a", "sent": "b", "received": "$log"} == written["time"]


def test_a_relation_without_columns_is_written_with_none(tmp_path: Path) -> None:
    assert {"fields": {}, "append": True} == relation_data(
        load(tmp_path, "  log: {append: true, fields: {}}\n")
    )


def test_a_product_as_a_relation_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    relation = "  user: {product: p, derive: {x: id + 1}, time: at, watermark: {}}\n"
    file.write_text(HEAD + relation, encoding="utf-8")
    spec = load_spec(file)

    file.write_text(dump_spec(spec), encoding="utf-8")

    assert spec.relations == load_spec(file).relations
    assert ("p", (), ()) == (
        spec.relations[0].product,
        spec.relations[0].key,
        spec.relations[0].fields,
    )


def test_python_declares_the_same_as_a_file(tmp_path: Path) -> None:
    clocks = {"event": "a", "sent": "b", "received": "c", "tolerance": "1m"}
    fields = {"id": "long", "a": "timestamp", "b": "timestamp", "c": "timestamp"}

    made = relation_of("log", {"key": "id", "fields": fields, "append": True, "time": clocks})

    assert made.time == ClocksSpec("a", "b", "c", tolerance_ms=60_000)
    assert made == load(
        tmp_path,
        "  log: {key: [id], append: true, time: {event: a, sent: b, received: c, tolerance: 60s},\n"
        "    fields: {id: long, a: timestamp, b: timestamp, c: timestamp}}\n",
    )
