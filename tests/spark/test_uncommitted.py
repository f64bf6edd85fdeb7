"""What a topic holds is read back, beside what others have written there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from joinery.spark.real_time.uncommitted import highest_versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "key binary, headers array<struct<key: string, value: binary>>"


def test_keys_have_their_highest_version_and_records_of_others_are_passed_over(
    spark: SparkSession,
) -> None:
    ours, price = b'{"id":1}', b'{"price":1234567890123456789.10}'
    records = [
        (ours, [("joinery.version", b"7")]),
        (ours, [("joinery.version", b"9"), ("trace", b"x")]),
        (ours, [("joinery.version", b"8")]),
        (price, [("joinery.version", b"3")]),
        (b"by hand", [("trace", b"x")]),
        (b"by hand", []),
        (b"by hand", None),
        (b"by hand", [("joinery.version", b"none")]),
        (None, [("joinery.version", b"9")]),
    ]

    found = highest_versions(spark.createDataFrame(records, SCHEMA)).collect()

    assert {('{"id":1}', 9), ('{"price":1234567890123456789.10}', 3)} == {*map(tuple, found)}
