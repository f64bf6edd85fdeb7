"""Groups of an aggregate are columns, or expressions with a name; sessions last as they say."""

from __future__ import annotations

import pytest

from joinery.errors import ProjectErrors
from joinery.plan.build import build_plan
from joinery.testing.conformance.project import load_text

VIEWS = """\
relations:
  view:
    append: true
    key: [page]
    fields: {page: string, "odd name": long, at: timestamp}
    time: at
products:
"""
COUNTED = "values: {n: count(*)}, sink: {files: {path: out}}"
FORMS = {
    "aggregate": f"aggregate: view, BY, {COUNTED}",
    "pattern": "pattern: view, BY, match: A, within: 1h, sink: {files: {path: out}}",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("written", ["date(at)", "`odd name`"])
def test_an_expression_without_a_name_is_no_group(form: str, written: str) -> None:
    text = VIEWS + f"  days: {{{form.replace('BY', f'by: [page, {written!r}]')}}}\n"

    with pytest.raises(ProjectErrors) as caught:
        build_plan(load_text(text))

    (problem,) = caught.value.problems
    assert ("PLAN_UNKNOWN_FIELD", f'there is no column "{written}" to group by') == (
        problem.code,
        problem.message,
    )
    assert f"Write {{NAME: {written}}} for an expression." == problem.hint


def test_an_expression_with_a_name_is_a_group() -> None:
    by = "by: [page, {day: date(at), odd: '`odd name`'}]"
    plan = build_plan(load_text(VIEWS + f"  days: {{aggregate: view, {by}, {COUNTED}}}\n"))

    assert ["page", "day", "odd"] == [each.name for each in plan.products[0].key.fields]


@pytest.mark.parametrize(
    ("longest", "cuts"), [("10m", True), ("30m", True), ("31m", False), ("12h", False)]
)
def test_a_session_that_never_ends_by_its_gap_is_warned_of(longest: str, cuts: bool) -> None:
    window = f"window: {{session: 30m, max: {longest}}}"
    plan = build_plan(load_text(VIEWS + f"  visits: {{aggregate: view, {window}, {COUNTED}}}\n"))

    told = [each.message for each in plan.warnings if each.code == "PLAN_WINDOW"]
    expected = f"each session is cut after {longest}, before its gap of 30m is over"
    assert told == ([expected] if cuts else [])
