"""Documents from DataFrames: in the user's session, a batch or a stream, by the same kernel."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

import joinery as jn
from joinery.errors import JoineryError
from joinery.spark.frames.frame import FrameError
from joinery.testing import Driver, delete, insert, update

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from joinery.app.project import Product

pytestmark = pytest.mark.spark

Warned = Callable[[], list[logging.LogRecord]]
NOON = datetime(2026, 1, 31, 12)
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
CUSTOMER = "id long, name string, city string, __op string"
ORDER = "number long, customer_id long, item string, __op string"


@pytest.fixture
def user(spark: SparkSession) -> Iterator[SparkSession]:
    """A session as a user has it: nothing is set for the kernel."""
    session = spark.newSession()
    session.conf.set(PROVIDER, HDFS)
    session.conf.set("spark.sql.shuffle.partitions", 2)
    yield session
    for query in session.streams.active:
        query.stop()


@pytest.fixture(scope="module")
def profile() -> Product:
    customer = jn.relation(
        "customer", key=["id"], fields={"id": "long", "name": "string", "city": "string"}
    )
    order = jn.relation(
        "order",
        key=["number"],
        fields={"number": "long", "customer_id": "long", "item": "string"},
        format="json",
    )
    document = jn.document("profile", customer).embed_many(
        "orders", order, on={"customer_id": "id"}, fields=["number", "item"]
    )
    return jn.Project("shop", products=[document]).products["profile"]


def told(rows: Iterable[Any]) -> list[tuple[int, Any]]:
    """Return the emissions in key order, values as dictionaries."""
    values = ((row.key.id, row.value) for row in rows if row.key is not None)
    return sorted(
        (key, json.loads(value) if isinstance(value, str) else value and value.asDict(True))
        for key, value in values
    )


def errors(docs: DataFrame) -> list[Mapping[str, Any]]:
    """Return the dead letters in the order of their text."""
    return [json.loads(row.error) for row in docs.orderBy("error").collect() if row.error]


def wait_for(condition: Callable[[], bool]) -> None:
    """Return once a condition holds, which it must within a minute."""
    until = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def put(folder: Path, number: int, *rows: Mapping[str, Any]) -> None:
    """Put one file of rows in place."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{number}"
    part.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    part.rename(folder / f"{number}.json")


def test_a_frame_that_misspells_a_declared_column_is_warned_of_and_one_that_lacks_it_is_not(
    user: SparkSession, profile: Product, warned: Warned
) -> None:
    profile.documents(user, {"customer": user.createDataFrame([(1, "x")], "id long, city string")})
    assert [] == warned()

    misspelled = user.createDataFrame([(1, "Ada")], "id long, nmae string")
    profile.documents(user, {"customer": misspelled})

    (message,) = [each.getMessage() for each in warned()]
    assert 'declares "name", which its frame does not have, and the frame has "nmae"' in message


def test_a_stream_sends_batch_by_batch_what_the_driver_sends(
    user: SparkSession, profile: Product, tmp_path: Path
) -> None:
    driver = Driver(profile)
    expected = [
        driver.send(
            insert("customer", id=1, name="Ada", city="Rome"),
            insert("customer", id=2, name="Bob", city="Oslo"),
            insert("order", number=7, customer_id=1, item="tea"),
        ),
        driver.send(insert("order", number=7, customer_id=2, item="tea"), delete("customer", id=1)),
    ]
    put(
        tmp_path / "customer",
        1,
        {"id": 1, "name": "Ada", "city": "Rome"},
        {"id": 2, "name": "Bob", "city": "Oslo", "__op": "c"},
    )
    put(tmp_path / "order", 1, {"number": 7, "customer_id": 1, "item": "tea"})
    frames = {
        "customer": user.readStream.schema(CUSTOMER).json(str(tmp_path / "customer")),
        "order": user.readStream.schema(ORDER).json(str(tmp_path / "order")),
    }
    batches: list[list[tuple[int, Any]]] = []

    query = (
        profile.documents(user, frames)
        .writeStream.outputMode("update")
        .foreachBatch(lambda batch, _: batches.append(told(batch.collect())))
        .start()
    )
    query.processAllAvailable()
    put(tmp_path / "customer", 2, {"id": 1, "__op": "delete"})
    put(tmp_path / "order", 2, {"number": 7, "customer_id": 2, "item": "tea", "__op": "u"})
    query.processAllAvailable()
    query.stop()

    assert [[(each.key, each.value) for each in batch] for batch in expected] == batches


def test_a_batch_gives_structs_of_the_declared_types(user: SparkSession, profile: Product) -> None:
    driver = Driver(profile)
    expected = driver.send(
        insert("customer", id=1, name="Ada", city="Rome"),
        insert("order", number=7, customer_id=1, item="tea"),
    )
    customers = user.createDataFrame(
        [("Rome", 1, "Ada", True)], "city string, id int, name string, extra boolean"
    )
    orders = user.createDataFrame([(7, 1, "tea")], "number int, customer_id int, item string")

    docs = profile.documents(user, {"customer": customers, "order": orders})

    assert "struct<id:bigint>" == docs.schema["key"].dataType.simpleString()
    orders_type = "array<struct<number:bigint,item:string>>"
    value_type = f"struct<id:bigint,name:string,city:string,orders:{orders_type}>"
    assert value_type == docs.schema["value"].dataType.simpleString()
    assert ["key", "value", "version"] == docs.columns
    assert [(each.key, each.value) for each in expected] == told(docs.collect())


def test_json_is_text_and_records_are_decoded(user: SparkSession, profile: Product) -> None:
    customers = user.createDataFrame([(1, "Ada", "Rome")], "id long, name string, city string")
    records = user.createDataFrame(
        [('{"number": 7, "customer_id": 1, "item": "tea"}',), ("{broken",)], "value string"
    )

    docs = profile.documents(
        user, {"customer": customers, "order": records}, format="json", dead_letters=True
    )

    rows = docs.collect()
    texts = [row.value for row in rows if row.value]
    assert ['{"id":1,"name":"Ada","city":"Rome","orders":[{"number":7,"item":"tea"}]}'] == texts
    letter = next(json.loads(row.error) for row in rows if row.error)
    assert ("undecodable", "{broken") == (letter["reason"], letter["value"])


def test_records_of_a_log_are_ordered_by_their_place(user: SparkSession, profile: Product) -> None:
    customers = user.createDataFrame([(1, "Ada", "Rome")], "id long, name string, city string")
    records = user.createDataFrame(
        [
            (0, 8, '{"number": 7}', '{"number": 7, "customer_id": 1, "item": "milk"}'),
            (0, 5, '{"number": 7}', '{"number": 7, "customer_id": 1, "item": "tea"}'),
            (1, 3, '{"number": 9}', '{"number": 9, "customer_id": 1, "item": "jam"}'),
            (1, 4, '{"number": 9}', None),
        ],
        "partition int, offset long, key string, value string",
    )

    docs = profile.documents(user, {"customer": customers, "order": records})

    [(_, value)] = told(docs.collect())
    assert [{"number": 7, "item": "milk"}] == value["orders"]


def test_the_time_of_a_log_is_that_of_kafkas_records_or_a_column(user: SparkSession) -> None:
    tap = jn.relation(
        "tap",
        key=["id"],
        fields={"id": "long", "made": "timestamp", "sent": "timestamp"},
        format="json",
        time={"event": "made", "sent": "sent", "received": "$log"},
    )
    taps = jn.document("taps", tap, fields=["clock", "event_time", "log_time"])
    product = jn.Project("phones", products=[taps]).products["taps"]
    at = "timestamp '2026-03-01 10:20:00'"
    record = '{"id": 1, "made": "2026-03-01T10:00:00Z", "sent": "2026-03-01T10:00:00Z"}'
    kafka = user.sql(
        f"select 'taps' topic, 0 partition, 5L offset, {at} timestamp, 1 timestampType,"
        f" cast(null as binary) key, cast('{record}' as binary) value"
    )
    made = "timestamp '2026-03-01 10:00:00'"
    typed = user.sql(f"select 1L id, {made} made, {made} sent, {at} log_time")

    for frame in (kafka, typed):
        [(_, value)] = told(product.documents(user, {"tap": frame}).collect())
        assert "repaired" == value["clock"]
        assert value["event_time"] == value["log_time"] == frame.select(F.expr(at)).collect()[0][0]


def test_what_cannot_be_used_is_a_dead_letter(user: SparkSession, profile: Product) -> None:
    customers = user.createDataFrame(
        [(1, "Ada", "c"), (None, "Bob", "c"), (3, "Cid", "x"), (4, "Dan", "c"), (4, "Dee", "c")],
        "id long, name string, __op string",
    )

    docs = profile.documents(user, {"customer": customers}, dead_letters=True)

    rows = docs.persist()
    letters = errors(rows)
    assert [1] == [key for key, _ in told(rows.collect())]
    assert [
        ("ambiguous_order", '{"id":4}'),
        ("ambiguous_order", '{"id":4}'),
        ("key_missing", '{"id":null}'),
        ("undecodable", '{"id":3}'),
    ] == sorted((each["reason"], each["key"]) for each in letters)
    assert {"customer"} == {each["relation"] for each in letters}
    rows.unpersist()


def test_a_delete_of_a_row_of_an_append_relation_is_ignored(user: SparkSession) -> None:
    visit = jn.relation("visit", key=["id"], fields={"id": "long"}, append=True)
    document = jn.document("visited", visit)
    visited = jn.Project("web", products=[document]).products["visited"]
    visits = user.createDataFrame(
        [(1, "c", 1), (1, "d", 2), (2, "d", 3)], "id long, __op string, __position long"
    )

    docs = visited.documents(user, {"visit": visits})

    assert [(1, {"id": 1})] == told(docs.collect())


def test_a_batch_fails_at_a_key_that_it_has_twice(user: SparkSession, profile: Product) -> None:
    customers = user.createDataFrame([(1, "Ada"), (1, "Eve")], "id long, name string")

    docs = profile.documents(user, {"customer": customers})

    with pytest.raises(Exception, match='of "customer" cannot be used: ambiguous_order') as caught:
        docs.collect()
    assert 'key {"id":1}' in str(caught.value)
    assert "dead_letters=True" in str(caught.value)


def test_a_stream_warns_of_the_changes_that_it_leaves_out(
    user: SparkSession, profile: Product, tmp_path: Path, warned: Warned
) -> None:
    rows = [(1, "Ada"), (1, "Eve"), (2, "Bob")]
    frame = user.createDataFrame(rows, "id long, name string")
    frame.write.json(str(tmp_path / "customers"))
    customers = user.readStream.schema(frame.schema).json(str(tmp_path / "customers"))

    docs = profile.documents(user, {"customer": customers})
    query = (
        docs.writeStream.outputMode("update")
        .format("memory")
        .queryName("left_out")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    wait_for(lambda: bool(warned()))

    (progress,) = [each for each in query.recentProgress if each.numInputRows]
    assert 2 == progress.observedMetrics["joinery"].dead_letters
    assert ["WARN_CHANGES_LEFT_OUT"] == [vars(each)["code"] for each in warned()]
    assert "2 of them in one batch" in warned()[0].getMessage()
    assert [2] == [row.key.id for row in docs.sparkSession.table("left_out").collect()]


def test_positions_order_the_changes_of_a_batch(user: SparkSession, profile: Product) -> None:
    customers = user.createDataFrame(
        [(1, "new", 9), (1, "old", 3), (2, "kept", 5), (2, "kept", 5)],
        "id long, name string, __position long",
    )

    docs = profile.documents(user, {"customer": customers})

    assert [(1, "new"), (2, "kept")] == [(key, each["name"]) for key, each in told(docs.collect())]


def test_a_column_that_a_frame_leaves_out_keeps_its_stored_value(
    user: SparkSession, profile: Product, tmp_path: Path
) -> None:
    driver = Driver(profile)
    driver.send(insert("customer", id=1, name="Ada", city="Rome"))
    expected = driver.send(update("customer", id=1, name="Ida"))
    put(tmp_path / "customer", 1, {"id": 1, "name": "Ada", "city": "Rome"})
    whole = user.readStream.schema(CUSTOMER).json(str(tmp_path / "customer"))
    batches: list[list[tuple[int, Any]]] = []

    def run(frame: DataFrame) -> None:
        writer = profile.documents(user, {"customer": frame}).writeStream.trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.foreachBatch(lambda batch, _: batches.append(told(batch.collect()))).start()
        query.awaitTermination()

    run(whole)
    put(tmp_path / "customer", 2, {"id": 1, "name": "Ida"})
    run(whole.drop("city"))

    assert [(each.key, each.value) for each in expected] == batches[-1]


def test_the_users_session_stays_as_it_is(user: SparkSession, profile: Product) -> None:
    from pyspark.sql import SparkSession as Session

    java: Any = user._jvm
    jvm = java.org.apache.spark.sql.classic.SparkSession
    customers = user.createDataFrame([(1, "Ada")], "id long, name string")

    def seen() -> list[Any]:
        active = Session.getActiveSession()
        return [
            {row.key: row.value for row in user.sql("SET").collect()},
            active and active._jsparkSession.hashCode(),
            jvm.getDefaultSession().get().hashCode(),
            user.sparkContext.parallelize([(1,)]).toDF().sparkSession is user,
            [table.name for table in user.catalog.listTables()],
        ]

    before = seen()
    docs = profile.documents(user, {"customer": customers})
    docs.collect()

    assert before == seen()
    assert HDFS == user.conf.get(PROVIDER)
    assert HDFS != docs.sparkSession.conf.get(PROVIDER)


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ({"client": "id long"}, 'product "profile" reads no relation "client"'),
        ({"customer": "name string"}, 'the frame of "customer" lacks the key'),
        ({"customer": "id string"}, 'column "id" of the frame of "customer" is string, which'),
        ({"customer": "id long, __position double"}, 'column "__position" of the frame'),
        ({"customer": "id long, __op int"}, 'column "__op" of the frame of "customer" is int'),
        (
            {"customer": "ID long, value double"},
            'the frame of "customer" lacks the key column "id"',
        ),
        ({"customer": "value struct<id: long>"}, 'the frame of "customer" lacks the key column'),
        ({"customer": "value string, __op string"}, 'the frame of "customer" has "__op" beside'),
        ({"customer": "value string, key long"}, 'column "key" of the frame of "customer" is big'),
        ({"customer": "value string, offset string"}, 'column "offset" of the frame of "customer"'),
        ({"customer": "value string, VALUE string, value int"}, 'the frame of "customer" has sev'),
        ({}, 'product "profile" was given no frame'),
    ],
)
def test_frames_that_do_not_fit_are_refused_in_one_line(
    user: SparkSession, profile: Product, frames: dict[str, str], message: str
) -> None:
    made = {name: user.createDataFrame([], schema) for name, schema in frames.items()}

    with pytest.raises(FrameError) as refused:
        profile.documents(user, made)

    assert refused.value.message.startswith(message)


def test_a_struct_of_other_fields_is_not_to_be_cast_which_goes_by_place(
    user: SparkSession,
) -> None:
    customer = jn.relation("customer", key="id", fields={"id": "long", "at": "struct<x:int,y:int>"})
    product = jn.Project(products=[jn.document("p", customer)]).products["p"]
    frame = user.createDataFrame([], "id long, at struct<y:int,x:int>")

    with pytest.raises(FrameError) as refused:
        product.documents(user, {"customer": frame})

    assert "in the declared order" in refused.value.hint


def test_a_negative_zero_of_a_frame_is_zero_however_deep(user: SparkSession) -> None:
    zeros = "struct<a: array<float>, m: map<string, double>, n: int>"
    point = jn.relation("point", key="x", fields={"x": "double", "of": zeros})
    product = jn.Project(products=[jn.document("p", point)]).products["p"]
    rows = [(-0.0, ([-0.0, 1.5, None], {"k": -0.0}, 1)), (1.0, None), (2.0, (None, None, None))]
    frame = user.createDataFrame(rows, f"x double, of {zeros}")

    docs = product.documents(user, {"point": frame}, format="json").collect()

    assert [
        '{"x":0.0,"of":{"a":[0.0,1.5,null],"m":{"k":0.0},"n":1}}',
        '{"x":1.0,"of":null}',
        '{"x":2.0,"of":{"a":null,"m":null,"n":null}}',
    ] == sorted(each.value for each in docs)
    assert ["0.0", "1.0", "2.0"] == sorted(str(each.key.x) for each in docs)


def test_what_a_frame_holds_instead_of_a_finite_number_is_named_however_deep(
    user: SparkSession,
) -> None:
    deep = "struct<a: array<float>, m: map<string, double>>"
    point = jn.relation("point", key="id", fields={"id": "long", "x": "double", "of": deep})
    product = jn.Project("shop", products=[jn.document("p", point)]).products["p"]
    rows = [
        (1, math.nan, ([0.5], {"k": 0.5})),
        (2, 0.5, ([0.5, -math.inf], {})),
        (3, 0.5, (None, {"k": math.inf})),
        (4, 0.5, ([0.5], {"k": None})),
    ]
    frame = user.createDataFrame(rows, f"id long, x double, of {deep}")

    docs = product.documents(user, {"point": frame}, dead_letters=True).persist()

    assert [4] == [key for key, _ in told(docs.collect())]
    assert [
        'column "of": -Infinity where float is declared',
        'column "of": Infinity where double is declared',
        'column "x": NaN where double is declared',
    ] == sorted(each["detail"] for each in errors(docs))
    docs.unpersist()


def test_streams_and_batches_do_not_mix(user: SparkSession, profile: Product) -> None:
    frames = {
        "customer": user.createDataFrame([], CUSTOMER),
        "order": user.readStream.schema(ORDER).json("."),
    }

    with pytest.raises(FrameError, match="streaming frames and batch frames do not mix"):
        profile.documents(user, frames)


CONNECT = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})


@pytest.mark.parametrize(
    ("session", "message"),
    [
        (CONNECT(), "cannot run in a Spark Connect session"),
        ({}, "an object of type dict is not a Spark session"),
        (None, "None is not a Spark session"),
    ],
)
def test_what_is_no_classic_session_is_refused_in_one_line(
    profile: Product, session: Any, message: str
) -> None:
    with pytest.raises(JoineryError, match=message):
        profile.documents(session, {})


def test_a_frame_without_the_name_of_its_relation_is_refused_in_one_line(
    user: SparkSession, profile: Product
) -> None:
    frame: Any = user.createDataFrame([], CUSTOMER)

    with pytest.raises(FrameError, match="takes its frames by relation") as refused:
        profile.documents(user, frame)

    assert 'Write {"customer": frame}.' == refused.value.hint


def test_records_of_several_topics_are_not_taken_for_those_of_each(
    user: SparkSession, profile: Product
) -> None:
    records = user.createDataFrame([], "topic string, value string")

    with pytest.raises(FrameError, match='the frame of "order" is that of "customer", too'):
        profile.documents(user, {"customer": records, "order": records})


def test_records_of_one_topic_are_taken_for_those_of_each_relation_of_it(
    user: SparkSession,
) -> None:
    fields = {"id": "long", "under": "long"}
    head, staff = (
        jn.relation(name, key="id", fields=fields, topic="person") for name in ("head", "staff")
    )
    team = jn.document("team", head, fields=["id"])
    team = team.embed_many("staff", staff, on={"under": "id"}, fields=["id"])
    lines = [('{"id": 1, "under": null}',), ('{"id": 2, "under": 1}',)]
    records = user.createDataFrame(lines, "value string")

    product = jn.Project(products=[team]).products["team"]
    docs = product.documents(user, {"head": records, "staff": records})

    staffed = [(key, each["staff"]) for key, each in told(docs.collect())]
    assert [(1, [{"id": 2}]), (2, [])] == staffed


@pytest.mark.parametrize(
    ("kind", "new", "old"),
    [
        ("long", 9, 3),
        ("timestamp", NOON + timedelta(seconds=1), NOON),
        ("timestamp_ntz", NOON + timedelta(seconds=1), NOON),
    ],
)
def test_the_column_that_a_relation_names_orders_the_changes_of_a_frame(
    user: SparkSession, kind: str, new: object, old: object
) -> None:
    fields = {"id": "long", "name": "string"}
    customer = jn.relation("customer", key="id", fields=fields, position="changed")
    product = jn.Project(products=[jn.document("p", customer)]).products["p"]
    rows = [(1, "new", new), (1, "old", old)]
    frame = user.createDataFrame(rows, f"id long, name string, changed {kind}")

    docs = product.documents(user, {"customer": frame})

    assert [(1, "new")] == [(key, each["name"]) for key, each in told(docs.collect())]


def test_a_position_that_orders_nothing_is_refused_in_one_line(user: SparkSession) -> None:
    customer = jn.relation("customer", key="id", fields={"id": "long"}, position="changed")
    product = jn.Project(products=[jn.document("p", customer)]).products["p"]
    frame = user.createDataFrame([], "id long, changed string")

    with pytest.raises(FrameError, match='column "changed" of the frame of "customer" is string'):
        product.documents(user, {"customer": frame})


def generated_code(frame: DataFrame) -> list[str]:
    """Return the code that Spark generates for a frame's plan, which it compiles once."""
    jvm = frame.sparkSession._jvm
    assert jvm is not None
    debug = getattr(jvm.org.apache.spark.sql.execution.debug, "package$")
    parts = getattr(debug, "MODULE$").codegenStringSeq(frame._jdf.queryExecution().executedPlan())
    return [parts.apply(number)._2() for number in range(parts.size())]


def test_the_time_of_a_batch_is_no_part_of_the_code_that_spark_compiles(
    user: SparkSession, profile: Product
) -> None:
    frames = {"customer": user.createDataFrame([(1, "Ada", "Turin", "u")], CUSTOMER)}
    first = generated_code(profile.documents(user, frames))
    time.sleep(0.01)

    assert first
    assert generated_code(profile.documents(user, frames)) == first


def test_a_checkpoint_of_another_program_is_refused_and_keeps_its_state(
    user: SparkSession, tmp_path: Path
) -> None:
    """A user's own query takes any checkpoint; rows of another shape must not be read there."""

    def documents(*fields: str) -> DataFrame:
        types = {"id": "long", "name": "string", "city": "string"}
        customer = jn.relation("customer", key=["id"], fields={n: types[n] for n in fields})
        product = jn.Project("shop", products=[jn.document("profile", customer)]).products[
            "profile"
        ]
        return product.documents(user, {"customer": user.readStream.schema(CUSTOMER).json(folder)})

    def run(docs: DataFrame) -> list[tuple[int, Any]]:
        sent: list[tuple[int, Any]] = []
        query = (
            docs.writeStream.outputMode("update")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .foreachBatch(lambda batch, _: sent.extend(told(batch.collect())))
            .start()
        )
        try:
            query.processAllAvailable()
        finally:
            query.stop()
        return sent

    folder = str(tmp_path / "customer")
    put(tmp_path / "customer", 1, {"id": 1, "name": "Ada", "city": "Rome"})
    assert [(1, {"id": 1, "name": "Ada"})] == run(documents("id", "name"))
    put(tmp_path / "customer", 2, {"id": 1, "name": "Bea", "city": "Rome"})

    with pytest.raises(StreamingQueryException) as refused:
        run(documents("id", "name", "city"))

    assert "STATE_MISMATCH" in str(refused.value)
    assert "give the query a checkpoint of its own" in str(refused.value)
    assert [(1, {"id": 1, "name": "Bea"})] == run(documents("id", "name"))
