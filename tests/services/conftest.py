"""Real servers, one of each a test process, on free ports with their data in a temp folder.

A test takes topics, databases and indexes of its own names; one that kills or suspends a
server leaves it running. A test that needs other settings starts a service of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from joinery.stack.kafka import kafka as kafka_service
from joinery.stack.postgres import postgres as postgres_service
from joinery.stack.service import Service


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A broker; `kafka.address` is its bootstrap servers."""
    with kafka_service(tmp_path_factory.mktemp("kafka")).started() as service:
        yield service


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A PostgreSQL server; `postgres.address` is the URL of a database."""
    with postgres_service(tmp_path_factory.mktemp("postgres")).started() as service:
        yield service
