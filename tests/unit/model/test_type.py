"""Spark DDL types as text."""

from __future__ import annotations

import pytest

from joinery.model.type import Array, Atomic, Decimal, Field, Map, Struct, TypeTextError, parse_type


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("BIGINT", "long"),
        ("long", "long"),
        ("integer", "int"),
        ("tinyint", "byte"),
        ("smallint", "short"),
        ("real", "float"),
        ("varchar(20)", "string"),
        ("char( 3 )", "string"),
        ("timestamp_ltz", "timestamp"),
        ("timestamp_ntz", "timestamp_ntz"),
        (" boolean ", "boolean"),
    ],
)
def test_every_spelling_of_a_simple_type_is_that_type(text: str, name: str) -> None:
    assert Atomic(name) == parse_type(text)


def test_a_decimal_has_sparks_defaults() -> None:
    assert Decimal(10, 0) == parse_type("decimal")
    assert Decimal(5, 0) == parse_type("numeric(5)")
    assert Decimal(38, 18) == parse_type("dec(38, 18)")


def test_containers_nest() -> None:
    text = "struct<a: int, `b c`:array<map<string,decimal(3,1)>> not null, d struct<e: date>>"

    expected = Struct(
        (
            Field("a", Atomic("int")),
            Field("b c", Array(Map(Atomic("string"), Decimal(3, 1)))),
            Field("d", Struct((Field("e", Atomic("date")),))),
        )
    )
    assert expected == parse_type(text)
    assert expected == parse_type(expected.ddl)


@pytest.mark.parametrize(
    ("text", "offset", "hint"),
    [
        ("strin", 0, 'Use "string".'),
        ("array<lnog>", 6, 'Use "long".'),
        ("array<int", 9, ""),
        ("decimal(39)", 0, "Use a precision of 1 to 38, and a scale up to the precision."),
        ("struct<a: int, a: int>", 21, ""),
        ("map<map<int,int>,int>", 16, ""),
        ("int int", 4, ""),
        ("", 0, "Write one such as string."),
        ("interval day", 0, None),
        ("struct<a: int; b: int>", 13, ""),
        ("struct<größe: int>", 9, "Put such a name in backticks: struct<`größe`: int>."),
        ("string[]", 6, "Write array<string>."),
    ],
)
def test_what_is_not_a_type_is_refused_at_its_character(
    text: str, offset: int, hint: str | None
) -> None:
    with pytest.raises(TypeTextError) as caught:
        parse_type(text)

    assert offset == caught.value.offset
    assert hint is None or hint == caught.value.hint


@pytest.mark.parametrize(
    ("word", "meant"),
    [("uuid", "string"), ("timestamptz", "timestamp"), ("bytea", "binary"), ("lng", "long")],
)
def test_a_type_of_another_system_is_told_by_its_name_here(word: str, meant: str) -> None:
    with pytest.raises(TypeTextError) as raised:
        parse_type(word)

    assert f'Use "{meant}".' == raised.value.hint
