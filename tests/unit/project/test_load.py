"""Project files: what they declare."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.project.loading import HEAD, ROOT, hints, load, problems

from joinery.errors import ProjectErrors
from joinery.project.kind import SinkSpec, SolutionSpec
from joinery.project.load import dump_spec, load_spec
from joinery.project.run import RunSpec
from joinery.project.value import OrderSpec


def test_a_relation_and_a_product_are_enough(tmp_path: Path) -> None:
    spec = load(tmp_path, ROOT)

    assert ["user", "star"] == [each.name for each in spec.relations]
    assert (("id", "long"), ("name", "string")) == spec.relations[0].fields
    assert spec.products[0].root.fields is None
    assert RunSpec() == spec.run


def test_on_off_yes_and_no_are_words(tmp_path: Path) -> None:
    spec = load(tmp_path, HEAD.replace("name: string", "no: string, off: string") + "products: {}")

    assert ("no", "off") == tuple(name for name, _ in spec.relations[0].fields[1:])


def test_fields_may_be_a_list_of_names_and_maps(tmp_path: Path) -> None:
    spec = load(tmp_path, ROOT + "    fields: [id, {upper_name: upper(name), one: 1}]\n")

    expected = (("id", "id"), ("upper_name", "upper(name)"), ("one", "1"))
    assert expected == spec.products[0].root.fields


def test_no_fields_differ_from_fields_left_out(tmp_path: Path) -> None:
    assert () == load(tmp_path, ROOT + "    fields: []\n").products[0].root.fields


def test_on_may_be_a_list_where_the_names_agree(tmp_path: Path) -> None:
    spec = load(tmp_path, ROOT + "    embed: {same: {one: user, on: [id, name]}}\n")

    assert (("id", "id"), ("name", "name")) == spec.products[0].root.embed[0].on


def test_a_minus_orders_descending(tmp_path: Path) -> None:
    text = "    embed: {s: {many: star, on: {user_id: id}, order: [-at, id, -length(x)]}}\n"

    order = load(tmp_path, ROOT + text).products[0].root.embed[0].order

    assert (OrderSpec("at", True), OrderSpec("id"), OrderSpec("length(x)", True)) == order


def test_a_sink_is_a_map_a_name_or_a_list(tmp_path: Path) -> None:
    sink = "    sink: [{console: {}}, lake, {use: lake, path: there}]\n"

    spec = load(tmp_path, ROOT + sink + "sinks: {lake: {files: {path: x}}}\n")

    expected = (
        SinkSpec("console"),
        SinkSpec(use="lake"),
        SinkSpec(options=(("path", "there"),), use="lake"),
    )
    assert expected == spec.products[0].sinks
    assert (("lake", SinkSpec("files", (("path", "x"),))),) == spec.sinks


def test_durations_and_sizes_have_units(tmp_path: Path) -> None:
    text = "run: {trigger: 2s, tombstone_retention: 12h, max_record_bytes: 1 MiB}\n"

    run = load(tmp_path, ROOT + text).run

    expected = (2000, 43_200_000, 1 << 20)
    assert expected == (run.trigger_ms, run.tombstone_retention_ms, run.max_record_bytes)


def test_durations_may_be_written_in_words(tmp_path: Path) -> None:
    text = "run: {trigger: 2000us, checkpoint_interval: 10 minutes, tombstone_retention: 2w}\n"

    run = load(tmp_path, ROOT + text).run

    expected = (2, 600_000, 14 * 86_400_000)
    assert expected == (run.trigger_ms, run.checkpoint_interval_ms, run.tombstone_retention_ms)


@pytest.mark.parametrize(
    ("duration", "hint"),
    [
        ("1500us", "Write whole milliseconds, such as 1ms."),
        ("400001d", "Write one such as 500ms, 2s, 5m, 1h, 7d or 1 week."),
        ("1 month", "A month has no fixed length; write days."),
    ],
)
def test_what_is_no_duration_in_whole_milliseconds_is_refused_for_what_it_is(
    tmp_path: Path, duration: str, hint: str
) -> None:
    text = f"run: {{tombstone_retention: {duration}}}\n"

    assert [hint] == hints(tmp_path, ROOT + text)


def test_a_duration_beyond_a_thousand_years_is_refused_for_that(tmp_path: Path) -> None:
    text = "run: {tombstone_retention: 400001d}\n"

    with pytest.raises(ProjectErrors, match="needs a duration up to 1,000 years, not"):
        load(tmp_path, ROOT + text)


def test_a_solution_may_have_options(tmp_path: Path) -> None:
    spec = load(tmp_path, ROOT + "    solution: {rdbms-store: {schema: mine}}\n")

    assert SolutionSpec("rdbms-store", (("schema", "mine"),)) == spec.products[0].solution


@pytest.mark.parametrize(("text", "expected"), [("auto", None), ("7", 7)])
def test_rows_per_batch_are_a_number_or_left_to_joinery(
    text: str, expected: int | None, tmp_path: Path
) -> None:
    spec = load(tmp_path, ROOT + f"run:\n  max_rows_per_batch: {text}\n")

    assert expected == spec.run.max_rows_per_batch


def test_a_folder_is_read_as_one_project(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: two\n" + HEAD, encoding="utf-8")
    (tmp_path / "b.yml").write_text(
        "relations: {pay: {key: [id], fields: {id: long}}}\nproducts: {p: {root: pay}}\n",
        encoding="utf-8",
    )

    spec = load_spec(tmp_path)

    assert ["user", "star", "pay"] == [each.name for each in spec.relations]
    assert tmp_path / "out" == spec.path_of("out")


def test_one_name_in_two_files_is_a_duplicate_in_the_second(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ROOT, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(HEAD, encoding="utf-8")

    with pytest.raises(ProjectErrors) as caught:
        load_spec(tmp_path)

    places = [str(each.location).rsplit("/", 1)[1] for each in caught.value.problems]
    assert ["b.yaml:2:3", "b.yaml:3:3"] == places
    first = f"It is at {tmp_path / 'a.yaml'}:2:3 already."
    assert first == caught.value.problems[0].detail


def test_an_empty_file_is_no_harm_among_others(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("# Products are in b.yaml.\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text(ROOT, encoding="utf-8")

    assert ["user", "star"] == [each.name for each in load_spec(tmp_path).relations]


def test_an_equals_sign_that_is_not_quoted_is_a_text(tmp_path: Path) -> None:
    read = load(tmp_path, ROOT + "name: =\n")

    assert "=" == read.name


def test_a_column_may_have_the_name_of_an_order(tmp_path: Path) -> None:
    spec = load(tmp_path, ROOT + "    fields: {text: desc}\n")

    assert (("text", "desc"),) == spec.products[0].root.fields


def test_an_anchor_is_used_where_its_alias_stands(tmp_path: Path) -> None:
    text = HEAD.replace("{id: long, name: string}", "&f {id: long, name: string}").replace(
        "{id: long, user_id: long, at: timestamp}", "*f"
    )

    spec = load(tmp_path, text + "products: {}\n")

    assert spec.relations[0].fields == spec.relations[1].fields


def test_a_part_is_located_by_what_it_declares(tmp_path: Path) -> None:
    spec = load(tmp_path, ROOT + "    embed:\n      s: {many: star, on: {user_id: id}}\n")
    path = ("products", "profile", "embed", "s", "on", "user_id")

    key, value = spec.locate(path, key=True), spec.locate(path)

    assert key is not None
    assert value is not None
    assert (8, 28, 8, 37) == (key.line, key.column, value.line, value.column)
    above = spec.locate((*path[:4], "where"))
    assert above is not None
    assert (8, 10) == (above.line, above.column)


def test_a_spec_survives_the_way_through_yaml(tmp_path: Path) -> None:
    text = """\
name: all
sources: {a: {files: {path: in}}, k: {kafka: {bootstrap: "h:1", properties: {x.y: 1}}}}
defaults: {source: a, format: json}
relations:
  user:
    key: [id]
    fields: {id: long, "first name": string, price: "decimal(10,2)"}
    derive: {lc: lower(`first name`)}
    topic: t
    format: debezium-json
    position: id
    time_unit: millis
    images: key
    unique: [[lc, id]]
    where: id > 0
products:
  p:
    root: user
    fields: [id, {a: "$${x}"}]
    values: {n: count(many)}
    where: n > 1
    embed:
      many:
        many: user
        on: [id]
        fields: {x: id}
        order: [-id]
        limit: 3
        overflow: fail
        hidden: true
        as: map
        embed: {deep: {one: user, on: {id: id}, fields: []}}
    sink: [{console: {}}, {use: lake, path: p}, lake]
    group: g
    solution: kv
    emit: {settle: 2s}
    ready: [user]
sinks: {lake: {files: {path: lake}}}
run:
  trigger: 1s
  real_time: true
  spark: {spark.a: "1", spark.b: "true"}
  dead_letters: {files: {path: dead}}
  checkpoint: cp
  tombstone_retention: 1d
  max_record_bytes: 10
  max_document_bytes: 1 GiB
  max_rows_per_batch: 10
"""
    spec = load(tmp_path, text)

    again = load(tmp_path, dump_spec(spec))

    assert spec == again
    assert dump_spec(spec) == dump_spec(again)


def test_a_path_is_no_address(tmp_path: Path) -> None:
    address = "abfs://name/place"
    text = f"run: {{checkpoint: {address}}}\nsources: {{s: {{files: {{path: {address}}}}}}}\n"

    found = [each for each in problems(tmp_path, text) if "SPEC_VALUE" in each]

    why = "is not a path: addresses of abfs:// are not supported here"
    assert [
        f'1:19 SPEC_VALUE "checkpoint" of "run" {why}',
        f'2:29 SPEC_VALUE "path" of "files" of source "s" {why}',
    ] == found


@pytest.mark.parametrize("address", ["s3a://bucket/place", "hdfs://name:8020/place"])
def test_a_checkpoint_may_be_in_a_store_and_a_source_may_not(tmp_path: Path, address: str) -> None:
    text = f"run: {{checkpoint: {address}}}\nsources: {{s: {{files: {{path: {address}}}}}}}\n"

    found = [each for each in problems(tmp_path, text) if "SPEC_VALUE" in each]

    why = f"is not a path: addresses of {address.partition(':')[0]}:// are not supported here"
    assert [f'2:29 SPEC_VALUE "path" of "files" of source "s" {why}'] == found


@pytest.mark.parametrize(
    "address", ["s3a://", "s3a://B/x", "s3a://bucket//x", "hdfs:///x", "hdfs://name:8020"]
)
def test_an_address_of_a_store_names_what_it_is_in(tmp_path: Path, address: str) -> None:
    found = problems(tmp_path, f"run: {{checkpoint: '{address}'}}\n")

    wrong = f'SPEC_VALUE "checkpoint" of "run" cannot be "{address}"'
    assert [each for each in found if wrong in each]


def test_a_folder_may_have_the_name_of_a_kind_of_store(tmp_path: Path) -> None:
    assert tmp_path / "hdfs" == load(tmp_path, ROOT + "run: {checkpoint: hdfs}\n").checkpoint


def test_an_address_of_another_store_is_no_path(tmp_path: Path) -> None:
    found = problems(tmp_path, "run: {checkpoint: 's3://bucket/x'}\n")

    assert [each for each in found if 'SPEC_VALUE "checkpoint" of "run" is not a path' in each]
