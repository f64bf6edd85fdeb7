"""Spark's Kafka connector, which the PySpark wheel leaves out.

Sessions that Joinery opens get it; a user's session is never given jars that its owner did
not choose.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from joinery.artifact import Artifact, fetch, version
from joinery.errors import RunError
from joinery.project.product import ProjectSpec

_PROVIDER = "org/apache/spark/sql/kafka010/KafkaSourceProvider.class"
_SPARK = "org.apache.spark"
_CONNECTOR = "spark-sql-kafka-0-10_2.13"


class ConnectorMissingError(RunError):
    """A session lacks Spark's Kafka connector."""

    code = "RUN_CONNECTOR"


def connector_jars(spec: ProjectSpec) -> tuple[Path, ...]:
    """Return the jars that the sources of a project need, fetched at first use."""
    return kafka_jars() if any(each.kind == "kafka" for each in spec.sources) else ()


def kafka_jars() -> tuple[Path, ...]:
    """Return the jars of the Kafka connector, fetched at first use.

    Raises:
        ArtifactError: They are not here, and could not be fetched.
    """
    return fetch(
        "spark-kafka",
        Artifact(_SPARK, _CONNECTOR, version("spark-kafka")),
        Artifact(_SPARK, "spark-token-provider-kafka-0-10_2.13", version("spark-kafka-token")),
        Artifact("org.apache.kafka", "kafka-clients", version("kafka-clients")),
        Artifact("org.apache.commons", "commons-pool2", version("commons-pool")),
    )


def require_connector(session: SparkSession) -> None:
    """Refuse a session without the Kafka connector.

    Raises:
        ConnectorMissingError: Naming the package it needs.
    """
    jvm: Any = session._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource(_PROVIDER) is not None:
        return
    package = f"{_SPARK}:{_CONNECTOR}:{version('spark-kafka')}"
    raise ConnectorMissingError(
        "this Spark session has no Kafka connector",
        hint=f"Start it with spark.jars.packages={package} (or --packages).",
    )
