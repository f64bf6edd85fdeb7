"""The session of somebody who did not bring one: the active one, else one opened for a project."""

from __future__ import annotations

from pyspark.sql import SparkSession

from joinery.spark.connector import connector_jars
from joinery.spark.kernel import add_jars
from joinery.spark.session import open_session
from joinery.spec.product import ProjectSpec


def session_for(spec: ProjectSpec) -> SparkSession:
    """Return the active session, or open one that suits a project and lasts with the process.

    Raises:
        RunError: Java is missing, or Spark does not start.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    log = spec.path_of(spec.run.checkpoint) / "_logs" / "spark.log"
    made = open_session(spec.name, log=log, settings=dict(spec.run.spark))
    add_jars(made, connector_jars(spec))
    return made
