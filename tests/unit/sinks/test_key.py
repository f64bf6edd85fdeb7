"""A key has one text, and no other key of its relation has it."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from joinery.errors import SinkError
from joinery.model.type import LONG, STRING, Field, Struct
from joinery.sinks.key import key_of_text, key_text, listed_key


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ({"email": "ada@example.org"}, "ada@example.org"),
        ({"id": 7}, "7"),
        ({"id": True}, "true"),
        ({"amount": Decimal("1.50")}, "1.50"),
        ({"owner": "ada", "number": 7}, '["ada",7]'),
        ({"owner": 'a"b', "amount": Decimal("1.50")}, '["a\\"b",1.50]'),
        ({"name": "naïve 😀"}, "naïve 😀"),
        ({"id": 1, "of": {"n": Decimal("1.50"), "x": "é"}}, '[1,{"n":1.50,"x":"é"}]'),
    ],
)
def test_a_key_is_shown_as_its_value_or_as_the_list_of_its_values(
    key: dict[str, object], text: str
) -> None:
    assert text == key_text(key)


def test_an_empty_key_has_a_text_that_is_not_empty() -> None:
    assert '""' == key_text({"name": ""})


def test_a_key_that_looks_like_the_text_of_another_is_told_apart() -> None:
    assert key_text({"name": '""'}) != key_text({"name": ""})


@pytest.mark.parametrize("region", [None, "null", "None", ""])
def test_the_key_of_nothing_is_told_apart_and_read_back(region: str | None) -> None:
    others = {"null", "None", "", None} - {region}

    text = key_text({"region": region})

    assert text not in {key_text({"region": each}) for each in others}
    key = key_of_text(text, Struct((Field("region", STRING),)))
    assert {"region": region} == json.loads(key)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("ada", (Field("id", LONG),)),
        ("7", (Field("id", LONG), Field("name", STRING))),
        ("[7]", (Field("id", LONG), Field("name", STRING))),
    ],
)
def test_a_text_of_another_key_that_a_target_holds_is_an_error_with_what_to_do(
    text: str, columns: tuple[Field, ...]
) -> None:
    with pytest.raises(SinkError, match="redis holds documents under keys of other") as refused:
        listed_key(text, Struct(columns), "redis")

    assert "Name another place" in refused.value.hint
