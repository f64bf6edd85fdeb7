"""A project runs batch by batch into its sinks, and goes on where it ended."""

from __future__ import annotations

import json
import shutil
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from tests.spark.run_project import PROJECT, Project, once, project

import joinery as jn
from joinery.errors import RunError
from joinery.model.batch import BatchProgress
from joinery.plan.build import build_plan
from joinery.plan.product import Plan, Product
from joinery.project.load import load_spec
from joinery.sinks.line import read_rows
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.program import KernelProgram
from joinery.spark.batch import query_kernel
from joinery.spark.batch.run import run
from joinery.spark.batch.staging import clear_staging
from joinery.spark.kernel import Kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["project"]

pytestmark = pytest.mark.spark
HDFS_STORE = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


def wait_for(condition: Callable[[], bool]) -> bool:
    """Return whether a condition comes to hold."""
    until = time.monotonic() + 300
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()


def test_a_query_is_lowered_once_however_often_its_program_is_used(
    spark: SparkSession, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered: list[str] = []

    def counted(products: Sequence[Product], **limits: Any) -> KernelProgram:
        lowered.extend(each.name for each in products)
        return lower(products, **limits)

    monkeypatch.setattr(query_kernel, "lower", counted)
    project.change("customer", "1", {"id": 1, "name": "Ada"})
    with run(spark, project) as going_on:
        assert wait_for(lambda: going_on.progress.totals.read == 1)

    assert going_on.ended

    assert ["profile"] == lowered


def test_a_run_once_reads_what_there_is_and_ends(spark: SparkSession, project: Project) -> None:
    project.change("customer", "1", {"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}, "{broken")
    project.change(
        "order", "1", *({"number": n, "customer_id": 1, "item": f"i{n}"} for n in (7, 8))
    )
    batches: list[BatchProgress] = []

    with run(spark, project, once=True, on_batch=batches.append) as ended:
        assert ended.targets

    assert ended.ended
    assert [(1, "Ada"), (2, "Bob")] == project.table()
    assert "1 Ada i7,i8" == [each for each in project.emitted() if each.startswith("1")][-1]
    totals = ended.progress.totals
    assert (5, 4, 1) == (totals.read, totals.applied, totals.dead)
    assert [0, 1] == [each.batch_id for each in batches]
    assert {"stage", "sinks", "triggerExecution"} <= batches[0].durations_ms.keys()
    letters = [*(project.folder / ".joinery/dead_letters").glob("*.jsonl")]
    letter = json.loads(letters[0].read_text())
    assert ("customer", 3, "{broken") == (letter["topic"], letter["line"], letter["value"])


def test_an_interrupt_ends_a_run_that_a_block_waits_for(
    spark: SparkSession, project: Project
) -> None:
    waiting = threading.Event()

    def interrupt(batch: BatchProgress) -> None:
        waiting.wait(60)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        started._asked.wait(60)

    project.change("customer", "1", {"id": 1, "name": "Ada"})
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with (
            pytest.raises(KeyboardInterrupt),
            run(spark, project, once=True, on_batch=interrupt) as started,
        ):
            waiting.set()
    finally:
        signal.signal(signal.SIGINT, before)

    assert started.ended


def test_the_next_run_goes_on_where_the_last_one_ended(
    spark: SparkSession, project: Project
) -> None:
    project.change("customer", "1", {"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"})
    once(spark, project)
    project.change("customer", "2", {"id": 2, "__deleted": True})
    project.change("order", "1", {"number": 7, "customer_id": 1, "item": "tea"})

    once(spark, project)

    assert ["1 Ada", "2 Bob"] == sorted(project.emitted()[:2])
    assert ["1 Ada tea", "2 deleted"] == sorted(project.emitted()[2:])
    assert [(1, "Ada")] == project.table()


def test_a_sink_that_is_added_later_is_new_and_one_that_lost_its_files_is_emptied(
    spark: SparkSession, project: Project
) -> None:
    product = project.plan.products[0]
    project.change("customer", "1", {"id": 1, "name": "Ada"})
    once(spark, replace(project, plan=Plan((replace(product, sinks=product.sinks[:1]),))))

    added = once(spark, project).progress.warnings

    assert ["WARN_SINK_NEW"] == [each.code for each in added]
    assert f"sqlite {project.folder}/out/shop.db, table profile is new" in added[0].message
    project.change("customer", "2", {"id": 2, "name": "Bob"})
    once(spark, project)
    assert () == once(spark, project).progress.warnings
    shutil.rmtree(project.folder / "out/profile")
    (emptied,) = once(spark, project).progress.warnings
    assert "WARN_SINK_EMPTIED" == emptied.code


def test_lines_appended_to_a_file_that_was_read_are_warned_of_without_a_batch(
    spark: SparkSession, project: Project
) -> None:
    project.change("customer", "1", {"id": 1, "name": "Ada"})
    assert () == once(spark, project).progress.warnings
    with (project.folder / "data/customer/1.jsonl").open("a") as file:
        file.write('{"id": 2, "name": "Bob"}\n')

    idle = once(spark, project)

    assert 0 == idle.progress.totals.read
    (told,) = idle.progress.warnings
    assert ("WARN_FILE_CHANGED", 'relation "customer"') == (told.code, told.about)
    assert "1.jsonl" in told.message


def test_a_batch_that_runs_again_leaves_the_same_lines(
    spark: SparkSession, project: Project
) -> None:
    project.change("customer", "1", {"id": 1, "name": "Ada"}, "{broken")
    once(spark, project)
    files = [*project.folder.glob("out/**/*.jsonl"), *project.folder.glob(".joinery/dead*/*.jsonl")]
    before = {file: file.read_text() for file in files}
    commits = project.folder / ".joinery/checkpoint/profile/commits"
    for file in (commits / "0", commits / ".0.crc"):
        file.unlink(missing_ok=True)

    once(spark, project)

    assert len(before) == 2
    assert before == {file: file.read_text() for file in files}
    assert [(1, "Ada")] == project.table()


def test_a_batch_whose_staging_is_cleared_is_not_committed_and_runs_again(
    spark: SparkSession, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.change("customer", "1", {"id": 1, "name": "Ada"})
    stage = Kernel.stage

    def cleared(kernel: Kernel, batch: DataFrame, folder: Path, *more: Any) -> dict[str, Any]:
        counts = stage(kernel, batch, folder, *more)
        clear_staging(folder.parent)
        return counts

    with monkeypatch.context() as patched:
        patched.setattr(Kernel, "stage", cleared)
        with pytest.raises(RunError, match="staged and not yet written is gone"):
            once(spark, project)
    committed = (project.folder / ".joinery/checkpoint/profile/commits/0").exists()
    once(spark, project)

    assert not committed
    assert ["1 Ada"] == project.emitted()
    assert [(1, "Ada")] == project.table()


def test_a_fresh_checkpoint_sends_again_above_what_stood(
    spark: SparkSession, project: Project
) -> None:
    project.change("customer", "1", {"id": 1, "name": "Ada"})
    once(spark, project)
    shutil.rmtree(project.folder / ".joinery/checkpoint/profile")

    once(spark, project)

    files = sorted((project.folder / "out/profile").glob("*.jsonl"))
    first, second = (row.version for row in read_rows(files))
    assert ["1 Ada", "1 Ada"] == project.emitted()
    assert first < second


def test_what_a_task_counts_leaves_it_as_one_message_a_counter(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "joinery.yaml").write_text(
        PROJECT.replace("order: {key: [number],", "order: {key: [number], position: seq,")
        .replace("item: string}", "item: string, seq: long}")
        .replace("max_rows_per_batch: 4", "max_rows_per_batch: 1000")
    )
    spec = load_spec(tmp_path / "joinery.yaml")
    project = Project(tmp_path, spec, build_plan(spec))
    for name, seq in (("1", 9), ("2", 5)):
        orders = [{"number": n, "customer_id": n, "item": "a", "seq": seq} for n in range(300)]
        project.change("order", name, *orders)
    counted = _CountMessages(monkeypatch)

    ended = once(spark, project)

    assert 300 == ended.progress.relations["order"]["stale"]
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
    # Each task of the first operator counts stale changes, each that decodes them what it read and
    # the rows in it, and each of an operator what its nodes took and how many messages they had.
    nodes = len(lower(project.plan.products).nodes)
    assert counted.messages <= 3 * tasks + 2 + 2 * nodes * tasks


class _CountMessages:
    """Counts the messages by which a batch of the kernel tells its counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.messages = 0
        stage = Kernel.stage

        def watched(kernel: Kernel, batch: DataFrame, folder: Path, label: Any = None) -> Any:
            kept = batch.persist()
            kinds = kept.select(F.substring(kept.columns[0], 1, 1).alias("kind"))
            self.messages += kinds.filter("kind = X'0C'").count()
            try:
                return stage(kernel, kept, folder, label)
            finally:
                kept.unpersist()

        monkeypatch.setattr(Kernel, "stage", watched)


def test_a_run_takes_files_as_they_come_until_it_is_stopped(
    spark: SparkSession, project: Project
) -> None:
    project.change("customer", "1", {"id": 1, "name": "Ada"})
    going = run(spark, project)
    while going.progress.totals.documents < 1:
        assert not going.await_termination(0.05)
    project.change("customer", "2", {"id": 1, "name": "Bea"})
    while going.progress.totals.documents < 2:
        assert not going.await_termination(0.05)

    assert [going] == [each for each in jn.runs() if each is going]
    for each in jn.runs():  # as somebody does who has lost the handle
        each.stop()

    assert going not in jn.runs()
    assert ["1 Ada", "1 Bea"] == project.emitted()
    assert going.await_termination(0)
    commits = project.folder / ".joinery/checkpoint/profile/commits"
    assert ["0", "1"] == sorted(each.name for each in commits.iterdir() if each.name.isdigit())


def test_a_session_without_settings_runs_a_project_and_stays_as_it_is(
    project: Project, spark: SparkSession
) -> None:
    plain = spark.newSession()
    names = ("spark.sql.streaming.stateStore.providerClass", "spark.sql.shuffle.partitions")
    for name in names:
        plain.conf.unset(name)
    plain.conf.set(names[0], HDFS_STORE)
    before = [plain.conf.get(name) for name in names]
    project.change("customer", "1", {"id": 1, "name": "Ann"})

    run(plain, project, once=True).await_termination(300)

    assert project.emitted() == ["1 Ann"]
    assert [plain.conf.get(name) for name in names] == before


@pytest.mark.parametrize(("partitions", "shuffles"), [(2, False), (3, True)])
def test_rows_are_shuffled_only_where_there_are_more_partitions_than_slots(
    project: Project, spark: SparkSession, partitions: int, shuffles: bool
) -> None:
    settings = (("spark.sql.shuffle.partitions", str(partitions)),)
    spec = replace(project.spec, run=replace(project.spec.run, spark=settings))
    context = spark.sparkContext._jsc.sc()
    project.change("customer", "1", {"id": 1, "name": "Ann"}, {"id": 2, "name": "Bo"})
    project.change("order", "1", {"number": 10, "customer_id": 1, "item": "ink"})
    before = context.newShuffleId()

    run(spark, replace(project, spec=spec), once=True).await_termination(300)

    assert ["1 Ann ink", "2 Bo"] == sorted(project.emitted())
    assert shuffles == (context.newShuffleId() - before > 1)


CONDITIONAL = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
  order: {key: [number], fields: {number: long, customer_id: long, item: string}}
products:
  sold:
    root: order
    fields: [number, item]
    embed: {by: {one: customer, on: {id: customer_id}, fields: [name]}}
    where: by.name <> 'closed'
    sink: {sqlite: {path: out/shop.db}}
"""


@pytest.mark.parametrize("began_with_folds", [True, False])
def test_documents_of_orders_that_move_follow_their_customers_also_over_state_of_before(
    began_with_folds: bool,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "joinery.yaml").write_text(CONDITIONAL)
    spec = load_spec(tmp_path / "joinery.yaml")
    shop = Project(tmp_path, spec, build_plan(spec))
    customers = [{"id": 1, "name": "Ada"}, {"id": 2, "name": "closed"}]
    shop.change("customer", "1", *customers)
    orders = [{"number": n, "customer_id": of, "item": "i"} for n, of in ((7, 1), (8, 1), (9, 2))]
    shop.change("order", "1", *orders)
    if began_with_folds:
        with monkeypatch.context() as before:
            before.setattr(query_kernel, "lower", partial(lower, former=True))
            before.setattr(query_kernel, "has_former", lambda program: False)
            once(spark, shop)
    else:
        once(spark, shop)
    assert [(7, "Ada"), (8, "Ada")] == shop.sold()

    shop.change("order", "2", {"number": 7, "customer_id": 2, "item": "i"})
    shop.change("order", "3", {"number": 9, "customer_id": 1, "item": "i"})
    once(spark, shop)
    assert [(8, "Ada"), (9, "Ada")] == shop.sold()

    shop.change("customer", "2", {"id": 2, "name": "Bob"}, {"id": 1, "name": "closed"})
    once(spark, shop)
    assert [(7, "Bob")] == shop.sold()
    told = json.loads((tmp_path / ".joinery/checkpoint/sold/joinery.json").read_text())
    assert ("fold" if began_with_folds else "root") in told["kinds"]
