"""What a fold may name, and what is told where it may not."""

from __future__ import annotations

import pytest

import joinery as jn
from joinery.errors import ProjectErrors, SpecError
from joinery.plan.build import build_plan
from joinery.plan.explain.text import render_plan
from joinery.project.form import FoldSpec
from joinery.project.write import project_data
from joinery.testing.conformance.project import load_text

SUM = "when: {Deposited: {sum: sum + event.amount}}"
STATE = 'state: {sum: "long = 0"}'


def project(fold: str, relation: str = "append: true") -> str:
    return f"""
relations:
  entry:
    {relation}
    fields:
      {{account: string, no: int, type: string, amount: int, price: "decimal(9,2)", at: timestamp}}
products:
  total: {{fold: entry, by: [account], {fold}}}
"""


def refused(fold: str, relation: str = "append: true") -> list[str]:
    try:
        build_plan(load_text(project(fold, relation)))
    except ProjectErrors as errors:
        return [f"{each.code} {each.message}" for each in errors.problems]
    return []


@pytest.mark.parametrize(
    ("fold", "problem"),
    [
        (
            f"sequence: nr, {STATE}, {SUM}",
            'PLAN_UNKNOWN_FIELD relation "entry" has no field "nr"',
        ),
        (
            f"sequence: account, {STATE}, {SUM}",
            'PLAN_TYPE_MISMATCH "sequence" needs a whole number, and "account" is string',
        ),
        (
            f"sequence: no, kind: tpye, {STATE}, {SUM}",
            'PLAN_UNKNOWN_FIELD relation "entry" has no field "tpye"',
        ),
        (
            f"sequence: no, kind: amount, {STATE}, {SUM}",
            'PLAN_TYPE_MISMATCH "kind" needs a text, and "amount" is int',
        ),
        (
            f'sequence: no, state: {{sum: "long = 0", fee: "decimal(4,2) = 123.4"}}, {SUM}',
            'PLAN_TYPE_MISMATCH "fee" of the state cannot start with the value given:'
            " the value does not fit decimal(4,2)",
        ),
        (
            f"{STATE}, {SUM}",
            'SPEC_MISSING_KEY product "total" needs "sequence"',
        ),
        (
            f"sequence: no, {SUM}",
            'SPEC_MISSING_KEY product "total" needs "state"',
        ),
        (
            f"sequence: no, {STATE}",
            "PLAN_FOLD no event changes the state",
        ),
        (
            f"sequence: no, {STATE}, when: {{Deposited: {{sun: sum + 1}}}}",
            'PLAN_UNKNOWN_FIELD the state has no column "sun"',
        ),
        (
            f"sequence: no, {STATE}, when: {{Deposited: {{sum: sum + amount}}}}",
            'PLAN_UNKNOWN_COLUMN there is no column "amount" here',
        ),
        (
            f"sequence: no, {STATE}, when: {{Deposited: {{sum: event.price}}}}",
            'PLAN_TYPE_MISMATCH "sum" of the state is long, and "event.price" is decimal(9,2)',
        ),
        (
            f"sequence: no, {STATE}, when: {{Deposited: {{sum: event.account}}}}",
            'PLAN_TYPE_MISMATCH "sum" of the state is long, and "event.account" is string',
        ),
        (
            f'sequence: no, state: {{sum: "long = 0.5"}}, {SUM}',
            'PLAN_TYPE_MISMATCH "sum" of the state is long, and "0.5" is decimal(1,1)',
        ),
        (
            f'sequence: no, state: {{sum: "lnog = 0"}}, {SUM}',
            'SPEC_TYPE column "sum" of "state" of product "total": there is no type "lnog"',
        ),
        (
            f'sequence: no, state: {{sum: "long ="}}, {SUM}',
            'SPEC_VALUE column "sum" of "state" of product "total" has nothing after "="',
        ),
        (
            'sequence: no, state: {event: long}, when: {A: {event: "1"}}',
            'PLAN_FOLD "event" names the event, and cannot be a column of the state',
        ),
        (
            "sequence: no, state: {account: string}, when: {A: {account: \"'x'\"}}",
            'PLAN_DUPLICATE_OUTPUT there are two outputs "account"',
        ),
        (
            f"sequence: no, {STATE}, {SUM}, where: amount > 1",
            'SPEC_VALUE product "total" has both "fold" and "where"',
        ),
        (
            f"sequence: no, {STATE}, {SUM}, emit: {{late: drop}}",
            'SPEC_VALUE "late" of "emit" is for products with "aggregate" or "pattern",'
            ' or with "within" in an embed',
        ),
        (
            f"sequence: no, {STATE}, {SUM}, wait: soon",
            'SPEC_SHAPE "wait" of product "total" needs a duration, not "soon"',
        ),
        (
            f"sequence: no, {STATE}, {SUM}, wait: 0 events",
            'SPEC_SHAPE "wait" of product "total" needs a number of events from 1 to 1,000,000,'
            ' not "0 events"',
        ),
        (
            f"sequence: no, {STATE}, {SUM}, wait: 3000000000 events",
            'SPEC_SHAPE "wait" of product "total" needs a number of events from 1 to 1,000,000,'
            ' not "3000000000 events"',
        ),
    ],
)
def test_what_no_fold_can_be_is_one_line(fold: str, problem: str) -> None:
    assert [problem] == refused(fold)


def test_rows_that_may_change_are_no_events() -> None:
    problem = 'PLAN_FOLD events never change, and rows of relation "entry" may'

    assert [problem] == refused(f"sequence: no, {STATE}, {SUM}", "key: [no]")


def test_a_product_is_no_log_of_events_whatever_is_said_of_it() -> None:
    text = """
relations:
  entry: {append: true, fields: {account: long, amount: long}}
products:
  sums: {aggregate: entry, by: [account], group: g, values: {n: count(*), type: max(amount)}}
  p: {fold: sums, group: g, sequence: n, kind: kind, state: {k: long}, when: {A: {k: k}}, wait: 0s}
"""

    with pytest.raises(ProjectErrors) as refused_:
        build_plan(load_text(text))

    hints = [each.hint for each in refused_.value.problems if each.code == "PLAN_FOLD"]
    assert ["Fold a log of events, not a product."] == hints


def test_a_key_of_folds_needs_the_word_fold() -> None:
    text = project("").replace("fold: entry, by: [account],", "root: entry, sequence: no")

    with pytest.raises(ProjectErrors) as refused_:
        load_text(text)

    told = [each.message for each in refused_.value.problems]
    assert ['product "total" has "sequence" without "fold"'] == told


def test_a_fold_is_written_as_it_was_read() -> None:
    fold = f'sequence: no, kind: account, state: {{sum: "long = 0", x: string}}, {SUM}, wait: 0s'
    spec = load_text(project(fold))

    written = project_data(spec)["products"]["total"]

    assert {
        "fold": "entry",
        "by": ["account"],
        "sequence": "no",
        "kind": "account",
        "state": {"sum": "long = 0", "x": "string"},
        "when": {"Deposited": {"sum": "sum + event.amount"}},
        "wait": "0s",
    } == written


def test_a_plan_tells_what_a_fold_does() -> None:
    spec = load_text(project(f"sequence: no, {STATE}, {SUM}", "append: true\n    time: at"))

    assert """Emit total by account
  Fold by account in the order of no, by type
    sum long: cast(0 as long) at first
    Deposited: sum = sum + event.amount
  Events behind a gap wait 1m by the watermark of entry
  Scan entry [account, no, type, amount, price, at]
""" == render_plan(build_plan(spec))


def test_python_refuses_a_kind_that_is_there_already() -> None:
    made = jn.fold("n", "entry", sequence="no", state={"n": "long = 0"}).when("A", n="n + 1")

    with pytest.raises(SpecError, match='there is a "A" under when already'):
        made.when("A", n="n + 2")


def test_python_takes_assignments_as_a_map_too() -> None:
    made = jn.fold("n", "entry", sequence="no", state={"n": "long = 0", "kind": "string"})

    both = made.when("A", {"kind": "event.type"}, n="n + 1")

    assert isinstance(both.spec.form, FoldSpec)
    assert (("A", (("kind", "event.type"), ("n", "n + 1"))),) == both.spec.form.when


def test_python_reads_the_state_as_a_file_does() -> None:
    with pytest.raises(ProjectErrors, match="there is no type"):
        jn.fold("n", "entry", sequence="no", state={"n": "lnog"})
