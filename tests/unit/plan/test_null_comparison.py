"""A comparison with null is never true, and `check` warns of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.plan.build import examine
from joinery.project.load import load_spec

PROJECT = """\
sources: {changes: {files: {path: data}}}
relations:
  user: {key: [id], fields: {id: long, name: string, at: timestamp}, time: at}
products:
"""


def warned(folder: Path, product: str) -> list[str]:
    """Return what is warned of in a project with one product, which has no other problem."""
    file = folder / "joinery.yaml"
    file.write_text(PROJECT + product, encoding="utf-8")
    _, problems, warnings = examine(load_spec(file))
    assert not problems
    return [each.code for each in warnings]


@pytest.mark.parametrize(
    "where",
    [
        "name <> null",
        "id = 1 and (name = null or name is null)",
        "id < null",
        "case name when null then true end",
        "name = cast(null as string)",
        "id = cast(null as int)",
        "name not in ('a', null)",
        "id between null and 3",
    ],
)
def test_a_comparison_with_null_is_a_warning(tmp_path: Path, where: str) -> None:
    assert ["PLAN_NULL_COMPARISON"] == warned(tmp_path, f'  p: {{root: user, where: "{where}"}}\n')


@pytest.mark.parametrize(
    "where",
    [
        "name is not null",
        "not (name <=> null)",
        "coalesce(name, null) = 'a'",
        "name = 'null'",
        "name is distinct from null",
        "id in (1, null)",
        "name not in ('a', 'null')",
    ],
)
def test_null_elsewhere_is_no_warning(tmp_path: Path, where: str) -> None:
    assert [] == warned(tmp_path, f'  p: {{root: user, where: "{where}"}}\n')


def test_the_filter_of_an_aggregate_is_looked_at(tmp_path: Path) -> None:
    product = "  p: {aggregate: user, values: {x: count(*) filter (where name = null)}}\n"

    assert ["PLAN_NULL_COMPARISON"] == warned(tmp_path, product)


def test_the_condition_of_a_pattern_is_looked_at(tmp_path: Path) -> None:
    product = "  p: {pattern: user, define: {A: name <> null}, match: A, within: 1h}\n"

    assert ["PLAN_NULL_COMPARISON"] == warned(tmp_path, product)
