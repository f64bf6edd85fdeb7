"""Columns that are declared as moments and hold a date or a time of day are refused."""

from __future__ import annotations

import pytest

from joinery.capture.gone_columns import TableColumns
from joinery.capture.moments import check_moments
from joinery.capture.spool import CaptureError

NAMES = frozenset(("id", "day", "at"))


@pytest.mark.parametrize(
    ("type", "instead"), [("date", "date"), ("time without time zone", "long"), ("year", "int")]
)
def test_a_declared_moment_that_is_none_is_refused(type: str, instead: str) -> None:
    found = {"public.sale": TableColumns(NAMES, no_moments={"day": type})}

    with pytest.raises(CaptureError, match=f'"day" of table public.sale is of type {type}') as told:
        check_moments({"public.sale": ("at", "day")}, found)

    assert f"Declare it as {instead}" in told.value.hint


def test_a_date_that_is_declared_as_one_is_taken() -> None:
    found = {"public.sale": TableColumns(NAMES, no_moments={"day": "date"})}

    check_moments({"public.sale": ("at",), "public.gone": ("day",)}, found)
