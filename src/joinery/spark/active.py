"""An analyser in the session that is there: asked for only when an expression needs it."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from joinery.model.type import DataType
from joinery.plan.problem import not_portable
from joinery.spark.analyse import SparkAnalyser


class ActiveAnalyser:
    """Types expressions in a given session, or in the active one."""

    def __init__(self, session: SparkSession | None = None) -> None:
        self._session = session
        self._analyser: SparkAnalyser | None = None

    def type_of(self, sql: str, scope: Mapping[str, DataType]) -> DataType:
        """Return the type of `sql`.

        Raises:
            ExpressionError: Spark refuses `sql`, or there is no session to ask.
        """
        if self._analyser is None:
            session = self._session or SparkSession.getActiveSession()
            if session is None:
                raise not_portable(f'"{sql}"', offset=0)
            self._analyser = SparkAnalyser(session)
        return self._analyser.type_of(sql, scope)
