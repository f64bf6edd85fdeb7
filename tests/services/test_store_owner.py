"""Two projects in one PostgreSQL, Redis or DynamoDB: the second is refused, and writes nothing."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.unit.solutions.relational.products import FIRST, PRODUCT

from joinery.model.change import Change
from joinery.solutions.choose import SolutionPlace, open_solution
from joinery.solutions.stored.owner import OwnedError, Owner
from joinery.solutions.stored.state import Batch

pytestmark = pytest.mark.services
OURS = Owner("shop, whose checkpoints are in /shop")
THEIRS = Owner("fork, whose checkpoints are in /fork")
ADA = Change("user", {"id": 1}, {"id": 1, "name": "Ada"}, 1)
SOLUTIONS = ("rdbms-store", "rdbms-trigger", "kv", "dynamodb")


@pytest.fixture(params=SOLUTIONS)
def solution(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def options(
    solution: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Mapping[str, object]:
    """Options that name a fresh place on a real server."""
    place = f"t{uuid.uuid4().hex[:10]}"
    if solution == "kv":
        server = request.getfixturevalue("redis")
        return {"store": "redis", "url": server.address, "prefix": place}
    if solution == "dynamodb":
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "local")
        server = request.getfixturevalue("dynamodb")
        return {"endpoint": server.address, "region": "local", "table": place, "index_lag": 0}
    return {"database": request.getfixturevalue("postgres").address, "schema": place}


def test_a_second_project_is_refused_and_the_first_goes_on(
    solution: str, options: Mapping[str, object], tmp_path: Path
) -> None:
    first = open_solution(solution, [PRODUCT], options, SolutionPlace(tmp_path, "p", owner=OURS))
    sent = first.apply([ADA], FIRST)

    with pytest.raises(OwnedError) as refused:
        open_solution(solution, [PRODUCT], options, SolutionPlace(tmp_path, "p", owner=THEIRS))

    assert "shop, whose checkpoints are in /shop" in refused.value.detail
    assert "\n" not in refused.value.message
    again = first.apply([ADA], FIRST)
    assert dict(sent.emitted["p"].documents) == dict(again.emitted["p"].documents) != {}
    first.close()


def test_other_names_and_a_fresh_checkpoint_of_ones_own_are_let_in(
    solution: str, options: Mapping[str, object], tmp_path: Path
) -> None:
    ours, theirs = (SolutionPlace(tmp_path, "p", owner=each) for each in (OURS, THEIRS))
    open_solution(solution, [PRODUCT], options, ours).close()
    open_solution(solution, [PRODUCT], options, SolutionPlace(tmp_path, "q", owner=THEIRS)).close()

    again = open_solution(solution, [PRODUCT], options, ours)
    sent = again.apply([ADA], Batch("fresh", 0, 1, 1))

    assert [(1,)] == list(sent.emitted["p"].documents)
    again.close()
    name = {"rdbms-store": "schema", "rdbms-trigger": "schema", "kv": "prefix", "dynamodb": "table"}
    other = {**options, name[solution]: f"t{uuid.uuid4().hex[:10]}"}
    open_solution(solution, [PRODUCT], other, theirs).close()
