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

    def copy(self, name: str) -> Path:
        """Return a copy of the broker's data, for which it is stopped."""
        self.broker.stop()
        made: Path = shutil.copytree(self.broker.folder / "data", self.folder / name)
        self.broker.start()
        return made

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


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """The project, with a broker of its own."""
    (tmp_path / "shop").mkdir()
    with kafka(tmp_path / "kafka").started() as broker:
        shop = Shop(tmp_path / "shop", broker)
        shop.declare()
        yield shop


def test_records_in_place_of_those_that_were_read_refuse_a_start_and_are_told_where_it_may_go_on(
    kafka_spark: SparkSession, shop: Shop
) -> None:
    def once() -> tuple[Run, list[BatchProgress]]:
        batches: list[BatchProgress] = []
        ended = run(kafka_spark, shop, once=True, on_batch=batches.append)
        assert ended.await_termination(300)
        return ended, batches

    shop.put(Ada=1)
    backup = shop.copy("backup")
    shop.put(Bob=2)
    once()
    shop.restore(backup)
    shop.put(Cy=3, Di=4)

    for _ in range(2):
        with pytest.raises(RecordsLostError) as told:
            once()
    shop.declare(fail=False)
    first, (batch,) = once()
    then, _ = once()

    assert f"{_OTHER} (time and value differ)." == told.value.detail
    assert "joinery run --rebuild" in told.value.hint
    assert ["WARN_RECORDS_LOST"] == [each.code for each in first.progress.warnings]
    assert 1 == batch.relations["user"]["lost"]
    assert [] == [*then.progress.warnings]
    assert {1: "Ada", 2: "Bob", 4: "Di"} == shop.documents()


@pytest.fixture
def other(shop: Shop) -> Path:
    """A copy of the broker with two records that it did not get; one before them it has."""
    shop.put(Ada=1)
    backup = shop.copy("backup")
    shop.put(Cy=3, Di=4)
    other = shop.copy("other")
    shop.restore(backup)
    return other


def test_a_run_under_way_ends_once_its_broker_is_back_with_another_log_and_so_does_the_next(
    shop: Shop, other: Path
) -> None:
    with joinery_run(shop.folder) as command:
        shop.put(Bob=2)
        command.wait_for(lambda: '{"t": {"0": [1, ' in shop.last_read())
        shop.restore(other)

        ended = [command.ended()]
    with joinery_run(shop.folder) as command:
        ended.append(command.ended())

    for code, errors in ended:
        assert 1 == code
        assert f"{_OTHER} (time and value differ)" in errors
        assert "[RUN_RECORDS_LOST]" in errors


def test_a_run_under_way_that_may_go_on_counts_what_it_lost(shop: Shop, other: Path) -> None:
    shop.declare(fail=False)
    with joinery_run(shop.folder) as command:
        shop.put(Bob=2)
        command.wait_for(lambda: 2 in shop.documents())
        shop.restore(other)
        command.wait_for(lambda: 4 in shop.documents())
        command.wait_for(lambda: "lost" in shop.counters())

        code, errors = command.end()

    assert 0 == code, errors
    assert 1 == shop.counters()["lost"]
    assert "WARN_RECORDS_LOST" in errors
    assert {1: "Ada", 2: "Bob", 4: "Di"} == shop.documents()


def test_real_time_ends_once_its_broker_is_back_with_another_log(
    kafka: Service, shop: Shop, other: Path
) -> None:
    name = f"restored-{uuid.uuid4().hex[:8]}"
    sink = f'{{kafka: {{topic: {name}, bootstrap: "{kafka.address}"}}}}'
    letters = f'{{kafka: {{topic: {name}-dead, bootstrap: "{kafka.address}"}}}}'
    shop.declare(sink=sink, run=f"{{checkpoint_interval: 10s, dead_letters: {letters}}}")
    with live_run(shop.folder, "--real-time") as run:
        run.until(run.is_live, "real time")
        shop.put(Bob=2)
        run.until(lambda: '{"t": {"0": [1, ' in shop.last_read(), "a commit")
        shop.restore(other)

        code = run.process.wait(300)

    assert 1 == code
    assert f"{_OTHER} (time and value differ)" in run.said()
    assert "[RUN_RECORDS_LOST]" in run.said()
