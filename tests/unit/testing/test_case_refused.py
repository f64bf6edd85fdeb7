"""Cases that are refused before they run: every problem at its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.testing import case_folder
from tests.unit.testing.case_folder import PROJECT, outcome, problems

from joinery.errors import ProjectErrors

folder = case_folder.folder


def test_every_problem_of_a_file_is_told_at_its_place(folder: Path) -> None:
    found = problems(
        folder,
        """\
product: profil
cases:
  - nam: x
  - name: twice
    product: profile
    after: 5m
    given:
      customers: []
      order: [{number: one}, {customer_id: 1}]
    expect: [{id: 1, orders: [{numbr: 1}], oops: 1}]
  - name: empty
    product: profile
  - {name: "both", product: profile, stream: sales, expect: []}
  - {name: "spark", product: spark_only, expect: []}
""",
    )

    assert found == [
        '1:10 there is no product "profil"',
        '3:5 a case has no key "nam"',
        "3:5 a case needs a name",
        "6:12 time does not change documents",
        '8:7 product "profile" reads no relation "customers"',
        '9:24 "number" of a row of "order" cannot be "one"',
        '9:30 a row of "order" lacks the key column "number"',
        '10:32 "orders[0]" of a document of "profile" has no field "numbr"',
        '10:44 a document of "profile" has no column "oops"',
        '11:5 case "empty" expects nothing',
        '13:5 case "both" names both a product and a stream',
        '14:30 product "spark_only" has expressions that only Spark can evaluate',
    ]


@pytest.mark.parametrize("amount", ["3.255", "true"])
def test_a_decimal_that_a_run_would_refuse_is_refused(folder: Path, amount: str) -> None:
    text = f"""
product: profile
cases:
  - name: "more decimals than the column has"
    given: {{order: [{{number: 1, amount: {amount}}}]}}
    expect: []
"""

    with pytest.raises(ProjectErrors, match=f'"amount" of a row of "order" cannot be "{amount}"'):
        outcome(folder, text)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("x: 1e400", '"x" of a row of "sample" is not a finite number'),
        ("xs: [[1], [-1e400]]", '"xs" of a row of "sample" is not a finite number'),
        ("m: {true: 1, 'true': 2}", '"m" of a row of "sample" has "true" twice'),
        ("n: 20260102", '"n" of a row of "sample" cannot be "20260102"'),
        ("n: 2026-W01-1", '"n" of a row of "sample" cannot be "2026-W01-1"'),
    ],
)
def test_a_value_that_a_run_would_refuse_is_refused(folder: Path, row: str, told: str) -> None:
    given = f"{{sample: [{{id: 1, {row}}}]}}"
    text = f"{{product: samples, cases: [{{name: a, given: {given}, expect: []}}]}}"

    (problem,) = problems(folder, text)

    assert problem.endswith(told)


def test_two_keys_that_cannot_be_read_are_not_told_to_be_one(folder: Path) -> None:
    given = "{sample: [{id: 1, m: {1: 1, 2: 2}}]}"
    text = f"{{product: samples, cases: [{{name: a, given: {given}, expect: []}}]}}"

    told = problems(folder, text)

    assert ['cannot be "1"', 'cannot be "2"'] == [each[-13:] for each in told]


@pytest.mark.parametrize(
    ("second", "done"),
    [("{id: 1, person: 8}", "changes"), ("{id: 1, __deleted: true}", "deletes")],
)
def test_a_row_of_a_log_is_neither_changed_nor_deleted(
    folder: Path, second: str, done: str
) -> None:
    text = f"""
    stream: sales
    cases:
      - name: again
        given: {{sale: [{{id: 1, person: 7}}, {{id: 1, person: 7}}, {second}]}}
        expect: []
    """

    (told,) = problems(folder, text)

    assert f'case "again" {done} a row of "sale", whose rows never change' in told


def test_a_project_that_is_wrong_is_told_before_its_cases(folder: Path) -> None:
    (folder / "joinery.yaml").write_text(PROJECT.replace("[id, name, since]", "[id, nmae]"))

    with pytest.raises(ProjectErrors, match="nmae"):
        outcome(folder, "cases: []")
