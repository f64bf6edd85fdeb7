"""Which table a misspelled name may mean."""

from __future__ import annotations

import pytest

from joinery.model.table import TableName, nearest_table

KNOWN = [TableName("hr", "person"), TableName("public", "part"), TableName("public", "person")]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        (TableName("public", "zzz"), None),
        (TableName("public", "prt"), TableName("public", "part")),
        (TableName("hr", "persons"), TableName("hr", "person")),
        (TableName("public", "persons"), TableName("public", "person")),
        (TableName("sales", "part"), TableName("public", "part")),
    ],
)
def test_a_schema_alone_makes_no_table_like_another(
    name: TableName, near: TableName | None
) -> None:
    assert near == nearest_table(name, KNOWN)
