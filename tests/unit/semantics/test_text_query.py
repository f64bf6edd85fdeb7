"""Text queries: what Lucene found in one table of texts, which the kernel's tests read, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from joinery.expression.problem import ExpressionError
from joinery.model.type import Struct, parse_type
from joinery.semantics.text_parser import build_text_query
from joinery.semantics.text_tokens import words

TABLE = Path(__file__).parents[3] / "kernel" / "src" / "test" / "resources" / "text_cases.json"
CASES: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
TEXTS = parse_type("struct<title:string,tags:array<string>>")
ROW = parse_type(
    "struct<title:string,price:int,rate:decimal(6,2),sold:boolean,day:date,"
    "parts:array<struct<name:string,n:int,m:map<string,int>>>>"
)
VALUE = {
    "title": "Oak table",
    "price": 5,
    "rate": None,
    "sold": True,
    "day": None,
    "parts": [{"name": "left leg", "n": 3, "m": {}}, {"name": "right", "n": 8, "m": {}}],
}


def holds(query: str) -> bool:
    assert isinstance(ROW, Struct)
    return build_text_query(query, ROW).holds(VALUE)


def test_words_are_those_of_lucene() -> None:
    assert CASES["words"] == {text: list(words(text)) for text in CASES["words"]}


def found(query: str) -> list[int] | None:
    assert isinstance(TEXTS, Struct)
    try:
        asked = build_text_query(query, TEXTS)
    except ExpressionError:
        return None
    return [at for at, text in enumerate(CASES["texts"]) if asked.holds(text)]


def test_queries_hold_where_lucene_finds_them() -> None:
    assert CASES["queries"] == {query: found(query) for query in CASES["queries"]}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("oak AND price:[1 TO 5]", True),
        ("oak AND price:[1 TO 5}", False),
        ("price:\\-5", False),
        ("price:{* TO *}", True),
        ("rate:[* TO *]", False),
        ("sold:true -price:6", True),
        ("day:[2024-01-01 TO *]", False),
        ('parts.name:"left leg"', True),
        ('parts.name:"leg right"', False),
        ("parts.n:8 AND -parts.n:9", True),
        ("left", True),
    ],
)
def test_columns_that_are_no_text_are_compared(query: str, expected: bool) -> None:
    assert holds(query) is expected


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "empty"),
        ("oak~2", "~"),
        ("/oa./", "regular"),
        ("*ak", "begins"),
        ("titel:oak", '"titel"'),
        ("price:five", "not a value"),
        ("price:1*", "no pattern"),
        ("sold:[true TO true]", "no range"),
        ("parts.m:1", "no query"),
        ("day:2024-13-01", "not a date"),
        ("(" * 51 + "a" + ")" * 51, "50 nested brackets"),
        ("oak \\", "backslash"),
        ("\\u0041", "\\u"),
        ("oak" * 3000, "8192"),
    ],
)
def test_what_cannot_be_asked_is_told(query: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message.replace("\\", "\\\\")):
        holds(query)
