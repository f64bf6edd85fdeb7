"""A broker that was put back from a backup, and has grown past what was read, is not read on."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.services.command import joinery_run
from tests.services.live_run import live_run
from tests.services.log import Log
from tests.services.project_folder import ProjectFolder
from tests.session_run import going, until

from joinery.dev.kafka import kafka
from joinery.dev.service import Service
from joinery.model.batch import BatchProgress
from joinery.sinks.line import read_rows
from joinery.spark.batch.run import Run, run
from joinery.spark.source.kafka_client import RecordsLostError
from joinery.spark.source.last_read import FILE_NAME

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark, pytest.mark.slow]

PROJECT = """\
sources: {{changes: {{kafka: {{bootstrap: "{bootstrap}", fail_on_data_loss: {fail}}}}}}}
relations: {{user: {{topic: t, key: [id], fields: {{id: long, name: string}}}}}}
products: {{profile: {{root: user, sink: {sink}}}}}
run: {run}
"""
_OTHER = 'Topic "t" partition 0 has another record at offset 1 than the one that was read there'


@dataclass(frozen=True, slots=True)
class Shop(ProjectFolder):
    """A project of one relation, and the broker that it reads."""

    broker: Service

    def declare(
        self, *, fail: bool = True, sink: str = "{files: {path: out}}", run: str = "{}"
    ) -> None:
        """Write the project file."""
        told = {"bootstrap": self.broker.address, "sink": sink, "run": run}
        text = PROJECT.format(**told, fail=str(fail).lower())
        (self.folder / "joinery.yaml").write_text(text, encoding="utf-8")

    def put(self, **names: int) -> None:
        """Append users, by their names."""
        rows = [{"id": id_, "name": name} for name, id_ in names.items()]
        Log(self.broker.address, {}).put("t", *rows)

    def restore(self, copy: Path) -> None:
        """Put the broker back as it was."""
        data = self.broker.folder / "data"
        self.broker.kill()
        shutil.rmtree(data)
        shutil.copytree(copy, data)
        self.broker.start()

    def counters(self) -> Mapping[str, int]:
        """Return what the run has counted of the product."""
        status = json.loads((self.folder / ".joinery/checkpoint/_status/profile.json").read_text())
        counters: Mapping[str, int] = status["products"]["profile"]["counters"]
        return counters

    def documents(self) -> Mapping[int, str]:
        """Return the names in documents."""
        rows = read_rows(sorted((self.folder / "out/profile").glob("*.jsonl")))
        return {int(str(each.key_values()["id"])): _name(each.value) for each in rows}

    def last_read(self) -> str:
        """Return what is known of the records that were read last."""
        files = (self.folder / ".joinery/checkpoint").rglob(FILE_NAME)
        return "".join(each.read_text() for each in files)


def _name(value: str | None) -> str:
    return str(json.loads(value or "{}").get("name"))


@dataclass(frozen=True, slots=True)
class Copies:
    """What a broker held before, and what it holds with two records that the other did not get."""

    backup: Path
    other: Path


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Copies:
    folder = tmp_path_factory.mktemp("copies")
    copies = Copies(folder / "backup", folder / "other")
    for copy, names in ((copies.backup, {"Ada": 1}), (copies.other, {"Cy": 3, "Di": 4})):
        with kafka(folder / "kafka").started() as broker:
            Shop(folder, broker).put(**names)
        shutil.copytree(folder / "kafka" / "data", copy)
    return copies


@pytest.fixture
def shop(tmp_path: Path, copies: Copies) -> Iterator[Shop]:
    """The project, with a broker of its own that begins with what is in the backup."""
    (tmp_path / "shop").mkdir()
    shutil.copytree(copies.backup, tmp_path / "kafka" / "data")
    with kafka(tmp_path / "kafka").started() as broker:
        shop = Shop(tmp_path / "shop", broker)
        shop.declare()
        yield shop


def once(spark: SparkSession, shop: Shop) -> tuple[Run, list[BatchProgress]]:
    batches: list[BatchProgress] = []
    ended = run(spark, shop, once=True, on_batch=batches.append)
    assert ended.await_termination(300)
    return ended, batches


def test_records_in_place_of_those_that_were_read_refuse_a_start_and_are_told_where_it_may_go_on(
    kafka_spark: SparkSession, shop: Shop, copies: Copies
) -> None:
    shop.put(Bob=2)
    once(kafka_spark, shop)
    shop.restore(copies.other)

    for _ in range(2):
        with pytest.raises(RecordsLostError) as told:
            once(kafka_spark, shop)
    shop.declare(fail=False)
    first, (batch,) = once(kafka_spark, shop)
    then, _ = once(kafka_spark, shop)

    assert f"{_OTHER} (time and value differ)." == told.value.detail
    assert "joinery run --rebuild" in told.value.hint
    assert ["WARN_RECORDS_LOST"] == [each.code for each in first.progress.warnings]
    assert 1 == batch.relations["user"]["lost"]
    assert [] == [*then.progress.warnings]
    assert {1: "Ada", 2: "Bob", 4: "Di"} == shop.documents()


def test_a_run_under_way_ends_once_its_broker_is_back_with_another_log_and_so_does_the_next(
    kafka_spark: SparkSession, shop: Shop, copies: Copies
) -> None:
    with joinery_run(shop.folder) as command:
        shop.put(Bob=2)
        command.wait_for(lambda: '{"t": {"0": [1, ' in shop.last_read())
        shop.restore(copies.other)

        code, errors = command.ended()
    with pytest.raises(RecordsLostError) as told:
        once(kafka_spark, shop)

    assert 1 == code
    assert f"{_OTHER} (time and value differ)" in errors
    assert "[RUN_RECORDS_LOST]" in errors
    assert f"{_OTHER} (time and value differ)." == told.value.detail


def test_a_run_under_way_that_may_go_on_counts_what_it_lost(
    kafka_spark: SparkSession, shop: Shop, copies: Copies
) -> None:
    shop.declare(fail=False)
    with going(kafka_spark, shop.folder) as under_way:
        shop.put(Bob=2)
        until(lambda: 2 in shop.documents(), under_way)
        shop.restore(copies.other)
        until(lambda: 4 in shop.documents(), under_way)
        until(lambda: "lost" in shop.counters(), under_way)

    assert 1 == shop.counters()["lost"]
    assert ["WARN_RECORDS_LOST"] == [each.code for each in under_way.progress.warnings]
    assert {1: "Ada", 2: "Bob", 4: "Di"} == shop.documents()


def test_real_time_ends_once_its_broker_is_back_with_another_log(
    kafka: Service, shop: Shop, copies: Copies
) -> None:
    name = f"restored-{uuid.uuid4().hex[:8]}"
    sink = f'{{kafka: {{topic: {name}, bootstrap: "{kafka.address}"}}}}'
    letters = f'{{kafka: {{topic: {name}-dead, bootstrap: "{kafka.address}"}}}}'
    shop.declare(sink=sink, run=f"{{checkpoint_interval: 10s, dead_letters: {letters}}}")
    with live_run(shop.folder, "--real-time") as run:
        run.until(run.is_live, "real time")
        shop.put(Bob=2)
        run.until(lambda: '{"t": {"0": [1, ' in shop.last_read(), "a commit")
        shop.restore(copies.other)

        code = run.process.wait(300)

    assert 1 == code
    assert f"{_OTHER} (time and value differ)" in run.said()
    assert "[RUN_RECORDS_LOST]" in run.said()
