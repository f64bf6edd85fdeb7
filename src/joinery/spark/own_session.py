"""The session that a project runs in where the user gives none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from joinery.spark.connector import connector_jars
from joinery.spark.kernel import add_jars
from joinery.spark.real_time_run import real_time_settings
from joinery.spark.session import open_session
from joinery.spec.product import ProjectSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session_for(spec: ProjectSpec) -> SparkSession:
    """Return the active session, or open one with what `spec` needs.

    Raises:
        RunError: Spark does not start, or a connector cannot be fetched.
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    jars = connector_jars(spec)
    settings = dict(spec.run.spark)
    if spec.run.real_time:
        settings = real_time_settings(master_given="spark.master" in settings) | settings
    log = spec.path_of(spec.run.checkpoint) / "_logs" / "spark.log"
    session = open_session(spec.name, log=log, settings=settings)
    add_jars(session, jars)
    return session
