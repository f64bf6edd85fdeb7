"""Problems as rows for people and programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.plan.check import Problem, check

GOOD = """\
relations: {user: {key: [id], fields: {id: long, boss_id: long}}}
products: {p: {root: user, fields: [id]}}
"""


def test_a_good_file_has_no_problem(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(GOOD, encoding="utf-8")

    assert [] == check(file)


def test_a_problem_of_the_spec_is_a_row(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(GOOD.replace("root", "rot"), encoding="utf-8")

    unknown = check(file)[-1]

    assert (
        Problem(
            file=str(file),
            line=2,
            column=16,
            code="SPEC_UNKNOWN_KEY",
            message='product "p" has no key "rot"',
            hint='Use "root".',
            detail=unknown.detail,
        )
        == unknown
    )
    assert f'{file}:2:16: SPEC_UNKNOWN_KEY product "p" has no key "rot"' == str(unknown)


def test_problems_of_the_plan_and_warnings_come_together_in_file_order(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    embed = "[id, nope], embed: {b: {many: user, on: {id: boss_id}, fields: [id]}}"
    file.write_text(GOOD.replace("[id]}}", embed + "}}"), encoding="utf-8")

    rows = check(file)

    assert [("PLAN_UNKNOWN_FIELD", "error"), ("PLAN_ON_SWAPPED", "warning")] == [
        (row.code, row.severity) for row in rows
    ]
    assert "warning: " in str(rows[1])


def test_a_missing_file_is_a_row_at_its_first_character() -> None:
    (row,) = check("nowhere.yaml")

    assert ("nowhere.yaml", 1, 1, "SPEC_FILE_MISSING") == (
        row.file,
        row.line,
        row.column,
        row.code,
    )


def test_a_broken_product_does_not_hide_what_is_wrong_with_another(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(GOOD.replace("[id]}}", "[nope]}, q: {rot: user}}"), encoding="utf-8")

    assert ["PLAN_UNKNOWN_FIELD", "SPEC_MISSING_KEY", "SPEC_UNKNOWN_KEY"] == [
        row.code for row in check(file)
    ]


def test_what_follows_from_a_broken_part_is_not_told(tmp_path: Path) -> None:
    text = """\
sources: {a: {fils: {path: x}}}
defaults: {source: a}
relations: {user: {key: [id], fields: {id: lng}}, star: {key: [id], fields: {id: string}}}
products:
  p: {root: user, embed: {s: {many: star, on: [id]}}}
  q: {root: star, fields: [x], sink: lake}
sinks: {lake: [1]}
"""
    file = tmp_path / "joinery.yaml"
    file.write_text(text, encoding="utf-8")

    rows = check(file)

    assert [
        (1, "SPEC_UNKNOWN_KEY"),
        (3, "SPEC_TYPE"),
        (6, "PLAN_UNKNOWN_FIELD"),
        (7, "SPEC_SHAPE"),
    ] == [(row.line, row.code) for row in rows]


def test_a_misspelled_default_format_is_told_alone(tmp_path: Path) -> None:
    text = """\
sources: {a: {files: {path: x}}}
defaults: {source: a, format: jsn}
relations: {sale: {key: [id], fields: {id: long, at: timestamp}, time: at}}
products: {p: {aggregate: sale, by: [id], window: {tumbling: 1h}, values: {n: count(*)}}}
"""
    file = tmp_path / "joinery.yaml"
    file.write_text(text, encoding="utf-8")

    assert [(2, "SPEC_VALUE")] == [(row.line, row.code) for row in check(file)]


def test_a_project_without_relations_is_told_once(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text("name: x\nproducts: {p: {root: user}}\n", encoding="utf-8")

    assert ["SPEC_MISSING_KEY"] == [row.code for row in check(file)]


@pytest.mark.parametrize(
    ("product", "told", "hint"),
    [
        ("'': {root: user}", 'a product cannot be named ""', "Use letters, digits, _ - and ., a"),
        (
            "p: {root: user, solution: {kv: {store: rock}}}",
            '"store" of "kv" of "solution" of product "p" cannot be "rock"',
            "",
        ),
        (
            "p: {root: user, solution: {kv: {}, rdbms-store: {}}}",
            '"solution" of product "p" needs one name, or a map with one name, not a map',
            "",
        ),
        (
            "p: {root: user, fields: [id], values: {b: boss_id + 1}}",
            'there is no column "boss_id" here',
            'List "boss_id" in "fields": values see what the node shows.',
        ),
        (
            "p: {root: user, fields: [id, boss_id + 1]}",
            'relation "user" has no field "boss_id + 1"',
            "Write {NAME: boss_id + 1} for an expression.",
        ),
        (
            "p: {root: user, embed: {b: {many: user, on: {boss_id: id}, order: [id DESC]}}}",
            'an entry of "order" of embed "b" cannot be "id DESC"',
            "Write -id.",
        ),
        (
            "p: {root: user, embed: {b: {many: user, on: {boss_id: id}, fields: {n: id + 1},"
            " order: [n]}}}",
            'there is no column "n" here',
            "Write id + 1, which it is computed from.",
        ),
        (
            "p: {root: user, fields: {n: size(b)}, embed: {b: {many: user, on: {boss_id: id}}}}",
            'there is no column "b" here',
            'Write it under "values", the only place that sees "b".',
        ),
        (
            "p: {root: user, where: size(b) > 1, embed: {b: {many: user, on: {boss_id: id}}}}",
            'there is no column "b" here',
            'Name what you need of "b" under "values", and write that name.',
        ),
        (
            "p: {root: user, embed: {b: {many: user, on: {upper(id): boss_id}}}}",
            'relation "user" has no field "upper(id)"',
            'Write derive: {NAME: upper(id)} in "user", and NAME here.',
        ),
        (
            "p: {aggregate: user, by: [id], values: {double: n * 2, n: count(*)}}",
            'there is no column "n" here',
            'Move "n" up: a value sees those above it.',
        ),
        (
            "p: {root: user, values: {double: twice, twice: id * 2}}",
            'there is no column "twice" here',
            'Move "twice" up: a value sees those above it.',
        ),
        (
            "p: {root: user, fields: [id], values: {boss_id: boss_id + 1}}",
            'there is no column "boss_id" here',
            'List "boss_id" in "fields": values see what the node shows.',
        ),
        (
            "p: {root: user, embed: {b: {many: user, on: {boss_id: id}, limit: 99999999999}}}",
            '"limit" of embed "b" needs a whole number up to 2147483647, not "99999999999"',
            "",
        ),
        (
            "p: {root: user, embed: {b: {on: {boss_id: id}, limit: 3}}}",
            'embed "b" needs "one" or "many"',
            "Write one: RELATION or many: RELATION.",
        ),
    ],
)
def test_a_usual_slip_is_one_problem_with_what_to_write(
    tmp_path: Path, product: str, told: str, hint: str
) -> None:
    file = tmp_path / "joinery.yaml"
    relations = GOOD.splitlines()[0]
    file.write_text(f"{relations}\nproducts:\n  {product}\n", encoding="utf-8")

    (row,) = [each for each in check(file) if each.severity == "error"]

    assert told == row.message
    assert row.hint.startswith(hint)
