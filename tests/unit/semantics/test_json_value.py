"""Typed values from plain ones."""

from __future__ import annotations

import decimal

import pytest

from joinery.model.type import Decimal
from joinery.semantics.read_change import typed

_DIGITS = "9" * 38


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (_DIGITS, Decimal(38, 0)),
        (int(_DIGITS), Decimal(38, 0)),
        (f"-{_DIGITS[:20]}.{_DIGITS[20:]}", Decimal(38, 18)),
    ],
)
def test_a_decimal_of_38_digits_is_exact(value: int | str, type_: Decimal) -> None:
    assert typed(value, type_) == decimal.Decimal(value)
