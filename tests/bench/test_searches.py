"""The queries that are measured say the same in the words of either side."""

from __future__ import annotations

from typing import Any

from bench.compare.search_rows import listing, notice, query, text_query
from joinery.expression.condition import build_condition
from joinery.expression.evaluate import compile_expression
from joinery.model.type import DOUBLE, INT, STRING, Field, Struct
from joinery.semantics.text_parser import build_text_query

SCOPE = {"city": STRING, "kind": STRING, "price": INT, "rooms": INT, "area": DOUBLE}


def asked(clause: dict[str, Any], row: dict[str, Any]) -> bool:
    """Return what OpenSearch makes of one clause."""
    ((word, told),) = clause.items()
    ((column, value),) = told.items()
    if word == "range":
        low, high = value.get("gte", float("-inf")), value.get("lte", float("inf"))
        return bool(low <= row[column] <= high and row[column] < value.get("lt", float("inf")))
    return row[column] in (value if word == "terms" else [value])


def test_a_query_holds_of_the_same_listings_in_each_language() -> None:
    rows, matches = [listing(id) for id in range(400)], 0
    for each in map(query, range(600)):
        holds = compile_expression(build_condition(each.text, SCOPE))
        for row in rows:
            expected = each.holds(row)
            matches += expected
            assert expected == (holds(row) is True), each.text
            assert expected == all(asked(one, row) for one in each.percolate), each.text

    assert matches > 10


def test_a_text_query_holds_of_the_same_notices_in_python() -> None:
    columns = (Field("title", STRING), Field("body", STRING), Field("price", INT))
    rows, matches = [notice(id) for id in range(60)], 0
    for each in map(text_query, range(500)):
        asked = build_text_query(each.text, Struct(columns))
        for row in rows:
            expected = each.holds(row)
            matches += expected
            assert expected == asked.holds(row), each.text

    assert matches > 10
