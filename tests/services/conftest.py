"""Real servers, one of each a test process, on free ports with their data in a temp folder.

A test takes topics, databases and indexes of its own names; one that kills or suspends a
server leaves it running. A test that needs other settings starts a service of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.services.captured import Connection
from tests.services.remote_run import Begin, beginning
from tests.services.s3_server import S3Server, make_bucket, s3_server

from joinery.dev.connect import connect as connect_service
from joinery.dev.dynamodb import dynamodb as dynamodb_service
from joinery.dev.java import SMALL
from joinery.dev.kafka import kafka as kafka_service
from joinery.dev.opensearch import OpenSearchRecipe
from joinery.dev.postgres import postgres as postgres_service
from joinery.dev.redis import redis as redis_service
from joinery.dev.registry import registry as registry_service
from joinery.dev.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def kafka_spark(spark: SparkSession) -> SparkSession:
    """The session of all tests, with the Kafka connector."""
    from joinery.spark.jar import kafka_jars
    from joinery.spark.jvm import add_jars

    add_jars(spark, kafka_jars())
    return spark


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A broker; `kafka.address` is its bootstrap servers.

    One that was killed is let back once its old session has ended: soon.
    """
    sessions = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
    folder = tmp_path_factory.mktemp("kafka")
    with kafka_service(folder, properties=sessions).started() as service:
        yield service


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """A server that speaks S3, with a bucket."""
    with s3_server() as server:
        make_bucket(server.settings)
        yield server


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Begins runs in processes of their own, which end with the test at the latest."""
    with beginning() as begin:
        yield begin


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A PostgreSQL server; `postgres.address` is the URL of a database."""
    with postgres_service(tmp_path_factory.mktemp("postgres")).started() as service:
        yield service


@pytest.fixture
def link(database: str) -> Iterator[Connection]:
    """A connection to the `database` of a test, whose statements each stand alone."""
    with closing(psycopg.connect(database, autocommit=True)) as link:
        yield link


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A Redis server; `redis.address` is its URL."""
    with redis_service(tmp_path_factory.mktemp("redis")).started() as service:
        yield service


@pytest.fixture(scope="session")
def opensearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """An OpenSearch node; `opensearch.address` is its URL."""
    # Compiled as far as a node of some minutes is worth it: it starts at half the cost.
    recipe = OpenSearchRecipe(options=SMALL)
    with Service(recipe, tmp_path_factory.mktemp("opensearch")).started() as service:
        yield service


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A schema registry; `registry.address` is its Confluent-compatible URL."""
    with registry_service(tmp_path_factory.mktemp("registry")).started() as service:
        yield service


@pytest.fixture(scope="session")
def dynamodb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """DynamoDB Local; `dynamodb.address` is its endpoint."""
    with dynamodb_service(tmp_path_factory.mktemp("dynamodb")).started() as service:
        yield service


@pytest.fixture(scope="session")
def connect(kafka: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A Connect worker with Debezium, which writes to `kafka`."""
    folder = tmp_path_factory.mktemp("connect")
    with connect_service(folder, kafka=kafka.address).started() as service:
        yield service
