"""What a user's function raised is told by its place in the user's file; keys are the declared."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from joinery.model.type import Atomic, Field, Struct
from joinery.plan.step import MapRows
from joinery.semantics.map_row import MapFailure, mapped_row

OUTPUT = Struct((Field("id", Atomic("long")), Field("score", Atomic("double"))))


def parsed(event: Mapping[str, Any]) -> dict[str, Any]:
    return dict(json.loads(event["body"]))


PARSED_LINE = parsed.__code__.co_firstlineno + 1


class Parser:
    def __call__(self, event: Mapping[str, Any]) -> dict[str, Any]:
        return parsed(event)


def made(function: Callable[..., Any], **row: Any) -> Mapping[str, Any] | MapFailure | None:
    return mapped_row(MapRows(function, OUTPUT), function, row)


def detail(function: Callable[..., Any], **row: Any) -> str:
    told = made(function, **row)
    assert isinstance(told, MapFailure)
    return told.detail


@pytest.mark.parametrize("function", [parsed, partial(parsed), Parser()])
def test_what_a_library_raised_is_placed_where_the_user_called_it(
    function: Callable[..., Any],
) -> None:
    told = detail(function, body="{")

    assert told.endswith(f" raised JSONDecodeError at test_map_row.py:{PARSED_LINE}.")


def test_what_a_function_of_a_library_raised_is_placed_in_the_library() -> None:
    told = detail(json.loads)

    assert "raised TypeError at __init__.py:" in told


def test_a_key_that_is_no_column_of_the_output_is_told() -> None:
    told = detail(lambda event: {"id": 1, "scroe": 2.0}, id=1)

    assert 'gave "scroe", which is no column of its output; did it mean "score"?' in told


def test_a_key_that_a_function_adds_to_the_row_it_was_given_is_told() -> None:
    def scored(event: dict[str, Any]) -> dict[str, Any]:
        event["scroe"] = 2.0
        return event

    assert 'gave "scroe"' in detail(scored, id=1)


def test_columns_of_the_event_that_are_not_declared_may_be_given_back() -> None:
    given = made(lambda event: {**event, "score": 2.0}, id=1, body="{}")

    assert given == {"id": 1, "body": "{}", "score": 2.0}
