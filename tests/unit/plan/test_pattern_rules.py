"""What may give parameters to a pattern, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import joinery as jn
from joinery.errors import SpecError
from joinery.plan.check import check

PROJECT = """
name: cards
sources: {{log: {{files: {{path: data}}}}}}
relations:
  pay:
    append: true
    key: [id]
    fields: {{id: long, land: string, x: long, at: timestamp}}
    time: at
  most: {{key: [land], fields: {{land: string, x: long}}}}
  both: {{key: [land, x], fields: {{land: string, x: long}}}}
  log: {{append: true, key: [land], fields: {{land: string}}}}
products:
  p:
    pattern: pay
    rules: {{{rules}}}
    define: {{A: "{condition}"}}
    match: "A+"
    within: 1h
    sink: {{files: {{path: out}}}}
"""


def problems(folder: Path, rules: str, condition: str = "x > r.x") -> list[str]:
    file = folder / "joinery.yaml"
    file.write_text(PROJECT.format(rules=rules, condition=condition), encoding="utf-8")
    return [f"{each.code} {each}" for each in check(file)]


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("r: {one: mots, on: [land]}", 'PLAN_UNKNOWN_RELATION there is no relation "mots"'),
        ("r: {one: most}", 'SPEC_MISSING_KEY rule "r" needs "on"'),
        ("r: {on: [land]}", 'SPEC_MISSING_KEY rule "r" needs "one"'),
        ("r: most", 'SPEC_SHAPE rule "r" needs a map'),
        ("r: {one: most, on: {land: lnd}}", 'PLAN_UNKNOWN_FIELD relation "pay" has no field "lnd"'),
        ("r: {one: most, on: {land: id}}", 'PLAN_TYPE_MISMATCH "land" of "most" (string) cannot'),
        ("r: {one: most, on: {x: x}}", 'PLAN_PATTERN a row could see several rows of "most"'),
        ("r: {one: both, on: [land]}", 'PLAN_PATTERN a row could see several rows of "both"'),
        ("r: {one: log, on: [land]}", 'PLAN_PATTERN "log" is a log (append), of which no row'),
        ("r: {one: pay, on: [id]}", 'PLAN_PATTERN the rows of "pay" are their own rules'),
        ("land: {one: most, on: [land]}", 'PLAN_PATTERN "land" is a rule of the pattern, and a'),
    ],
)
def test_a_rule_of_which_no_single_row_counts_is_refused(
    tmp_path: Path, rules: str, told: str
) -> None:
    found = problems(tmp_path, rules, "x > 1" if rules.startswith("land") else "x > r.x")

    assert [each for each in found if each.startswith(told.split()[0]) and told[20:] in each], found


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("x > r.y", 'no field "y"'),
        ("x > prev(r.x)", '"prev" reads columns of the row before, and no rules'),
    ],
)
def test_a_condition_reads_what_its_rules_have(tmp_path: Path, condition: str, told: str) -> None:
    found = problems(tmp_path, "r: {one: most, on: [land]}", condition)

    assert any(told in each for each in found), found


def test_a_variable_has_another_name_than_a_rule(tmp_path: Path) -> None:
    found = problems(tmp_path, "A: {one: most, on: [land]}", "x > 1")

    assert any('"A" is a variable of the pattern, and a rule' in each for each in found), found


def test_a_rule_that_is_whole_has_no_problem(tmp_path: Path) -> None:
    assert problems(tmp_path, "r: {one: most, on: [land]}") == []


def test_python_takes_a_relation_and_on_alone() -> None:
    with pytest.raises(SpecError, match='rule "r" takes a relation and "on" alone'):
        jn.pattern("p", "pay", match="A", rules={"r": jn.one("most", on=["land"], where="x > 1")})
