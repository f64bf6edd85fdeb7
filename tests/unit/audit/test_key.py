"""Root keys of sinks that are no keys of the product are told apart."""

from __future__ import annotations

import pytest

from joinery.audit.key import KeyTexts
from joinery.model.type import BOOLEAN, LONG, STRING, Field
from joinery.plan.relation import Relation

FIELDS = (Field("id", LONG), Field("name", STRING), Field("on", BOOLEAN))
KEYS = KeyTexts(Relation("item", "db", "item", "json", ("id", "name", "on"), FIELDS))


def test_a_key_is_what_its_text_tells() -> None:
    assert (7, "a", True) == KEYS.key('{"id":7,"name":"a","on":true}')
    assert '{"id":7,"name":"a","on":true}' == KEYS.text((7, "a", True))


@pytest.mark.parametrize(
    "text",
    [
        '{"id":"x","name":"a","on":true}',
        '{"id":1.5,"name":"a","on":true}',
        '{"id":true,"name":"a","on":true}',
        '{"id":9223372036854775808,"name":"a","on":true}',
        '{"id":null,"name":"a","on":true}',
        '{"id":7,"name":1,"on":true}',
        '{"id":7,"name":"a","on":1}',
        '{"id":7}',
        '"7"',
        "[7]",
        "{",
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        KEYS.key(text)
