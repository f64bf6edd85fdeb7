"""Which documents with intervals keep their rows forever, of which `check` warns."""

from __future__ import annotations

import pytest

from joinery.plan.build import build_plan
from joinery.plan.lasting import lasting_of
from joinery.plan.product import DocumentForm
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  search: {{key: [id], fields: {{id: long, person: long, at: timestamp}}, time: at}}
  click: {{key: [id], fields: {{id: long, search: long, at: timestamp}}, time: at}}
  person: {{key: [id], fields: {{id: long, name: string, at: timestamp}}, time: at}}
products:
  outcome: {{root: search, embed: {{{embeds}}}}}
"""
CLICKS = "clicks: {many: click, on: {search: id}, within: [0s, 30m]"
PERSON = "of: {one: person, on: {id: person}"


@pytest.mark.parametrize(
    ("embeds", "reason"),
    [
        (f"{CLICKS}}}, {PERSON}}}", 'embed "of" has no "within"'),
        (f"{CLICKS}}}, {PERSON}, as_of: at}}", 'embed "of" has no "within"'),
        (
            f"{CLICKS}, embed: {{of: {{one: person, on: {{id: search}}}}}}}}",
            'interval "clicks" has embeds of its own',
        ),
    ],
)
def test_rows_are_warned_of_that_are_kept_for_ever_beside_an_embed(
    embeds: str, reason: str
) -> None:
    plan = build_plan(load_text(PROJECT.format(embeds=embeds)))

    told = f'rows of "search" and of its intervals are kept forever: {reason}'
    assert [told] == [each.message for each in plan.warnings if each.code == "PLAN_UNBOUNDED"]


@pytest.mark.parametrize("embeds", [f"{CLICKS}}}", f"{PERSON}}}", f"{PERSON}, as_of: at}}"])
def test_nothing_is_warned_of_where_rows_are_forgotten_or_there_is_no_interval(
    embeds: str,
) -> None:
    assert () == build_plan(load_text(PROJECT.format(embeds=embeds))).warnings


def test_intervals_of_the_root_alone_are_forgotten() -> None:
    before = "before: {many: search, on: {person: person}, within: [-30m, 0s]}"
    (product,) = build_plan(load_text(PROJECT.format(embeds=f"{CLICKS}}}, {before}"))).products

    assert isinstance(product.form, DocumentForm)
    lasting = lasting_of(product.form)
    assert {"search", "click"} == {each.name for each in lasting}
    assert 1 == len({*lasting.values()}), "what is near a root and a root lasts as what is near"
