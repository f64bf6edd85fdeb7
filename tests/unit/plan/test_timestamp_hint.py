"""What is proposed where a column is not a timestamp and has to be one."""

from __future__ import annotations

import pytest

from joinery.errors import ProjectErrors
from joinery.plan.build import build_plan
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  rate:
    {{key: [id], fields: {{id: long, "a day": date, said: string, ms: long, s: double,
    n: timestamp_ntz, select: date, Case: long, ok: boolean,
    parts: "array<long>"}}{time}}}
  sale: {{key: [id], fields: {{id: long, on: date}}}}
products:
  p: {{{product}}}
"""
HISTORY = "history: rate, valid: {}"


@pytest.mark.parametrize(
    ("time", "product", "hint"),
    [
        ("", HISTORY.format("a day"), "derive: {valid_at: cast(`a day` as timestamp)}."),
        ("", HISTORY.format("said"), "derive: {valid_at: cast(said as timestamp)}."),
        ("", HISTORY.format("ms"), "derive: {valid_at: timestamp_millis(ms)}."),
        ("", HISTORY.format("s"), "derive: {valid_at: timestamp_millis(cast(s as bigint))}."),
        ("", HISTORY.format("n"), "derive: {valid_at: cast(n as timestamp)}."),
        ("", HISTORY.format("select"), "derive: {valid_at: cast(`select` as timestamp)}."),
        ("", HISTORY.format("Case"), "derive: {valid_at: timestamp_millis(`Case`)}."),
        (", time: said", "root: rate", "derive: {at: cast(said as timestamp)}."),
        (
            ", derive: {at: timestamp_millis(ms)}, time: at",
            "root: sale, embed: {r: {one: rate, on: [id], as_of: 'on'}}",
            "derive: {at: cast(on as timestamp)}.",
        ),
    ],
)
def test_a_column_is_made_a_timestamp_as_its_type_asks(time: str, product: str, hint: str) -> None:
    with pytest.raises(ProjectErrors) as failed:
        build_plan(load_text(PROJECT.format(time=time, product=product)))

    assert [f"Derive one, such as {hint}"] == [each.hint for each in failed.value.problems]


@pytest.mark.parametrize(("column", "type_"), [("ok", "boolean"), ("parts", "array<long>")])
def test_nothing_is_proposed_where_no_timestamp_can_be_made(column: str, type_: str) -> None:
    with pytest.raises(ProjectErrors) as failed:
        build_plan(load_text(PROJECT.format(time="", product=HISTORY.format(column))))

    hint = f"Name a column that is one: of {type_} none can be made."
    assert [hint] == [each.hint for each in failed.value.problems]
