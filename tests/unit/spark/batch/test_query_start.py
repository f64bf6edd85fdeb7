"""A query is started only where nothing of it is lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

from joinery.place.place import LocalOnlyError
from joinery.place.remote_path import RemotePath
from joinery.place.s3 import S3Options
from joinery.spark.batch.query_start import staging_apart
from joinery.spark.kernel import PartsApart
from joinery.spark.real_time.uncommitted import PendingRoots
from joinery.spark.source.source import BatchLabel, Topic


class DiskKernel:
    """Has tasks write to a disk that they share with the driver."""

    def chain(
        self,
        raw: DataFrame,
        topics: Sequence[Collection[Topic]],
        pending: PendingRoots | None = None,
    ) -> DataFrame:
        return raw

    def stage(
        self, batch: DataFrame, folder: Path, label: BatchLabel | None = None
    ) -> Mapping[str, Any]:
        return {}


def test_a_kernel_that_can_stage_on_a_disk_alone_is_refused_where_tasks_see_none() -> None:
    apart = PartsApart(RemotePath.of("s3a://bucket/_staging/q", S3Options()))

    with pytest.raises(LocalOnlyError, match="a query that stages on the driver's disk"):
        staging_apart(DiskKernel(), apart)
