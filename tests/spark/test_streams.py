"""Streams on Spark: files in, events with what they met out."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.sqlite_file import sqlite_file

import joinery as jn
from joinery.errors import JoineryError
from joinery.spark.batch.run import Run, RunOptions
from joinery.spark.frames.documents import frame_of
from joinery.spark.frames.frame import FrameError
from joinery.spark.frames.preview import preview

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PROJECT = """\
name: shop
sources: {log: {files: {path: data}}}
relations:
  orders:
    append: true
    key: [order_id]
    fields: {order_id: long, customer_id: int, quantity: int, price: double}
  customers: {key: [id], fields: {id: long, name: string, tier: string}}
streams:
"""
LOOKUP = "lookup: customers, on: {id: customer_id}, fields: [name]"
ORDER = {"order_id": 1, "customer_id": 7, "quantity": 2, "price": 1.5}
ADA = {"id": 7, "name": "Ada", "tier": "gold"}


def project(folder: Path, steps: str, **data: Sequence[dict[str, Any]]) -> jn.Project:
    file = folder / "joinery.yaml"
    text = f"  enriched: {{from: orders, steps: [{steps}], sink: {{files: {{path: out}}}}}}\n"
    file.write_text(PROJECT + text, encoding="utf-8")
    for topic, rows in data.items():
        write(folder, topic, "a", rows)
    return jn.load(file)


def write(folder: Path, topic: str, name: str, rows: Sequence[dict[str, Any]]) -> None:
    target = folder / "data" / topic / f"{name}.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_suffix(".part")
    fresh.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    fresh.rename(target)


def run(spark: SparkSession, made: jn.Project) -> Run:
    started = Run(made.spec, made.plan, RunOptions(once=True))
    started.prepare()
    started.start(spark)
    started.await_termination()
    return started


def sent(folder: Path) -> list[dict[str, Any]]:
    files = sorted((folder / "out").rglob("*.jsonl"))
    return [json.loads(line)["value"] for file in files for line in file.read_text().splitlines()]


def test_an_event_meets_its_row_on_its_way_from_files_to_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    steps = f"{{filter: quantity > 0}}, {{{LOOKUP}}}, {{with_columns: {{total: quantity * price}}}}"
    none = {**ORDER, "order_id": 2, "quantity": 0}
    made = project(tmp_path, steps, orders=[ORDER, none], customers=[ADA])

    ended = run(spark, made)

    assert [{**ORDER, "name": "Ada", "total": 3.0}] == sent(tmp_path)
    assert 1 == ended.progress.totals.documents


def test_a_run_goes_on_where_the_last_one_ended(spark: SparkSession, tmp_path: Path) -> None:
    made = project(tmp_path, f"{{{LOOKUP}}}, {{select: [order_id, name]}}", customers=[ADA])
    run(spark, made)
    write(tmp_path, "orders", "b", [ORDER])

    run(spark, made)
    run(spark, made)

    assert [{"order_id": 1, "name": "Ada"}] == sent(tmp_path)


def test_a_run_that_waits_ends_and_the_event_goes_when_its_row_comes(
    spark: SparkSession, tmp_path: Path
) -> None:
    steps = f"{{{LOOKUP}, on_miss: 'wait:1h'}}, {{select: [order_id, name]}}"
    made = project(tmp_path, steps, orders=[ORDER])
    run(spark, made)
    assert [] == sent(tmp_path)
    write(tmp_path, "customers", "b", [ADA])

    run(spark, made)

    assert [{"order_id": 1, "name": "Ada"}] == sent(tmp_path)


def test_a_lookup_in_a_store_asks_each_key_of_a_batch_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    with sqlite_file(tmp_path / "app.db") as database:
        database.execute("create table customers (id integer, name text, tier text)")
        database.execute("insert into customers values (7, 'Ada', 'gold')")
    store = "read: database, store: {sqlite: {path: app.db}}, cache: {negative: 0s}"
    orders = [{**ORDER, "order_id": number, "customer_id": 7 + number % 2} for number in range(10)]
    made = project(tmp_path, f"{{{LOOKUP}, {store}}}", orders=orders)

    ended = run(spark, made)

    assert {0: "Ada", 1: None} == {each["order_id"] % 2: each["name"] for each in sent(tmp_path)}
    assert 10 == len(sent(tmp_path))
    asked = ended.progress.lookups["enriched/customers"]
    assert (2, 1) == (asked.keys, asked.requests)


def test_a_function_stands_between_two_lookups(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "shop_steps.py").write_text(
        "def doubled(row):\n"
        "    return {**row, 'quantity': row['quantity'] * 2} if row['quantity'] else None\n",
        encoding="utf-8",
    )
    output = "{order_id: long, customer_id: int, quantity: int}"
    step = f"{{map: {{function: 'shop_steps:doubled', output: {output}}}}}"
    broken = {**ORDER, "order_id": 3, "quantity": None}
    made = project(tmp_path, f"{step}, {{{LOOKUP}}}", orders=[ORDER, broken], customers=[ADA])

    run(spark, made)

    expected = {"order_id": 1, "customer_id": 7, "quantity": 4, "name": "Ada"}
    assert [expected] == sent(tmp_path)


def test_a_lookup_that_streams_share_makes_one_dead_letter_of_an_event(
    spark: SparkSession, tmp_path: Path
) -> None:
    lookup = f"{{{LOOKUP}, on_miss: dead_letter}}"
    project(tmp_path, lookup, orders=[ORDER])
    file = tmp_path / "joinery.yaml"
    both = "".join(
        f"  {name}: {{from: orders, group: g, steps: [{lookup}, {{select: [{column}]}}],"
        f" sink: {{files: {{path: out}}}}}}\n"
        for name, column in (("one", "name"), ("two", "quantity"))
    )
    file.write_text(PROJECT + both, encoding="utf-8")
    made = jn.load(file)

    run(spark, made)

    letters = (tmp_path / ".joinery" / "dead_letters").rglob("*.jsonl")
    told = [json.loads(line) for each in letters for line in each.read_text().splitlines()]
    assert [("lookup_miss", "one")] == [(each["reason"], each["stream"]) for each in told]


def test_a_stream_stands_in_the_middle_of_a_spark_job(spark: SparkSession, tmp_path: Path) -> None:
    made = project(tmp_path, f"{{{LOOKUP}}}, {{select: [order_id, name]}}")
    orders = spark.createDataFrame(
        [tuple(ORDER.values())],
        ", ".join(f"{each.name} {each.type.ddl}" for each in made.plan.streams[0].relation.columns),
    )
    customers = spark.createDataFrame([(7, "Ada", "gold")], "id long, name string, tier string")

    frame = frame_of(made.plan.streams[0], spark, {"orders": orders, "customers": customers})

    assert [(1, "Ada")] == [tuple(row) for row in frame.collect()]


def test_a_preview_leaves_nothing_behind(spark: SparkSession, tmp_path: Path) -> None:
    made = project(tmp_path, f"{{{LOOKUP}}}, {{select: [name]}}", orders=[ORDER], customers=[ADA])

    shown = preview(made.spec, made.plan.streams[0], spark)

    assert ({"name": "Ada"},) == shown.rows
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / ".joinery").exists()


def test_an_event_that_waited_long_enough_goes_while_nothing_comes(
    spark: SparkSession, tmp_path: Path
) -> None:
    steps = f"{{{LOOKUP}, on_miss: 'wait:1s'}}, {{select: [order_id, name]}}"
    made = project(tmp_path, steps, orders=[ORDER])
    started = Run(made.spec, made.plan, RunOptions())
    started.prepare()
    started.start(spark)
    try:
        ended = threading.Event()
        deadline = time.monotonic() + 300
        while not sent(tmp_path) and time.monotonic() < deadline:
            ended.wait(0.2)
    finally:
        started.stop()

    assert [{"order_id": 1, "name": None}] == sent(tmp_path)


def test_the_next_run_sends_what_is_due_though_nothing_new_came(
    spark: SparkSession, tmp_path: Path
) -> None:
    steps = f"{{{LOOKUP}, on_miss: 'wait:1ms'}}, {{select: [order_id, name]}}"
    made = project(tmp_path, steps, orders=[ORDER])
    run(spark, made)
    assert [] == sent(tmp_path)

    run(spark, made)
    run(spark, made)

    assert [{"order_id": 1, "name": None}] == sent(tmp_path)


def test_a_row_that_came_meanwhile_is_read_before_what_is_due_goes_without(
    spark: SparkSession, tmp_path: Path
) -> None:
    steps = f"{{{LOOKUP}, on_miss: 'wait:1ms'}}, {{select: [order_id, name]}}"
    made = project(tmp_path, steps, orders=[ORDER])
    run(spark, made)
    write(tmp_path, "customers", "b", [ADA])

    run(spark, made)

    assert [{"order_id": 1, "name": "Ada"}] == sent(tmp_path)


def test_a_batch_that_broke_off_is_run_again_before_what_came_due_since(
    spark: SparkSession, tmp_path: Path
) -> None:
    steps = f"{{{LOOKUP}, on_miss: 'wait:1ms'}}, {{select: [order_id, name]}}"
    made = project(tmp_path, steps, orders=[ORDER])
    run(spark, made)
    (commits,) = (tmp_path / ".joinery" / "checkpoint").rglob("commits")
    for each in commits.iterdir():
        each.unlink()

    run(spark, made)

    assert [{"order_id": 1, "name": None}] == sent(tmp_path)


def test_a_run_that_goes_on_sends_what_is_due_before_anything_new_comes(
    spark: SparkSession, tmp_path: Path
) -> None:
    steps = f"{{{LOOKUP}, on_miss: 'wait:1ms'}}, {{select: [order_id, name]}}"
    made = project(tmp_path, steps, orders=[ORDER])
    run(spark, made)
    started = Run(made.spec, made.plan, RunOptions())
    started.prepare()
    started.start(spark)
    try:
        ended = threading.Event()
        deadline = time.monotonic() + 300
        while not sent(tmp_path) and time.monotonic() < deadline:
            ended.wait(0.2)
    finally:
        started.stop()

    assert [{"order_id": 1, "name": None}] == sent(tmp_path)


def test_a_notebook_s_frames_are_previewed_and_go_on_as_a_frame(spark: SparkSession) -> None:
    orders = spark.createDataFrame([(1, 7), (2, 8)], "id bigint, customer_id bigint")
    customers = spark.createDataFrame([(7, "ada")], "id bigint, name string")
    app = jn.App("notebook")
    app.table("customers", key="id", frame=customers)
    named = app.stream("orders", key="id", frame=orders).lookup_join("customers", "customer_id")

    shown = named.preview(5, spark=spark)
    frame = named.to_dataframe(spark=spark)

    assert {(1, 7, "ada"), (2, 8, None)} == set(shown.rows)
    assert {(1, 7, "ada"), (2, 8, None)} == {tuple(row) for row in frame.collect()}


def test_frames_of_a_batch_and_of_a_stream_do_not_mix(spark: SparkSession, tmp_path: Path) -> None:
    orders = spark.readStream.schema("id bigint, customer_id bigint").json(str(tmp_path))
    app = jn.App("notebook")
    customers = spark.createDataFrame([(7, "ada")], "id bigint, name string")
    app.table("customers", key="id", frame=customers)
    named = app.stream("orders", key="id", frame=orders).lookup_join("customers", "customer_id")

    with pytest.raises(FrameError, match="streaming frames and batch frames do not mix"):
        named.to_dataframe(spark=spark)


@pytest.mark.parametrize(
    ("switches", "hint"),
    [
        ({"on_miss": "wait:5m"}, 'Use on_miss="null"'),
        ({"as_of": "event"}, 'Use late="correct"'),
    ],
)
def test_events_that_would_wait_are_not_lost_in_a_batch(
    spark: SparkSession, switches: dict[str, Any], hint: str
) -> None:
    app = jn.App("notebook")
    customers = spark.createDataFrame([], "id bigint, name string, since timestamp")
    app.table("customers", key="id", frame=customers, time="since")
    orders = spark.createDataFrame([], "id bigint, customer_id bigint, at timestamp")
    stream = app.stream("orders", key="id", frame=orders, time="at")

    with pytest.raises(FrameError, match='has events wait for "customers"') as refused:
        stream.lookup_join("customers", "customer_id", ["name"], **switches).preview(spark=spark)

    assert hint in refused.value.hint


def test_the_events_of_frames_are_shown(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = spark.createDataFrame([(1, None)], "id bigint, name string")
    write(tmp_path, "orders", "a", [{"id": 2, "name": "Ada"}])
    folder = str(tmp_path / "data" / "orders")
    coming = spark.readStream.schema("id bigint, name string").json(folder)

    jn.Stream.from_dataframe(rows, "rows", key="id").show(spark=spark)
    jn.Stream.from_dataframe(coming, "coming", key="id").show(20, spark=spark)

    assert ['{"id":1,"name":null}', '{"id":2,"name":"Ada"}'] == capsys.readouterr().out.splitlines()


def test_another_thread_finds_the_session_of_the_process(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1,)], "id bigint")
    clicks = jn.Stream.from_dataframe(frame, "clicks", key="id")

    with ThreadPoolExecutor(1) as pool:
        shown = pool.submit(lambda: clicks.preview()).result()

    assert ((1,),) == shown.rows


def test_a_stream_over_sources_goes_on_as_a_frame_that_tells_what_it_leaves_out(
    spark: SparkSession, tmp_path: Path, warned: Callable[[], list[logging.LogRecord]]
) -> None:
    write(tmp_path, "customers", "a", [ADA])
    write(tmp_path, "orders", "a", [ORDER, {**ORDER, "order_id": "none"}])
    app = jn.App("shop", folder=tmp_path)
    app.table("customers", key="id", fields={"id": "long", "name": "string"})
    orders = app.stream(
        "orders", key="order_id", fields={"order_id": "long", "customer_id": "long"}
    )
    frame = orders.lookup_join("customers", "customer_id").to_dataframe(spark=spark)
    found: list[dict[str, Any]] = []

    writer = frame.writeStream.outputMode("update").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.foreachBatch(
        lambda batch, _: found.extend(row.asDict() for row in batch.collect())
    ).start()
    query.awaitTermination()

    assert [{"order_id": 1, "customer_id": 7, "name": "Ada"}] == found
    until = time.monotonic() + 300
    while not warned() and time.monotonic() < until:
        time.sleep(0.05)
    assert ["WARN_CHANGES_LEFT_OUT"] == [vars(each)["code"] for each in warned()]


def leave(keys: list[int]) -> dict[int, object]:
    sys.exit("no licence")


def test_a_store_whose_function_ends_the_process_ends_the_run_with_the_reason(
    spark: SparkSession, tmp_path: Path
) -> None:
    app = jn.App("shop", folder=tmp_path)
    app.table("person", key="id", fields={"id": "long", "name": "string"})
    events = app.stream("event", key="number", fields={"number": "long", "id": "long"})
    store = {"function": {"function": "tests.spark.test_streams:leave"}}
    asked = events.lookup_join("person", on=["id"], read="database", store=store)
    asked.sink(files={"path": "out"})
    (tmp_path / "data/event").mkdir(parents=True)
    (tmp_path / "data/event/1.jsonl").write_text('{"number":1,"id":1}\n')

    run = app.run(spark, once=True)

    with pytest.raises(JoineryError, match="no licence"):
        assert run.await_termination(300), "it hangs"


def test_a_function_that_holds_a_lock_is_told_by_its_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    lock = threading.Lock()

    def guarded(event: Mapping[str, Any]) -> dict[str, Any]:
        with lock:
            return {"number": event["number"]}

    app = jn.App("shop", folder=tmp_path)
    events = app.stream("event", key="number", fields={"number": "long"})
    events.map(guarded, {"number": "long"}).sink(files={"path": "out"})
    (tmp_path / "data/event").mkdir(parents=True)

    with pytest.raises(JoineryError, match="guarded cannot be sent to Spark's workers"):
        app.run(spark, once=True).await_termination(300)
