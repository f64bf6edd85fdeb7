"""A user's functions in a stream: steps and stores, by name or as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

import joinery as jn
from joinery.errors import SpecError
from joinery.testing import StreamDriver, insert, upsert


def nobody(keys: Sequence[Any]) -> dict[Any, dict[str, Any]]:
    return {}


def test_a_function_that_changes_what_it_is_given_gives_the_same_again() -> None:
    def longer(event: Mapping[str, Any]) -> dict[str, Any]:
        event["tags"].append("z")
        return {"n": len(event["tags"])}

    events = jn.App("shop").stream(
        "event", key="id", fields={"id": "long", "tags": "array<string>"}
    )
    driver = StreamDriver(events.map(longer, {"n": "int"}))

    sent = driver.send(insert("event", id=1, tags=["a"]))

    assert [{"n": 2}] == [each.value for each in sent]
    assert sent == driver.replay()


def test_a_lambda_runs_and_has_no_place_in_a_file(tmp_path: Path) -> None:
    app = jn.App("a", folder=tmp_path)
    orders = app.stream("orders", key="id", fields={"id": "long"})
    twice = orders.map(lambda event: {"twice": event["id"] * 2}, {"twice": "long"})
    twice.sink("database")

    assert [upsert(2, {"twice": 4})] == StreamDriver(twice).send(insert("orders", id=2))
    with pytest.raises(SpecError, match="cannot be written to a project file") as caught:
        app.to_yaml()
    assert "SPEC_FUNCTION" == caught.value.code


class Scale:
    """A model with a method."""

    def times(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an event's id, scaled."""
        return {"scaled": event["id"] * 3}


def fails(event: Mapping[str, Any]) -> dict[str, Any]:
    raise RuntimeError(f"never told: {event}")


def leaves(event: Mapping[str, Any]) -> dict[str, Any]:
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (fails, f"{__name__}:fails raised RuntimeError at test_functions.py:"),
        (leaves, f"{__name__}:leaves raised SystemExit at test_functions.py:"),
        (lambda event: [event["id"]], "gave a list, no row."),
        (lambda event: {"twcie": event["id"]}, 'no column of its output; did it mean "twice"?'),
    ],
)
def test_an_event_on_which_a_function_fails_is_a_dead_letter(
    function: Callable[..., Any], told: str
) -> None:
    orders = jn.App("shop").stream("orders", key="id", fields={"id": "long"})
    driver = StreamDriver(orders.map(function, {"twice": "long"}))

    assert driver.send(insert("orders", id=1)) == []

    (dead,) = driver.dead_letters
    assert (dead.reason, told in dead.detail) == ("map_failed", True)


def test_a_bound_method_is_called_on_its_object() -> None:
    orders = jn.App("a").stream("orders", key="id", fields={"id": "long"})

    scaled = orders.map(Scale().times, {"scaled": "long"})

    assert [upsert(2, {"scaled": 6})] == StreamDriver(scaled).send(insert("orders", id=2))


def test_a_function_may_be_the_store() -> None:
    app = jn.App("a")
    customers = app.table("customers", key="id", fields={"id": "long", "name": "string"})
    orders = app.stream("orders", fields={"customer_id": "long"})

    def rows(keys: Sequence[Any]) -> dict[Any, dict[str, Any]]:
        return {}

    named, inner = (
        orders.lookup_join(customers, "customer_id", read="database", store=each).plan.lookups[0]
        for each in (nobody, rows)
    )

    assert named.store
    assert {"function": "tests.unit.app.test_functions:nobody"} == dict(named.store.options)
    assert inner.store
    assert {"function": rows} == dict(inner.store.options)


def test_what_is_no_function_is_refused_at_the_call() -> None:
    clicks, number = jn.App("web").stream("clicks", fields={"id": "long"}), cast(Any, 5)

    with pytest.raises(SpecError, match="map needs a function, not an object of type int"):
        clicks.map(number, {"id": "long"})


async def coming(event: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def several(event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {}


def both(event: Mapping[str, Any], other: int) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (coming, 'function "coming" is async'),
        (several, 'function "several" yields'),
        (
            both,
            "function \"both\" does not take one argument: missing a required argument: 'other'",
        ),
    ],
)
def test_a_function_that_answers_no_event_is_refused_at_the_call(
    function: Any, message: str
) -> None:
    clicks = jn.App("web").stream("clicks", fields={"id": "long"})

    with pytest.raises(SpecError, match=message):
        clicks.map(function, {"id": "long"})


def test_a_function_whose_arguments_nobody_can_tell_is_taken() -> None:
    clicks = jn.App("web").stream("clicks", fields={"id": "long"})

    assert clicks.map(dict, {"id": "long"}).steps
