"""A checkpoint in a store, whose state is moved into another number of partitions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.shop import CUSTOMERS, ORDERS, PROJECT, documents, feed, run_once

import joinery as jn
from joinery.delivery.query_paths import rebuild_paths
from joinery.files import write_whole
from joinery.place.guarded import Guarded
from joinery.place.remote_path import RemotePath
from joinery.plan.stream import outputs_of
from joinery.spark.batch.setup import select_queries
from joinery.spark.launch import checkpoint_settings
from joinery.spark.recovery.checkpoint import partitions_of
from joinery.spark.recovery.rescale import RescaleError, rescale
from joinery.spark.session import clone_session


def state_goes_on(
    folder: Path, spark: SparkSession, place: RemotePath, settings: Mapping[str, str]
) -> None:
    """Run a project, break a move of its state off, move it, and run the project again."""
    declare_shop(folder, place, settings)
    project = jn.load(folder / "joinery.yaml")
    products = select_queries(outputs_of(project.plan))["shop"]
    session = clone_session(spark, {})
    for name, value in {**checkpoint_settings(project.spec), **settings}.items():
        session.conf.set(name.removeprefix("spark.hadoop."), value)
    run_once(session, folder)
    begun = rebuild_paths(place, "shop").checkpoint

    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(Guarded, "copy", break_off)
        with pytest.raises(BrokenOffError):
            rescale(project.spec, "shop", products, 3, lambda: session)
    assert begun.exists()
    before = rescale(project.spec, "shop", products, 3, lambda: session)
    feed(folder, 2, order=ORDERS[60:], customer=[{**CUSTOMERS[7], "city": "city 0"}])
    sent = run_once(session, folder)

    assert (2, 3) == (before, partitions_of(place / "shop"))
    assert not begun.exists()
    assert {"profile": 30, "cities": 2} == sent
    assert [3] * 30 == [len(each["orders"]) for each in documents(folder, "profile").values()]
    write_whole(begun / "offsets" / "0", "", synced=True)
    with pytest.raises(RescaleError, match='a rebuild of query "shop" is not finished'):
        rescale(project.spec, "shop", products, 5, lambda: session)


def declare_shop(folder: Path, place: RemotePath, settings: Mapping[str, str]) -> None:
    """Write a project whose checkpoint is in a store, and its first rows."""
    said = json.dumps({**settings, "spark.sql.shuffle.partitions": "2"})
    text = PROJECT.replace('{spark.sql.shuffle.partitions: "2"}', said)
    (folder / "joinery.yaml").write_text(text.replace("run: {", f"run: {{checkpoint: '{place}', "))
    feed(folder, 1, customer=CUSTOMERS, order=ORDERS[:60])


class BrokenOffError(Exception):
    """The command was killed."""


def break_off(*_: object) -> None:
    raise BrokenOffError
