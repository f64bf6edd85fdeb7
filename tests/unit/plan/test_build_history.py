"""What a history may name, and what is told where it may not."""

from __future__ import annotations

import pytest

from joinery.errors import ProjectErrors
from joinery.plan.build import build_plan
from joinery.testing.conformance.project import load_text


def problems(text: str) -> list[str]:
    try:
        build_plan(load_text(text))
    except ProjectErrors as errors:
        return [f"{each.code} {each.message}" for each in errors.problems]
    return []


def refused(history: str, relation: str = "key: [id]") -> list[str]:
    text = f"""
relations:
  customer: {{{relation}, fields: {{id: long, tier: string, day: date, since: timestamp}}}}
products:
  tiers: {{history: customer, {history}}}
"""
    return problems(text)


@pytest.mark.parametrize(
    ("history", "relation", "problem"),
    [
        (
            "valid: sinse",
            "key: [id]",
            'PLAN_UNKNOWN_FIELD relation "customer" has no field "sinse"',
        ),
        (
            "valid: day",
            "key: [id]",
            'PLAN_TYPE_MISMATCH "valid" needs a timestamp, and "day" is date',
        ),
        (
            "valid: since",
            "key: [id, since]",
            'PLAN_KEY "valid" names "since", which is in the key of relation "customer"',
        ),
        (
            "valid: since, track: [teir]",
            "key: [id]",
            'PLAN_UNKNOWN_FIELD relation "customer" has no field "teir"',
        ),
        (
            "valid: since, track: [since]",
            "key: [id]",
            'PLAN_DUPLICATE_OUTPUT "track" names "since",'
            " which is the time of a version and shown already",
        ),
        (
            "valid: since, track: [tier, tier]",
            "key: [id]",
            'PLAN_DUPLICATE_OUTPUT "track" names "tier" twice',
        ),
        (
            "valid: since",
            "append: true",
            'PLAN_KEY relation "customer" has no key, and versions are those of a key',
        ),
        (
            "valid: since, where: id > 1",
            "key: [id]",
            'SPEC_VALUE product "tiers" has both "history" and "where"',
        ),
        (
            "track: [tier]",
            "key: [id]",
            'SPEC_MISSING_KEY product "tiers" needs "valid"',
        ),
        (
            "valid: since, emit: {when: closed}",
            "key: [id]",
            'SPEC_VALUE "when" of "emit" is for products with "aggregate" or "pattern",'
            ' or with "within" in an embed',
        ),
        (
            "valid: since, known_at: true",
            "key: [id]",
            'PLAN_LOG_TIME "known_at" of product "tiers" needs the time of the log,'
            " which files do not have",
        ),
        (
            "valid: since, known_at: snce",
            "key: [id]",
            'PLAN_UNKNOWN_FIELD relation "customer" has no field "snce"',
        ),
        (
            "valid: since, known_at: tier",
            "key: [id]",
            'PLAN_TYPE_MISMATCH "known_at" needs a timestamp, and "tier" is string',
        ),
        (
            "valid: since, known_at: [since]",
            "key: [id]",
            'SPEC_SHAPE "known_at" of product "tiers" needs a text, not a list',
        ),
        (
            "valid: valid_to",
            "key: [id], derive: {valid_to: since, is_current: id > 1}",
            'PLAN_DUPLICATE_OUTPUT there are two outputs "is_current":'
            " versions add a column of this name",
        ),
    ],
)
def test_what_no_history_can_be_is_one_line(history: str, relation: str, problem: str) -> None:
    assert [problem] == refused(history, relation)


def test_a_field_in_the_place_of_the_time_of_the_log_is_told_so() -> None:
    text = """
relations: {r: {key: [id], fields: {id: long, at: timestamp, log_time: timestamp}}}
products: {p: {history: r, valid: at, known_at: true}}
"""

    with pytest.raises(ProjectErrors) as refused_:
        build_plan(load_text(text))

    problems = refused_.value.problems
    hints = [each.hint for each in problems if each.code == "PLAN_DUPLICATE_OUTPUT"]
    assert ["Rename the field: the time of the log is a column of this name."] == hints


def test_a_history_of_a_column_called_valid_from_is_none_of_these() -> None:
    assert [] == refused("valid: valid_from", "key: [id], derive: {valid_from: since}")


@pytest.mark.parametrize(
    ("as_of", "time", "problem"),
    [
        (
            "as_of: placed",
            "",
            'PLAN_AS_OF "as_of" of embed "rate" needs to know from when a row is valid,'
            ' and "rate" has no time',
        ),
        (
            "as_of: plaecd",
            "time: since",
            'PLAN_UNKNOWN_FIELD relation "sale" has no field "plaecd"',
        ),
        (
            "as_of: id",
            "time: since",
            'PLAN_TYPE_MISMATCH "as_of" of embed "rate" needs a timestamp, and "id" is long',
        ),
        (
            "as_of: placed, within: [0s, 1s]",
            "time: since",
            'SPEC_VALUE embed "rate" has both "as_of" and "within"',
        ),
    ],
)
def test_what_no_embed_can_be_as_of_is_one_line(as_of: str, time: str, problem: str) -> None:
    text = f"""
relations:
  sale: {{key: [id], fields: {{id: long, code: string, placed: timestamp}}, time: placed}}
  rate:
    key: [code]
    fields: {{code: string, since: timestamp}}
    {time}
products:
  p: {{root: sale, embed: {{rate: {{one: rate, on: [code], {as_of}}}}}}}
"""
    assert [problem] == problems(text)
