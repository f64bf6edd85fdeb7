"""Embeds through another relation: what is declared, from both doors, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.project.loading import load, problems

import joinery as jn
from joinery.project.load import dump_spec
from joinery.project.node import NodeSpec, ThroughSpec

RELATIONS = """\
relations:
  user: {key: [id], fields: {id: long}}
  follow: {key: [id], fields: {id: long, follower_id: long, followee_id: long}}
  post: {key: [id], fields: {id: long, author_id: long, at: timestamp}}
products:
  timeline:
    root: user
    embed:
      posts: {many: post, """
USER = jn.relation("user", key="id", fields={"id": "long"})
FOLLOW = jn.relation(
    "follow", key="id", fields={"id": "long", "follower_id": "long", "followee_id": "long"}
)
POST = jn.relation("post", key="id", fields={"id": "long", "author_id": "long", "at": "timestamp"})
TIMELINE = (
    "through: {follow: {follower_id: id}}, on: {author_id: follow.followee_id},"
    " order: [-at], limit: 3, hot: {above: 9}}\n"
)


def embed_of(folder: Path, text: str) -> NodeSpec:
    """Load a project, and return its only embed."""
    return load(folder, RELATIONS + text).products[0].root.embed[0]


def problems_of(folder: Path, text: str) -> list[str]:
    """Load a broken project, and return its problems."""
    return problems(folder, RELATIONS + text)


def test_an_embed_through_a_relation_names_its_columns_on_both_sides(tmp_path: Path) -> None:
    embed = embed_of(tmp_path, TIMELINE)

    assert ThroughSpec("follow", (("follower_id", "id"),), hot_above=9) == embed.through
    assert (("author_id", "followee_id"),) == embed.on


def test_python_declares_the_same(tmp_path: Path) -> None:
    made = jn.document("timeline", USER).embed_many(
        "posts",
        POST,
        through={FOLLOW: {"follower_id": "id"}},
        on={"author_id": "follow.followee_id"},
        order=["-at"],
        limit=3,
        hot={"above": 9},
    )
    project = jn.Project("project", relations=[USER, FOLLOW, POST], products=[made])

    assert embed_of(tmp_path, TIMELINE) == made.spec.root.embed[0]
    assert (USER, POST, FOLLOW) == made.relations
    assert load(tmp_path, project.to_yaml()).products == (made.spec,)


def test_what_is_written_back_names_the_relation_again(tmp_path: Path) -> None:
    spec = load(tmp_path, RELATIONS + TIMELINE)

    assert "author_id: follow.followee_id" in dump_spec(spec)
    assert load(tmp_path, dump_spec(spec)) == spec


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "through: {follow: {follower_id: id}}, on: {author_id: followee_id}}\n",
            '9:69 SPEC_VALUE "followee_id" in "on" of embed "posts" is not a column of "follow"',
        ),
        (
            "through: {follow: [id], like: [id]}, on: {author_id: follow.followee_id}}\n",
            '9:36 SPEC_SHAPE "through" of embed "posts" needs a map with one relation,'
            " not a map of 2",
        ),
        (
            "through: follow, on: {author_id: follow.followee_id}}\n",
            '9:36 SPEC_SHAPE "through" of embed "posts" needs a map with one relation,'
            ' not "follow"',
        ),
        ("on: {author_id: id}, hot: {above: 9}}\n", '9:53 SPEC_VALUE embed "posts" has "hot"'),
        (
            "through: {follow: [id]}, on: {author_id: follow.id}, hot: {}}\n",
            '9:85 SPEC_MISSING_KEY "hot" of embed "posts" needs "above"',
        ),
        (
            "through: {follow: [id]}, on: {author_id: follow.id}, hot: {above: 0}}\n",
            '9:93 SPEC_SHAPE "above" of "hot" of embed "posts" needs a whole number from 1',
        ),
        ("through: {follow: [id]}}\n", '9:7 SPEC_MISSING_KEY embed "posts" needs "on"'),
    ],
)
def test_what_leads_nowhere_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    found = problems_of(tmp_path, text)

    assert any(each.startswith(problem) for each in found), found


def test_an_object_is_not_reached_through_a_relation(tmp_path: Path) -> None:
    text = RELATIONS.replace("many", "one") + TIMELINE

    found = problems(tmp_path, text)

    assert any('is a "one" and cannot have "through"' in each for each in found)
