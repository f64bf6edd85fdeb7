"""Random groups and windows: after each batch the sink holds what DuckDB makes of the same rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.compare import each_seed
from tests.oracle.groups import cuts, random_log, truth

import joinery as jn
from joinery.testing.driver import Driver


def same(expected: Any, found: Any) -> bool:
    """Return whether two values are one; a mean in DuckDB is rounded in its own way."""
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(expected, found, rel_tol=1e-12)
    return bool(expected == found)


@pytest.mark.parametrize("seed", each_seed(range(60), few=20))
def test_the_reference_holds_what_duckdb_computes(seed: int, tmp_path: Path) -> None:
    log = random_log(seed)
    file = tmp_path / "joinery.yaml"
    file.write_text(log.project, encoding="utf-8")
    driver = Driver(jn.load(file).products["p"])

    start = 0
    for end in cuts(seed, len(log.changes)):
        driver.send(log.changes[start:end])
        start = end
        expected = truth(log, end)
        found = {
            key if isinstance(key, tuple) else (key,): dict(value)
            for key, value in driver.documents().items()
        }
        assert expected.keys() == found.keys(), (end, log.project)
        for key, value in expected.items():
            assert list(value) == list(found[key])
            assert all(same(value[each], found[key][each]) for each in value), (value, found[key])
