"""One Spark session for all tests that need a real one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from joinery.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session as a run makes it, on two cores."""
    session = open_session(
        "tests",
        log=tmp_path_factory.mktemp("spark") / "spark.log",
        master="local[2]",
        # Random projects compile thousands of expressions, and again in every batch.
        settings={"spark.sql.codegen.cache.maxEntries": "5000"},
    )
    yield session
    session.stop()
