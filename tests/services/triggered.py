"""Options of `rdbms-trigger` for a schema of the test's own."""

from __future__ import annotations

import uuid

import pytest

from joinery.dev.service import Service


def fresh() -> str:
    return f"joinery {uuid.uuid4().hex}"


@pytest.fixture
def options(postgres: Service) -> dict[str, object]:
    return {"database": postgres.address, "schema": fresh()}
