from __future__ import annotations

import pytest

from joinery.model.type import BINARY, STRING, Decimal, Field
from joinery.solutions.relational.postgres_database import (
    array_text,
    column_type,
    escaped,
    needs_escape,
    unescaped,
)


@pytest.mark.parametrize("text", ["", "plain", "a\0b", "\ue000", "\ue0000\0\ue0001", "\0\0"])
def test_an_escaped_text_comes_back(text: str) -> None:
    assert "\0" not in escaped(text)
    assert text == unescaped(escaped(text))


def test_only_texts_with_a_nul_or_the_escape_need_it() -> None:
    fields = [Field("a", STRING), Field("b", BINARY)]

    assert not needs_escape([("plain", b"\0"), (None, None)], fields)
    assert needs_escape([("plain", None), ("a\0", None)], fields)
    assert needs_escape([("\ue000", None)], fields)


def test_an_array_holds_any_text() -> None:
    assert '{"","a\\"b","\\\\","{,}","NULL"}' == array_text(
        ["", 'a"b', "\\", "{,}", "NULL"], STRING
    )
    assert '{""}' == array_text([""], STRING)
    assert "{}" == array_text([], STRING)
    assert '{"\\\\x00ff"}' == array_text([b"\0\xff"], BINARY)


def test_a_decimal_keeps_its_digits() -> None:
    assert "numeric(38,2)" == column_type(Decimal(38, 2))
