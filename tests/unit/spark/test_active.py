"""The analyser of the session that is there."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from joinery.expression.problem import NotPortableError
from joinery.spark.session import ActiveAnalyser


def test_without_a_session_the_expression_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkSession, "getActiveSession", staticmethod(lambda: None))

    with pytest.raises(NotPortableError, match=r'"soundex\(name\)" is outside the portable subset'):
        ActiveAnalyser().type_of("soundex(name)", {})
