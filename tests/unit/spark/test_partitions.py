"""How many partitions a fresh checkpoint gets, as far as settings tell."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from joinery.spark.partitions import declared_cores


@pytest.mark.parametrize(
    ("master", "settings", "cores"),
    [
        ("local-cluster[3,2,1024]", {}, 6),
        ("yarn", {"spark.executor.instances": "4", "spark.executor.cores": "3"}, 12),
        ("k8s://https://host", {"spark.executor.instances": "5"}, 5),
        ("yarn", {}, None),
        ("spark://host:7077", {}, None),
        ("spark://host:7077", {"spark.cores.max": "6"}, 6),
        ("spark://host:7077", {"spark.executor.instances": "2"}, None),
        (
            "spark://host:7077",
            {
                "spark.executor.instances": "9",
                "spark.executor.cores": "2",
                "spark.cores.max": "6",
            },
            6,
        ),
        (
            "k8s://https://host",
            {
                "spark.dynamicAllocation.enabled": "true",
                "spark.dynamicAllocation.maxExecutors": "8",
                "spark.executor.instances": "1",
                "spark.executor.cores": "4",
            },
            32,
        ),
    ],
)
def test_cores_that_settings_give(
    master: str, settings: Mapping[str, str], cores: int | None
) -> None:
    assert cores == declared_cores(master, settings)
