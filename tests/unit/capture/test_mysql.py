"""What a capture of MySQL ended of says what has to be mended."""

from __future__ import annotations

import pytest

from joinery.capture.mysql import MysqlDatabase
from joinery.capture.spool import CaptureLostError

_OUTSIDE = "has altered the table outside the log (sql_log_bin = 0)."


@pytest.mark.parametrize(
    ("known", "told", "message", "detail"),
    [
        (
            3,
            1,
            "the log lacks columns of a row of table customer",
            f"A session has set binlog_row_image to another value than FULL, or {_OUTSIDE}",
        ),
        (
            2,
            3,
            "the log does not say which columns a row of table customer has",
            f"It has 3, where the table had 2: a session {_OUTSIDE}",
        ),
    ],
)
def test_a_row_of_other_columns_is_told_by_its_cause(
    known: int, told: int, message: str, detail: str
) -> None:
    database = MysqlDatabase("mysql://joinery@localhost/shop", "joinery_t", ("shop.a",), 7)

    error = database.refusal(
        f"Error processing row in customer, internal schema size {known}, but row size {told}, "
        "restart connector with schema recovery mode."
    )

    assert isinstance(error, CaptureLostError)
    assert (error.message, error.detail) == (message, detail)
