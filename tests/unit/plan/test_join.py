"""The types that joined columns are compared as."""

from __future__ import annotations

import pytest

from joinery.model.type import parse_type
from joinery.plan.join import common_type


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        ("int", "int", "int"),
        ("byte", "long", "long"),
        ("short", "int", "int"),
        ("float", "double", "double"),
        ("int", "double", "double"),
        ("int", "float", "double"),
        ("long", "double", None),
        ("long", "float", None),
        ("string", "long", None),
        ("date", "timestamp", None),
        ("timestamp", "timestamp_ntz", None),
        ("binary", "binary", "binary"),
        ("boolean", "int", None),
        ("decimal(10,2)", "decimal(12,4)", "decimal(12,4)"),
        ("decimal(38,0)", "decimal(10,2)", None),
        ("decimal(10,2)", "int", "decimal(12,2)"),
        ("decimal(38,20)", "long", None),
        ("decimal(10,2)", "double", None),
        ("array<int>", "array<int>", None),
        ("struct<a: int>", "struct<a: int>", None),
    ],
)
def test_columns_widen_only_where_nothing_is_lost(
    left: str, right: str, common: str | None
) -> None:
    first, second = parse_type(left), parse_type(right)

    expected = parse_type(common) if common else None
    assert expected == common_type(first, second)
    assert expected == common_type(second, first)
