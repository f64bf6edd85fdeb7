"""Which key a text names."""

from __future__ import annotations

import pytest

from joinery.model.change import Key
from joinery.model.type import LONG, STRING, Field
from joinery.plan.relation import Relation
from joinery.provenance.told import key_named

FIELDS = (Field("owner", STRING), Field("name", STRING))
REPO = Relation("repo", "s", "repo", "json", ("owner", "name"), FIELDS)
KEYS: list[Key] = [("ada b", "c"), ("adab", "c"), ("x,y", "z"), ("x", "y,z")]
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
    assert key == key_named(REPO, KEYS, text)


def test_one_column_is_named_by_its_text() -> None:
    assert (7,) == key_named(LOG, [(70,), (7,)], "7")
