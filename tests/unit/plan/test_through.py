"""Embeds through another relation: what they are resolved to, and every problem at its word."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.model.type import LONG, Array, Decimal, Field, Struct
from joinery.plan.build import build_plan, examine
from joinery.plan.node import Node
from joinery.plan.support import refusals
from joinery.project.load import load_spec

PROJECT = """\
sources: {{changes: {{files: {{path: data}}}}}}
relations:
  user: {{key: [id], fields: {{id: long, name: string}}}}
  follow: {{key: [id], fields: {{id: int, who: int, whom: int, note: string}}}}
  post: {{key: [id], fields: {{id: long, author: "decimal(9,2)", at: long}}}}
products:
  timeline:
    root: user
    solution: {solution}
    sink: {{files: {{path: out}}}}
    embed:
      posts:
        many: post
        through: {through}
        on: {on}
        {more}
"""


def text_of(
    *,
    through: str = "{follow: {who: id}}",
    on: str = "{author: follow.whom}",
    more: str = "",
    solution: str = "spark-state",
) -> str:
    """Return a project with one embed through a relation."""
    return PROJECT.format(through=through, on=on, more=more, solution=solution)


def root_of(folder: Path, text: str) -> Node:
    """Return the root of the only product."""
    (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    return build_plan(load_spec(folder / "joinery.yaml")).products[0].root


def problems_of(folder: Path, text: str) -> list[str]:
    """Return what is wrong, as `line code message, hint`."""
    (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    plan, problems, _ = examine(load_spec(folder / "joinery.yaml"))
    assert plan is None
    return [
        f"{each.location.line} {each.code} {each.message}, {each.hint}"
        for each in problems
        if each.location
    ]


def test_each_side_is_compared_in_its_own_type(tmp_path: Path) -> None:
    root = root_of(tmp_path, text_of())
    (posts,) = root.embeds

    assert posts.through is not None
    assert ("author", "whom", Decimal(12, 2)) == (
        posts.on[0].child,
        posts.on[0].parent,
        posts.on[0].type,
    )
    assert ("who", "id", LONG) == (
        posts.through.on[0].child,
        posts.through.on[0].parent,
        posts.through.on[0].type,
    )


def test_the_hot_ones_stand_behind_the_total(tmp_path: Path) -> None:
    root = root_of(tmp_path, text_of(more="hot: {above: 5}\n        limit: 3"))

    assert ["id", "name", "posts", "posts_total", "posts_hot"] == [
        each.name for each in root.output.fields
    ]
    assert Array(Decimal(12, 2)) == root.output.fields[-1].type


def test_hot_ones_of_several_columns_are_objects(tmp_path: Path) -> None:
    on = "{author: follow.whom, at: follow.who}"

    root = root_of(tmp_path, text_of(on=on, more="hot: {above: 5}"))

    assert Array(Struct((Field("author", Decimal(12, 2)), Field("at", LONG)))) == (
        root.output.fields[-1].type
    )


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        (
            {"through": "{follows: {who: id}}", "on": "{author: follows.whom}"},
            '14 PLAN_UNKNOWN_RELATION there is no relation "follows", Use "follow".',
        ),
        (
            {"through": "{follow: {wh: id}}"},
            '14 PLAN_UNKNOWN_FIELD relation "follow" has no field "wh", Use "who".',
        ),
        (
            {"on": "{author: follow.whon}"},
            '15 PLAN_UNKNOWN_FIELD relation "follow" has no field "whon", Use "who".',
        ),
        (
            {"through": "{follow: {name: note}}"},
            '14 PLAN_ON_SWAPPED the sides of "through" of embed "posts" look swapped,'
            " Write through: {follow: {note: name}}.",
        ),
        (
            {"on": "{whom: follow.author}"},
            '15 PLAN_ON_SWAPPED the sides of "on" of embed "posts" look swapped,'
            " Write on: {author: follow.whom}.",
        ),
        (
            {"on": "{author: follow.note}"},
            '15 PLAN_TYPE_MISMATCH "author" of "post" (decimal(9,2)) cannot equal',
        ),
        (
            {"more": "where: follow.note = 'x'"},
            '16 PLAN_UNKNOWN_COLUMN there is no column "follow" here,'
            ' Columns of "follow" can be used only in "on".',
        ),
        (
            {"more": "order: [-follow.id]"},
            '16 PLAN_UNKNOWN_COLUMN there is no column "follow" here,'
            ' Columns of "follow" can be used only in "on".',
        ),
        (
            {"more": "fields: {note: follow.note}"},
            '16 PLAN_UNKNOWN_COLUMN there is no column "follow" here,'
            ' Columns of "follow" can be used only in "on".',
        ),
    ],
)
def test_a_problem_is_told_at_its_word(tmp_path: Path, parts: dict[str, str], problem: str) -> None:
    found = problems_of(tmp_path, text_of(**parts))

    assert 1 == len(found), found
    assert found[0].startswith(problem), found


def test_the_list_of_hot_ones_is_an_output_with_a_name_of_its_own(tmp_path: Path) -> None:
    text = text_of(more="hot: {above: 5}") + "    values: {posts_hot: '1'}\n"

    found = problems_of(tmp_path, text)

    assert any("PLAN_DUPLICATE_OUTPUT" in each for each in found), found


def test_spark_state_runs_it_but_for_aggregates_over_it(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(text_of(), encoding="utf-8")
    assert () == refusals(load_spec(file), build_plan(load_spec(file)))

    file.write_text(text_of() + "    values: {n: count(posts)}\n", encoding="utf-8")
    (found,) = refusals(load_spec(file), build_plan(load_spec(file)))

    assert 'aggregates over embed "posts" through another relation' in found.message


@pytest.mark.parametrize("solution", ["rdbms-store", "kv"])
def test_other_solutions_refuse_it_at_its_key(tmp_path: Path, solution: str) -> None:
    (tmp_path / "joinery.yaml").write_text(text_of(solution=solution), encoding="utf-8")
    spec = load_spec(tmp_path / "joinery.yaml")

    (found,) = refusals(spec, build_plan(spec))

    assert "PLAN_NOT_YET" == found.code
    assert 'cannot run "timeline" yet: embed "posts" through another relation' in found.message
    assert found.location is not None
    assert 14 == found.location.line
