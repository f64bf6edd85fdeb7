from __future__ import annotations

import os
from pathlib import Path

import joinery as jn
from joinery.solutions.relational.layout import RelationTable, relation_tables

EXAMPLE = Path(__file__).parents[4] / "examples" / "github" / "joinery.yaml"


def tables() -> dict[str, RelationTable]:
    os.environ.setdefault("BENCH_CHANGES", "none")
    return relation_tables([jn.load(EXAMPLE).products["user_profile"].plan])


def test_a_join_side_that_leads_the_key_needs_no_index() -> None:
    star = tables()["star"]

    assert ("username", "repo_name", "repo_owner") == star.key
    assert (("repo_owner", "repo_name"),) == star.indexes


def test_a_join_side_outside_the_key_gets_an_index() -> None:
    assert (("username",), ("id",)) == tables()["user"].indexes
    assert (("author",),) == tables()["pull_request"].indexes


def test_a_join_side_that_is_the_key_in_another_order_needs_none() -> None:
    assert () == tables()["repo"].indexes


def test_only_what_products_read_is_shown() -> None:
    assert ["name", "owner", "description"] == [each.name for each in tables()["repo"].shown]
