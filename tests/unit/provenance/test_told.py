"""Which key a text names."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from joinery.model.change import Change, Key
from joinery.model.type import DOUBLE, LONG, STRING, Atomic, DataType, Field
from joinery.model.type import Decimal as DecimalType
from joinery.plan.relation import Relation
from joinery.provenance.answer import last_of
from joinery.provenance.told import Naming, key_text, keys_meant, keys_named, names_key

FIELDS = (Field("owner", STRING), Field("name", STRING))
REPO = Relation("repo", "s", "repo", "json", ("owner", "name"), FIELDS)
KEYS: list[Key] = [("ada b", "c"), ("adab", "c"), ("x,y", "z"), ("x", "y,z")]
NAMED = Relation("named", "s", "named", "json", ("name",), FIELDS)
LOG = Relation("log", "s", "log", "json", ("id",), (Field("id", LONG),))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('["adab","c"]', ("adab", "c")),
        ('["adab", "c"]', ("adab", "c")),
        ('[ "ada b" , "c" ]', ("ada b", "c")),
        ("adab,c", ("adab", "c")),
        ('["x","y,z"]', ("x", "y,z")),
        ('["nobody","c"]', None),
        ("[", None),
    ],
)
def test_a_text_names_the_key_with_its_values(text: str, key: Key | None) -> None:
    assert ([] if key is None else [key]) == keys_named(REPO, KEYS, text)


def test_commas_in_values_may_have_a_text_name_several_keys() -> None:
    assert [("x,y", "z"), ("x", "y,z")] == keys_named(REPO, KEYS, "x,y,z")
    assert [("x", "y,z")] == keys_named(REPO, KEYS, '["x","y,z"]')


@pytest.mark.parametrize(
    ("relation", "text", "keys"),
    [
        (REPO, '["adab", "c"]', [('["adab"', ' "c"]'), ("adab", "c")]),
        (REPO, '["x","y,z"]', [("x", "y,z")]),
        (REPO, "adab,c", [("adab", "c")]),
        (REPO, '["x",1]', [('["x"', "1]")]),
        (REPO, "x,y,z", None),
        (LOG, "-7", [(-7,)]),
        (LOG, "[-7]", [(-7,)]),
        (LOG, '["7"]', []),
        (LOG, "007", []),
        (NAMED, '["a"]', [('["a"]',), ("a",)]),
        (NAMED, '[""]', [('[""]',), ("",)]),
        (LOG, "x", []),
    ],
)
def test_a_text_may_mean_several_keys(
    relation: Relation, text: str, keys: list[Key] | None
) -> None:
    assert keys == keys_meant(relation, text)


def test_one_column_is_named_by_its_text() -> None:
    assert [(7,)] == keys_named(LOG, [(70,), (7,)], "7")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('["a"]', [("a",)]),
        ('[ "a" ]', [("a",)]),
        ('[""]', [("",)]),
        ('["[1]"]', [("[1]",)]),
        ("[1]", [("[1]",)]),
        ("[null]", [(None,)]),
        ('["null"]', [("null",)]),
        ('["b"]', []),
    ],
)
def test_one_column_is_also_named_by_an_array(text: str, keys: list[Key]) -> None:
    assert keys == keys_named(NAMED, [("null",), (None,), ("",), ("a",), ("[1]",)], text)


AT = datetime(2026, 1, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("0", Decimal("0.00"), DecimalType(6, 2)),
        ("[0]", Decimal("0.00"), DecimalType(6, 2)),
        ('["0.0"]', Decimal("0.00"), DecimalType(6, 2)),
        ("1", 1.0, DOUBLE),
        ("2026-01-01T11:00:00.000+01:00", AT, Atomic("timestamp")),
        ('["2026-01-01 10:00:00"]', AT, Atomic("timestamp")),
        ("2026-01-01 10:00", AT.replace(tzinfo=None), Atomic("timestamp_ntz")),
    ],
)
def test_a_number_or_a_time_of_a_key_may_be_spelled_otherwise(
    text: str, value: Any, kind: DataType
) -> None:
    assert names_key(text, [value], [kind])
    assert names_key(
        f"x,{text}" if text[0] != "[" else f'["x",{text[1:]}', ["x", value], [STRING, kind]
    )


def test_an_empty_text_is_told_as_the_array_that_commands_take() -> None:
    assert '[""]' == key_text(NAMED, ("",))
    assert [("",)] == keys_named(NAMED, [("a",), ("",)], key_text(NAMED, ("",)))


def test_another_number_or_time_and_a_null_are_not_named() -> None:
    kind = DecimalType(6, 2)

    assert not names_key("0.01", [Decimal("0.00")], [kind])
    assert not names_key("null", [Decimal("0.00")], [kind])
    assert not names_key('["null"]', [None], [kind])
    assert not names_key("2026-01-01T10:00:00+01:00", [AT], [Atomic("timestamp")])
    assert not names_key("007", [7], [LONG])


def test_a_row_of_a_log_without_key_is_called_by_its_relation() -> None:
    views = Relation("view", "s", "view", "json", (), (Field("page", STRING),))
    change = Change("view", {}, {"page": "/"}, place=(0, 3))
    naming = Naming(files={"view": {0: "1.jsonl"}})

    last = last_of(views, change, naming, [])

    assert ("view", "log 7") == (naming.row(views, ()), naming.row(LOG, (7,)))
    assert ("", "7") == (key_text(views, ()), key_text(LOG, (7,)))
    assert ("", "view/1.jsonl/3") == (last.key, last.place)
