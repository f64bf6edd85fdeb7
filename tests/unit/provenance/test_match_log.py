"""Why a stored query does not match a document, and how the two are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.search import SearchForm
from joinery.provenance.match_log import MatchLog
from joinery.provenance.row_log import ToldRow
from joinery.provenance.told import Naming
from joinery.testing.changes import RowChange, delete, insert
from joinery.testing.conformance.project import load_text

PROJECT = """\
relations:
  listing:
    key: [city, id]
    fields: {city: string, id: long, tenant: string, price: int, sold: boolean}
    where: not sold
  saved: {key: [id], fields: {id: string, tenant: string, condition: string}}
products:
  alert: {search: listing, queries: saved, query: condition, on: [tenant]}
"""
AHEAD = PROJECT.replace("on: [tenant]", "on: [tenant], retroactive: false")


def listing(**columns: object) -> RowChange:
    given = {"city": "Ulm, old", "id": 7, "tenant": "north", "price": 400, "sold": False}
    return insert("listing", **{**given, **columns})


def saved(condition: object, **columns: object) -> RowChange:
    given = {"id": "a", "tenant": "north", "condition": condition}
    return insert("saved", **{**given, **columns})


def told(
    made: Sequence[RowChange], text: str = "a,Ulm, old,7", project: str = PROJECT
) -> ToldRow | None:
    return asked(made, text, project)[1]


def asked(
    made: Sequence[RowChange], text: str, project: str = PROJECT
) -> tuple[MatchLog, ToldRow | None]:
    (product,) = build_plan(load_text(project)).products
    assert isinstance(product.form, SearchForm)
    relations = {each.name: each for each in product.form.relations}
    changes: list[Change] = [
        replace(each.change(relations[each.relation]), place=(0, number))
        for number, each in enumerate(made)
    ]
    log = MatchLog(product, product.form, Naming(), max_document_bytes=None)
    return log, log.tell(changes, text)


@pytest.mark.parametrize(
    "text",
    [
        "a,Ulm, old,7",
        '["a", "Ulm, old", 7]',
        '[{"id": "a"}, {"id": 7, "city": "Ulm, old"}]',
        '{"document": {"city": "Ulm, old", "id": 7}, "query": {"id": "a"}}',
        'a,["Ulm, old",7]',
    ],
)
def test_a_match_is_named_in_many_ways(text: str) -> None:
    found = told([saved("price < 500"), listing()], text)

    assert found is not None
    assert ["query", "document"] == [each.role for each in found.parts]
    assert 1 == found.altered


@pytest.mark.parametrize("text", ["", "a", "a,", "b,Ulm, old,7", "[]", "7", "null", '{"query":1}'])
def test_a_text_that_names_no_pair_has_no_answer(text: str) -> None:
    assert told([saved("price < 500"), listing()], text) is None


def test_a_text_that_names_several_pairs_has_no_answer_but_their_arrays() -> None:
    made = [saved("true"), saved("true", id="a,Ulm"), listing(city="Ulm,x"), listing(city="x")]
    log, found = asked(made, "a,Ulm,x,7")

    assert found is None
    assert ['["a","Ulm,x",7]', '["a,Ulm","x",7]'] == log.several
    assert all(told(made, each) is not None for each in log.several)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ([saved("price < 400"), listing()], "`price < 400`, is not true of listing"),
        ([saved("price < 400"), listing()], "with price = 400"),
        ([saved("price <"), listing()], "`price <`, cannot be read:"),
        ([saved("cast(tenant as int) > 0"), listing()], "cannot be evaluated for listing"),
        ([saved(None), listing()], "saved a has no query: condition = null"),
        ([saved("true", tenant="south"), listing()], 'saved a has tenant = "south", and listing'),
        ([saved("true", tenant=None), listing()], ", and null matches nothing"),
        ([saved("true"), listing(sold=True)], "the where of relation listing leaves out"),
        ([saved("true"), listing(), delete("saved", id="a")], "saved a was deleted at saved/0/2"),
    ],
)
def test_what_keeps_the_two_apart_is_told(made: Sequence[RowChange], why: str) -> None:
    found = told(made)

    assert found is not None
    assert found.text is None
    (note,) = found.notes
    assert why in note


def test_a_query_that_came_after_the_document_is_not_called_untrue() -> None:
    after = told([listing(), saved("price < 500")], project=AHEAD)
    before = told([saved("price < 500"), listing()], project=AHEAD)
    untrue = told([listing(), saved("price < 400")], project=AHEAD)

    assert after is not None
    assert before is not None
    assert untrue is not None
    assert "is true of listing" in after.notes[0]
    assert "retroactive: false finds only what changes after the query" in after.notes[0]
    assert before.text is not None
    assert "is not true of listing" in untrue.notes[0]


def test_what_took_a_match_back_is_told_last() -> None:
    found = told([saved("price < 500"), listing(), listing(price=900)])

    assert found is not None
    assert found.last is not None
    assert (2, (0, 2), None) == (found.altered, found.last.change.place, found.last.after)
    assert ["query", "document"] == [each.role for each in found.parts]
