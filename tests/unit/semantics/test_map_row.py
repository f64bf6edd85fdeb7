"""What a user's function raised is told by its place in the user's file; keys are the declared."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pytest

from joinery.model.type import Array, Atomic, Field, Struct
from joinery.plan.step import MapRows
from joinery.semantics.map_row import MapFailure, RowMapper

OUTPUT = Struct((Field("id", Atomic("long")), Field("score", Atomic("double"))))


def parsed(event: Mapping[str, Any]) -> dict[str, Any]:
    return dict(json.loads(event["body"]))


PARSED_LINE = parsed.__code__.co_firstlineno + 1


class Parser:
    def __call__(self, event: Mapping[str, Any]) -> dict[str, Any]:
        return parsed(event)


def made(function: Callable[..., Any], **row: Any) -> Mapping[str, Any] | MapFailure | None:
    return RowMapper(MapRows(function, OUTPUT), function).mapped(row)


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

    assert given == {"id": 1, "score": 2.0}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": "seven"}, 'column "id" holds a text, which is not of type long.'),
        ({"id": 2.5}, 'column "id" holds a number, which is not of type long.'),
        ({"score": True}, 'column "score" holds a flag, which is not of type double.'),
    ],
)
def test_a_value_of_another_type_is_told_with_its_column(row: dict[str, Any], told: str) -> None:
    assert detail(lambda event: row).endswith(f": {told}")


def test_a_value_that_its_type_can_hold_becomes_one_of_it() -> None:
    assert "{'id': 7, 'score': 1.0}" == str(made(lambda event: {"id": 7.0, "score": 1}))


class Late(Mapping[str, Any]):
    """A row that is computed once it is read."""

    def __getitem__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(["id"])

    def __len__(self) -> int:
        return 1


class Odd(BaseException):
    """What a library raises past all that is caught."""


def test_what_reading_a_row_raises_is_told_as_what_its_function_raised() -> None:
    line = Late.__getitem__.__code__.co_firstlineno + 1

    assert f"raised RuntimeError at test_map_row.py:{line}." in detail(lambda event: Late())


@pytest.mark.parametrize("kind", [GeneratorExit, Odd, SystemExit])
def test_a_function_that_raises_past_exceptions_fails_on_its_event_alone(
    kind: type[BaseException],
) -> None:
    def broken(event: Mapping[str, Any]) -> None:
        raise kind

    assert f"raised {kind.__name__} at test_map_row.py:" in detail(broken)


def test_an_interrupt_is_no_fault_of_an_event() -> None:
    def interrupted(event: Mapping[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(interrupted)


PLACE = Struct((Field("city", Atomic("string")), Field("zip", Atomic("string"))))
NESTED = Struct((Field("home", PLACE), Field("places", Array(PLACE))))


def nested(function: Callable[..., Any], **row: Any) -> Mapping[str, Any] | MapFailure | None:
    return RowMapper(MapRows(function, NESTED), function).mapped(row)


@pytest.mark.parametrize(
    ("column", "value"),
    [("home", {"ciyt": "Kiel"}), ("places", [{"city": "Ulm"}, {"ciyt": "Kiel"}])],
)
def test_a_key_that_is_no_field_of_a_struct_is_told(column: str, value: Any) -> None:
    told = nested(lambda event: {column: value}, id=1)

    assert isinstance(told, MapFailure)
    assert f'gave "ciyt", which is no field of "{column}"; did it mean "city"?' in told.detail


def test_a_field_that_a_function_adds_to_a_struct_of_the_event_is_told() -> None:
    def moved(event: dict[str, Any]) -> dict[str, Any]:
        event["home"]["ciyt"] = "Kiel"
        return event

    assert isinstance(nested(moved, home={"city": "Ulm"}), MapFailure)


def test_fields_of_the_events_structs_that_are_not_declared_may_be_given_back() -> None:
    given = nested(lambda event: event, home={"city": "Ulm", "floor": 2}, places=None)

    assert given == {"home": {"city": "Ulm", "zip": None}, "places": None}


def test_a_field_of_the_events_structs_is_no_column_that_may_be_given_back() -> None:
    told = nested(lambda event: {"floor": 2}, home={"city": "Ulm", "floor": 2})

    assert isinstance(told, MapFailure)
    assert 'gave "floor", which is no column of its output' in told.detail
