"""The services of one folder, and what they need of one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.dev.development import NEEDS, DevelopmentStack, UnknownServiceError, start_order


def test_a_service_starts_after_what_it_needs() -> None:
    assert start_order(["connect"]) == ["kafka", "connect"]


def test_services_start_in_one_order_however_they_are_named() -> None:
    assert start_order(["redis", "connect", "postgres"]) == [
        "postgres",
        "kafka",
        "connect",
        "redis",
    ]


def test_every_service_stands_after_those_it_needs() -> None:
    order = list(NEEDS)

    assert [
        (name, needed)
        for name, needs in NEEDS.items()
        for needed in needs
        if order.index(needed) > order.index(name)
    ] == []


def test_every_service_has_a_recipe_of_its_name(tmp_path: Path) -> None:
    stack = DevelopmentStack(tmp_path)

    assert [stack.service(name).name for name in NEEDS] == list(NEEDS)


def test_a_name_that_is_no_service_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(UnknownServiceError, match="kafak"):
        DevelopmentStack(tmp_path).up(["postgres", "kafak"], lambda _: None)

    assert DevelopmentStack(tmp_path).known() == []


def test_stopping_where_nothing_was_started_stops_nothing(tmp_path: Path) -> None:
    assert DevelopmentStack(tmp_path).down([], lambda _: None) == []
