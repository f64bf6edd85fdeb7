"""Products and streams are found by name; one that is not there is told with those that are."""

from __future__ import annotations

import pickle

import pytest

import joinery as jn
from joinery.errors import JoineryError

USER = jn.relation("user", key="id", fields={"id": "long", "name": "string"})
PROJECT = jn.Project("people", products=[jn.document("profile", USER)])


def test_a_product_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(JoineryError) as refused:
        PROJECT.products["profle"]

    error = refused.value
    assert isinstance(error, KeyError)
    assert 'SPEC_UNKNOWN_NAME the project has no product "profle"' == str(error)
    assert ("It has profile.", 'Use "profile".') == (error.detail, error.hint)
    assert str(error) == str(pickle.loads(pickle.dumps(error)))


def test_a_stream_that_is_not_there_is_told_so() -> None:
    with pytest.raises(KeyError, match='the project has no stream "x"'):
        PROJECT.streams["x"]


def test_products_are_a_mapping_like_any_other() -> None:
    assert ["profile"] == [*PROJECT.products]
    assert PROJECT.products.get("x") is None
    assert "x" not in PROJECT.products
