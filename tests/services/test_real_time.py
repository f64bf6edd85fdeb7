"""Real-time mode on a real broker: the same declaration, the same checkpoint."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import make_trial
from tests.services.live_run import LiveRun, Topic, live_run
from tests.services.live_truth import ends, missing, record, settled, sink_topic
from tests.services.log import Log
from tests.session_run import run_to_end

import joinery as jn
from joinery.delivery.control import Action, ControlLog
from joinery.delivery.query_paths import QueryPaths
from joinery.dev.service import Service
from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.project.kind import SinkSpec, SourceSpec
from joinery.project.load import dump_spec
from joinery.project.product import ProjectSpec
from joinery.project.run import RunSpec
from joinery.spark.real_time.rules import RealTimeRefusedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]

PROJECT = """\
name: {at}
sources: {{changes: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{format: json}}
relations:
  customer: {{topic: {at}.customer, key: [id], fields: {{id: long, name: string}}}}
  order: {{topic: {at}.order, key: [id], fields: {{id: long, customer_id: long, item: string}}}}
products:
  profile:
    root: customer
    embed: {{orders: {{many: order, on: {{customer_id: id}}, fields: [item], order: [item]}}}}
    sink: {{kafka: {{topic: {at}.profile}}}}
run:
  checkpoint_interval: 10s
"""


@pytest.fixture
def log(kafka: Service) -> Log:
    return Log(kafka.address, {})


@pytest.fixture
def at(log: Log) -> str:
    """The prefix of the topics of one test."""
    prefix = f"rt-{uuid.uuid4().hex[:8]}"
    log.create(f"{prefix}.customer", 2)
    log.create(f"{prefix}.order")
    log.create(f"{prefix}.dead")
    return prefix


@pytest.fixture
def project(tmp_path: Path, log: Log, at: str) -> Path:
    text = PROJECT.format(bootstrap=log.bootstrap, at=at)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def customers(log: Log, at: str, numbers: Iterable[int], name: str) -> None:
    rows = [{"id": number, "name": name} for number in numbers]
    for row in rows:
        log.put(f"{at}.customer", row, key={"id": row["id"]})


def orders(log: Log, at: str, *rows: tuple[int, int, str]) -> None:
    told = ({"id": number, "customer_id": one, "item": item} for number, one, item in rows)
    log.put(f"{at}.order", *told)


def told(profiles: Topic) -> dict[int, str]:
    """Return the newest documents: `name item,item`."""
    return {
        value["id"]: " ".join([value["name"], ",".join(each["item"] for each in value["orders"])])
        for value in profiles.newest().values()
    }


def go_live(run: LiveRun) -> None:
    run.until(run.is_live, "real time")


def test_a_checkpoint_goes_from_batches_to_real_time_where_single_changes_count_and_back(
    kafka_spark: SparkSession, project: Path, log: Log, at: str
) -> None:
    profiles, dead = (
        Topic(log.bootstrap, f"{at}.profile"),
        Topic(log.bootstrap, f"{at}-dead-letters"),
    )
    customers(log, at, [1], "Ann")
    run_to_end(kafka_spark, project)
    customers(log, at, [2], "Ann")
    orders(log, at, (9, 2, "cup"))
    with live_run(project, "--real-time") as run:
        go_live(run)
        run.until(lambda: told(profiles) == {1: "Ann ", 2: "Ann cup"}, "the backlog")

        orders(log, at, (10, 1, "tea"))
        run.until(lambda: told(profiles) == {1: "Ann tea", 2: "Ann cup"}, "an order")
        orders(log, at, (10, 2, "tea"))
        run.until(lambda: told(profiles) == {1: "Ann ", 2: "Ann cup,tea"}, "an order that moved")
        log.put(f"{at}.customer", None, key={"id": 1})
        run.until(lambda: told(profiles) == {2: "Ann cup,tea"}, "a customer that went")
        log.put(f"{at}.order", "no order")
        run.until(lambda: len(dead.read()) == 1, "a dead letter")

        counted = ("read", "dead", "documents", "tombstones")
        run.until(lambda: sum(each.get("dead", 0) for each in run.lines()) == 1, "the counts")
        assert 0 == run.stop(), run.said()
    orders(log, at, (10, 2, "ale"))
    run_to_end(kafka_spark, project)

    assert {2: "Ann ale,cup"} == told(profiles)
    profiles.check_versions()
    assert "no order" == dead.records[0].value["value"]
    last = run.lines()[-1]
    assert [6, 1] == [last[each] for each in counted[:2]], run.said()


def test_a_machine_with_too_few_slots_is_told_how_many_are_needed(
    kafka_spark: SparkSession, project: Path
) -> None:
    file = project / "joinery.yaml"
    file.write_text(f"{file.read_text()}  real_time: true\n")

    with pytest.raises(RealTimeRefusedError, match='query "profile" needs') as refused:
        jn.run(kafka_spark, jn.load(file))

    assert "the session has 2" in str(refused.value)


def test_the_slots_of_a_product_that_is_paused_are_counted_too(
    kafka_spark: SparkSession, project: Path
) -> None:
    paths = QueryPaths.of(project / ".joinery" / "checkpoint", "profile")
    ControlLog(paths.control_file).ask(Action.now("pause"))
    file = project / "joinery.yaml"
    file.write_text(f"{file.read_text()}  real_time: true\n")

    with pytest.raises(RealTimeRefusedError, match='query "profile" needs'):
        jn.run(kafka_spark, jn.load(file))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seeds", [range(3), range(3, 6)], ids=lambda seeds: f"from-{seeds[0]}")
def test_random_projects_that_are_killed_end_in_the_documents_of_the_reference(
    seeds: range, tmp_path: Path, log: Log
) -> None:
    trial = make_trial(each for each in seeds)
    spec = in_kafka(trial.project, log, f"rt-{uuid.uuid4().hex[:8]}", tmp_path)
    (tmp_path / "joinery.yaml").write_text(dump_spec(spec), encoding="utf-8")
    topics = {each.name: Topic(log.bootstrap, sink_topic(each.sinks)) for each in spec.products}
    expected = ends(trial.project, trial.batches)
    chance = random.Random(seeds[0])
    for number, changes in enumerate(trial.batches[:-1], start=1):
        with live_run(tmp_path, "--real-time") as run:
            go_live(run)
            some = len(changes) // 3
            enough = partial(sent, topics, count(topics) + chance.randint(0, some))
            put(log, spec, changes)
            all_of_it = partial(settled, topics, ends(trial.project, trial.batches[:number]))
            run.until(partial(either, enough, all_of_it), "some documents")
            run.kill()
    with live_run(tmp_path, "--real-time") as run:
        go_live(run)
        put(log, spec, trial.batches[-1])
        run.until(lambda: settled(topics, expected), partial(missing, topics, expected))
        assert 0 == run.stop(), run.said()

    for each in topics.values():
        each.check_versions()


def either(*conditions: Callable[[], bool]) -> bool:
    return any(each() for each in conditions)


def count(topics: dict[str, Topic]) -> int:
    return sum(len(each.read()) for each in topics.values())


def sent(topics: dict[str, Topic], enough: int) -> bool:
    return count(topics) >= enough


def in_kafka(project: ProjectSpec, log: Log, at: str, folder: Path) -> ProjectSpec:
    """Return the project with all that it reads and writes in a broker."""
    kafka = (("bootstrap", log.bootstrap),)
    sources = tuple(SourceSpec(each.name, "kafka", kafka) for each in project.sources)
    relations = tuple(
        replace(each, topic=f"{at}.{each.topic or each.name}") for each in project.relations
    )
    products = tuple(
        replace(each, sinks=(SinkSpec("kafka", (("topic", f"{at}.{each.name}"),)),), group="all")
        for each in project.products
    )
    for name in {str(each.topic) for each in relations} | {f"{at}.dead"}:
        log.create(name)
    run = RunSpec(
        dead_letters=SinkSpec("kafka", (("topic", f"{at}.dead"),)), checkpoint_interval_ms=10_000
    )
    return replace(
        project, sources=sources, relations=relations, products=products, run=run, folder=folder
    )


def put(log: Log, spec: ProjectSpec, changes: Iterable[Change]) -> None:
    relations = {each.name: each for one in build_plan(spec).products for each in one.relations}
    known = (each for each in changes if each.relation in relations)
    log.put_all(record(each, relations[each.relation]) for each in known)
