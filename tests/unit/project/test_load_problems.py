"""Project files that are wrong: every problem at its place, with a hint where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.project.loading import ROOT, hints, load, problems

from joinery.errors import ProjectErrors
from joinery.project.load import load_spec


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


def test_an_alias_inside_what_it_names_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, ROOT + "    embed: &a {e: *a}\n")

    assert "7:12 SPEC_SHAPE an alias is inside what it names" in found


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    assert ['1:10 SPEC_VERSION "joinery" cannot be "2"'] == problems(
        tmp_path, "joinery: 2\n" + ROOT
    )


def test_a_lineage_without_its_url_names_the_key_that_is_missing(tmp_path: Path) -> None:
    found = problems(tmp_path, ROOT + "run: {lineage: {urll: x}}\n")

    assert [
        '7:16 SPEC_MISSING_KEY "lineage" of "run" needs "url"',
        '7:17 SPEC_UNKNOWN_KEY "lineage" of "run" has no key "urll"',
    ] == found


def test_a_misspelled_master_of_the_vault_has_its_name_as_the_hint(tmp_path: Path) -> None:
    found = hints(tmp_path, ROOT + "vault: {sqlite: {path: x}, mastr: x}\n")

    assert ['Use "master".'] == found
