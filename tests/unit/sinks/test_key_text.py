"""A key has one text, and no other key of its relation has it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from joinery.sinks.key import key_text


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
