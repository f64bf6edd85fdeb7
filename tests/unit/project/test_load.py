"""Project files: what they declare, and every problem at its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.project.loading import load, problems

from joinery.errors import ProjectErrors
from joinery.project.kind import SinkSpec, SolutionSpec
from joinery.project.load import dump_spec, load_spec
from joinery.project.run import RunSpec
from joinery.project.value import OrderSpec

HEAD = """\
relations:
  user: {key: [id], fields: {id: long, name: string}}
  star: {key: [id], fields: {id: long, user_id: long, at: timestamp}}
"""
ROOT = HEAD + "products:\n  profile:\n    root: user\n"


def hints(folder: Path, text: str) -> list[str]:
    """Load a broken file, and return the hints."""
    with pytest.raises(ProjectErrors) as caught:
        load(folder, text)
    return [each.hint for each in caught.value.problems]


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


def test_an_environment_variable_is_put_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("TOWN", "Riga")

    spec = load(tmp_path, 'name: "a${EMPTY}b ${JOINERY_NOT_SET:-c} ${TOWN} $${TOWN}"\n' + ROOT)

    assert "ab c Riga ${TOWN}" == spec.name


def test_a_plain_environment_variable_keeps_its_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWS", "5")

    spec = load(tmp_path, ROOT + "run:\n  max_rows_per_batch: ${ROWS}\n")

    assert 5 == spec.run.max_rows_per_batch


@pytest.mark.parametrize(("text", "expected"), [("auto", None), ("7", 7)])
def test_rows_per_batch_are_a_number_or_left_to_joinery(
    text: str, expected: int | None, tmp_path: Path
) -> None:
    spec = load(tmp_path, ROOT + f"run:\n  max_rows_per_batch: {text}\n")

    assert expected == spec.run.max_rows_per_batch


def test_a_missing_environment_variable_is_named(tmp_path: Path) -> None:
    found = problems(tmp_path, ROOT + '    where: "${JOINERY_NOT_SET} > 1"\n')

    assert ['7:12 SPEC_ENVIRONMENT environment variable "JOINERY_NOT_SET" is not set'] == found


@pytest.mark.parametrize("text", ["${TOWN", "${TO WN}", "${TOWN-x}", "${}"])
def test_a_variable_that_is_not_written_right_is_no_plain_text(tmp_path: Path, text: str) -> None:
    found = problems(tmp_path, ROOT + f'    where: "name > {text}"\n')

    assert ['7:12 SPEC_ENVIRONMENT "${" begins no environment variable'] == found


def test_what_follows_from_a_missing_variable_is_not_told(tmp_path: Path) -> None:
    found = problems(tmp_path, 'sources: {a: {files: {path: "${JOINERY_NOT_SET}"}}}\n' + ROOT)

    assert ["1:29 SPEC_ENVIRONMENT"] == [" ".join(each.split()[:2]) for each in found]


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


def test_a_setting_replaces_what_the_file_says(tmp_path: Path) -> None:
    settings = ("run.trigger=3s", "run.spark.spark.ui.enabled=true", "name=other")

    spec = load(tmp_path, ROOT + "run: {trigger: 2s}\n", settings)

    assert ("other", 3000) == (spec.name, spec.run.trigger_ms)
    assert (("spark.ui.enabled", "true"),) == spec.run.spark


def test_a_setting_with_an_unknown_name_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, ROOT, ("run.triger=3s",))

    assert ['1:1 SPEC_UNKNOWN_KEY "run" has no key "triger"'] == found


def test_a_setting_of_all_of_spark_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, ROOT, ("run.spark={spark.ui.enabled: true}",))

    assert [
        '1:1 SPEC_VALUE "run.spark" is a mapping, and a setting replaces one of its entries'
    ] == found


def test_a_kind_without_a_map_is_told_once_and_never_by_what_may_be_a_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE", "postgresql://me:hidden@host/shop")
    text = """\
vault: {sqlite: keys.db, master: "not a secret, since this is only a test"}
relations: {user: {key: [id], fields: {id: long}}}
products:
  p: {root: user, sink: [{sqlite: out.db}, {postgres: "${STORE}"}, {redis: "redis://:hidden@h"}]}
"""

    found = problems(tmp_path, text)

    assert [
        '1:17 SPEC_SHAPE "sqlite" of "vault" needs a map, not "keys.db"',
        '4:35 SPEC_SHAPE "sqlite" of "sink" of product "p" needs a map, not "out.db"',
        '4:55 SPEC_SHAPE "postgres" of "sink" of product "p" needs a map,'
        " not a text with environment variables",
        '4:76 SPEC_SHAPE "redis" of "sink" of product "p" needs a map, not an address',
    ] == found


def test_every_problem_is_told_at_once_in_file_order(tmp_path: Path) -> None:
    text = """\
relations:
  user:
    key: id
    fields: {id: lng, id: long}
    watermark: 1m
    fromat: json
products:
  p: {root: [user], fields: id, embed: {e: {one: user, many: user}, f: [1]}, sink: {fles: {}}}
functions: {}
run: {trigger: 5 apples}
"""

    found = problems(tmp_path, text)

    assert [
        '3:10 SPEC_SHAPE "key" of relation "user" needs a list, not "id"',
        '4:18 SPEC_TYPE field "id" of relation "user": there is no type "lng"',
        '4:23 SPEC_DUPLICATE_KEY "fields" of relation "user" has "id" twice',
        '5:16 SPEC_SHAPE "watermark" of relation "user" needs a map, not "1m"',
        '6:5 SPEC_UNKNOWN_KEY relation "user" has no key "fromat"',
        '8:13 SPEC_SHAPE "root" of product "p" needs a text, not a list',
        '8:29 SPEC_SHAPE "fields" of product "p" needs a list or a map, not "id"',
        '8:41 SPEC_MISSING_KEY embed "e" needs either "one" or "many", not both',
        '8:41 SPEC_MISSING_KEY embed "e" needs "on"',
        '8:72 SPEC_SHAPE embed "f" needs a map, not a list',
        '8:85 SPEC_UNKNOWN_KEY "sink" of product "p" has no kind "fles"',
        '9:1 SPEC_NOT_YET "functions" of the project is reserved, and not supported yet',
        '10:16 SPEC_SHAPE "trigger" needs a duration, not "5 apples"',
    ] == found


def test_an_unknown_key_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    text = ROOT.replace("root:", "roots:")

    assert 'Use "root".' in hints(tmp_path, text)


def test_a_source_that_nothing_can_read_is_refused_also_where_a_package_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = tmp_path / "site/queue_source-0.1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: queue-source\n")
    (facts / "entry_points.txt").write_text("[joinery.sources]\nqueue = queue_source:open\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    text = "joinery: 1\nsources: {changes: {queue: {path: data}}}\n" + ROOT.lstrip()

    found = problems(tmp_path, text)

    assert ['2:21 SPEC_UNKNOWN_KEY source "changes" has no kind "queue"'] == found


def test_a_type_cut_by_a_flow_map_is_told_to_need_quotes(tmp_path: Path) -> None:
    text = ROOT.replace("name: string", "price: decimal(10,2)")

    assert ["Put a type with commas in quotes."] * 2 == hints(tmp_path, text)


def test_what_a_one_cannot_have_is_refused(tmp_path: Path) -> None:
    found = problems(
        tmp_path, ROOT + "    embed: {e: {one: star, on: {user_id: id}, limit: 3, as: map}}\n"
    )

    assert [
        '7:54 SPEC_VALUE embed "e" is a "one" and cannot have "limit"',
        '7:61 SPEC_VALUE embed "e" is a "one" and cannot have "as"',
    ] == found


def test_a_limit_begins_at_one(tmp_path: Path) -> None:
    found = problems(tmp_path, ROOT + "    embed: {e: {many: star, on: {user_id: id}, limit: 0}}\n")

    assert ['7:55 SPEC_SHAPE "limit" of embed "e" needs a whole number from 1, not "0"'] == found


def test_a_wrong_syntax_is_told_at_its_own_place(tmp_path: Path) -> None:
    found = problems(tmp_path, "name: x\nrelations: {a: b: c}\n")

    assert ["2:17 SPEC_SYNTAX"] == [" ".join(each.split()[:2]) for each in found]


def test_a_missing_file_is_told_at_its_first_character() -> None:
    with pytest.raises(ProjectErrors) as caught:
        load_spec("nowhere/joinery.yaml")

    problem = caught.value.problems[0]
    assert ("SPEC_FILE_MISSING", "nowhere/joinery.yaml:1:1") == (
        problem.code,
        str(problem.location),
    )


def test_a_file_that_is_not_utf_8_is_told_at_its_first_character(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_bytes(b"name: caf\xe9\n")

    with pytest.raises(ProjectErrors) as caught:
        load_spec(file)

    problem = caught.value.problems[0]
    assert ("SPEC_NOT_UTF8", f"{file}:1:1") == (problem.code, str(problem.location))


def test_an_empty_file_and_a_file_that_is_a_list_are_refused(tmp_path: Path) -> None:
    assert ["1:1 SPEC_SHAPE"] == [" ".join(each.split()[:2]) for each in problems(tmp_path, "")]
    assert ["1:1 SPEC_SHAPE the project needs a map, not a list"] == problems(tmp_path, "- a\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x: " + "[" * 2000 + "]" * 2000, "1:1 SPEC_SYNTAX maps and lists are nested too deeply"),
        (
            ROOT + '    fields: ["\\ud800"]\n',
            "7:14 SPEC_SYNTAX half a surrogate pair is not a character",
        ),
        (
            ROOT + "    fields: !!strange [id]\n",
            '7:13 SPEC_SYNTAX the tag "tag:yaml.org,2002:strange" means nothing here',
        ),
        (ROOT + "    fields: !mine [id]\n", '7:13 SPEC_SYNTAX the tag "!mine" means nothing here'),
        (
            ROOT.replace("id: long", f"id: '{'array<' * 1000}int{'>' * 1000}'", 1),
            '2:35 SPEC_TYPE field "id" of relation "user": the type is nested too deeply',
        ),
    ],
)
def test_what_yaml_reads_and_nothing_here_does_is_told_in_one_line(
    tmp_path: Path, text: str, told: str
) -> None:
    assert [told] == problems(tmp_path, text)


def test_an_equals_sign_that_is_not_quoted_is_a_text(tmp_path: Path) -> None:
    read = load(tmp_path, ROOT + "name: =\n")

    assert "=" == read.name


def test_a_number_of_more_digits_than_python_converts_is_told_at_its_place(
    tmp_path: Path,
) -> None:
    (told,) = problems(tmp_path, ROOT + f"run: {{max_rows_per_batch: {'9' * 5000}}}\n")

    assert told.startswith("7:27 SPEC_SHAPE")


def test_a_misspelled_kind_of_a_window_is_named_and_is_all_that_is_told(tmp_path: Path) -> None:
    text = ROOT + "  n: {aggregate: user, window: hour, values: {n: count(*)}}\n"

    told = problems(tmp_path, text + "windows: {hour: {hoping: 1h, every: 30m}}\n")

    assert ['8:18 SPEC_UNKNOWN_KEY window "hour" has no key "hoping"'] == told


def test_a_merge_key_and_a_misspelled_use_have_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ProjectErrors) as caught:
        load(tmp_path, ROOT + "    <<: {}\n    sink: {ues: box}\n")

    hints = [each.hint for each in caught.value.problems]
    assert ["Write the keys out: YAML 1.2 merges no maps.", 'Use "use".'] == hints


@pytest.mark.parametrize(
    ("part", "hint"),
    [
        ("fields: {id, name}", "Write [id, name]."),
        ("embed: {e: {many: user, on: {id, name}}}", "Write [id, name]."),
        ("embed: {e: {many: user, on: [id], order: {name: desc, id: asc}}}", "Write [-name, id]."),
        ("ready: {user}", "Write [user]."),
        ("ready: true", ""),
        ("settle: 2s", "Write emit: {settle: 2s}."),
        ("limit: 3", "Only an embed has a limit."),
    ],
)
def test_what_is_written_as_another_tool_would_have_it_has_a_hint(
    tmp_path: Path, part: str, hint: str
) -> None:
    with pytest.raises(ProjectErrors) as caught:
        load(tmp_path, ROOT + f"    {part}\n")

    assert [hint] == [each.hint for each in caught.value.problems]


def test_a_column_may_have_the_name_of_an_order(tmp_path: Path) -> None:
    spec = load(tmp_path, ROOT + "    fields: {text: desc}\n")

    assert (("text", "desc"),) == spec.products[0].root.fields


def test_an_alias_inside_what_it_names_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, ROOT + "    embed: &a {e: *a}\n")

    assert "7:12 SPEC_SHAPE an alias is inside what it names" in found


def test_an_anchor_is_used_where_its_alias_stands(tmp_path: Path) -> None:
    text = HEAD.replace("{id: long, name: string}", "&f {id: long, name: string}").replace(
        "{id: long, user_id: long, at: timestamp}", "*f"
    )

    spec = load(tmp_path, text + "products: {}\n")

    assert spec.relations[0].fields == spec.relations[1].fields


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    assert ['1:10 SPEC_VERSION "joinery" cannot be "2"'] == problems(
        tmp_path, "joinery: 2\n" + ROOT
    )


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


def test_a_lineage_without_its_url_names_the_key_that_is_missing(tmp_path: Path) -> None:
    found = problems(tmp_path, ROOT + "run: {lineage: {urll: x}}\n")

    assert [
        '7:16 SPEC_MISSING_KEY "lineage" of "run" needs "url"',
        '7:17 SPEC_UNKNOWN_KEY "lineage" of "run" has no key "urll"',
    ] == found


def test_a_misspelled_master_of_the_vault_has_its_name_as_the_hint(tmp_path: Path) -> None:
    found = hints(tmp_path, ROOT + "vault: {sqlite: {path: x}, mastr: x}\n")

    assert ['Use "master".'] == found
