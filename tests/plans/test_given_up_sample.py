"""Which starts of a pattern the reference gives up, for the test of the kernel that reads them."""

from __future__ import annotations

import json
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.semantics import matcher
from joinery.testing.changes import RowChange, delete, insert, update
from joinery.testing.driver import Driver

RESOURCES = Path(__file__).parents[2] / "kernel/src/test/resources"
PRODUCTS = ("follows", "thirty", "ordered", "mixed", "either")
START = datetime.fromtimestamp(1_700_000_000, UTC)
MOST_TESTS = 40
GONE = "-"


def _batches(pick: random.Random) -> list[list[tuple[int, str, int]]]:
    """Return rows with their id, kind and half a second of their time, batch by batch.

    More rows than a thousand are in sight, so the last starts may need more tests than the first.
    """
    runs = ("x" * pick.randrange(20) + "a" * pick.randrange(5, 60) + "b" for _ in range(30))
    kinds = "".join(runs)
    count = len(kinds)
    batches = [[(at, kind, at) for at, kind in enumerate(kinds)]]
    for number in range(2):
        new = range(count + 300 * number, count + 300 * (number + 1))
        batches.append([(id, pick.choice("ax"), id) for id in new])
        for _ in range(2):
            changed = [(pick.randrange(count), pick.choice("abcx-")) for _ in range(6)]
            batches.append([(id, kind, pick.choice([id, id + 2])) for id, kind in changed])
    return batches


def _change(id: int, kind: str, half: int, standing: set[int]) -> RowChange | None:
    if kind == GONE:
        known = id in standing
        standing.discard(id)
        return delete("e", id=id) if known else None
    made = update if id in standing else insert
    standing.add(id)
    at = (START + half * timedelta(milliseconds=500)).isoformat()
    return made("e", id=id, who=1, a=kind in "ac", b=kind in "bc", at=at)


def _told(name: str, documents: dict[Any, Any]) -> dict[str, str]:
    return {
        f"{name} {_json({each: value[each] for each in ('who', 'start')})}": _json(value)
        for value in documents.values()
    }


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _matches(batches: list[list[tuple[int, str, int]]]) -> list[dict[str, str]]:
    """Return the matches that stand after each batch."""
    plan = build_plan(load_spec(RESOURCES / "patterns.yaml"))
    drivers = {each.name: Driver(each) for each in plan.products if each.name in PRODUCTS}
    standing = set[int]()
    found: list[dict[str, str]] = []
    for batch in batches:
        changes = [each for row in batch if (each := _change(*row, standing)) is not None]
        told: dict[str, str] = {}
        for name, driver in drivers.items():
            driver.send(changes)
            told |= _told(name, dict(driver.documents()))
        found.append(dict(sorted(told.items())))
    return found


def test_the_kernels_sample_has_what_the_reference_finds_and_gives_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = RESOURCES / "given_up.json"
    batches = _batches(random.Random(1))
    monkeypatch.setattr(matcher, "MOST_STEPS", MOST_TESTS)
    matches = _matches(batches)
    made = _json({"most_tests": MOST_TESTS, "batches": batches, "matches": matches}) + "\n"

    if os.environ.get("JOINERY_GOLDEN") == "write":
        file.write_text(made, encoding="utf-8")
    assert made == file.read_text(encoding="utf-8")
    monkeypatch.setattr(matcher, "_TOGETHER", 10**9)
    more = _matches(batches)
    for name in PRODUCTS:  # Some are given up since they see so many rows.
        missed = [each.keys() - had.keys() for each, had in zip(more, matches, strict=True)]
        assert any(key.startswith(name) for key in set[str]().union(*missed)), name
        assert any(key.startswith(name) for key in matches[-1]), name
