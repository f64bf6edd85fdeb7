"""Values of JSON held to the types that their classes declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from joinery.model.typed import check_typed


@dataclass(frozen=True)
class _Leg:
    km: float
    by: Literal["train", "boat"]


@dataclass(frozen=True)
class _Trip:
    legs: tuple[_Leg, ...]
    seats: Mapping[str, int]
    note: str | None = None


_WHOLE = _Trip((_Leg(3, "train"),), {"window": 2})


@pytest.mark.parametrize(
    ("value", "declared"),
    [(_WHOLE, _Trip), (10**18, float), (1.5, int), (None, int | None), ("a", int | str)],
)
def test_what_is_of_its_type_is_taken(value: object, declared: Any) -> None:
    check_typed(value, declared)


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        (_Trip((_Leg(3, "car"),), {}), _Trip),  # type: ignore[arg-type]
        (_Trip((), {"window": "two"}), _Trip),  # type: ignore[dict-item]
        (_Trip((), {}, note=3), _Trip),  # type: ignore[arg-type]
        (_Trip([_Leg(3, "boat")], {}), _Trip),  # type: ignore[arg-type]
        (True, int),
        (10**400, float),
        (float("nan"), float),
        (float("inf"), int),
        ("3", int),
    ],
)
def test_what_is_of_another_type_is_refused(value: object, declared: Any) -> None:
    with pytest.raises(TypeError, match="is not of type"):
        check_typed(value, declared)
