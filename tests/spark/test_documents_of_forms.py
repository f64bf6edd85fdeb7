"""Products of every form over DataFrames send what the test driver sends."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import joinery as jn
from joinery.semantics.reference import ReferenceSolution
from joinery.spark.frames.frame import FrameError
from joinery.testing import delete, insert, update
from joinery.testing.conformance.runner import document_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from joinery.app.project import Product
    from joinery.testing.changes import RowChange

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RELATIONS = """
name: shop
sources: {changes: {files: {path: data}}}
relations:
  sale: {key: [id], fields: {id: long, shop: string, amount: int, at: timestamp}, time: at}
  since:
    key: [id]
    fields: {id: long, shop: string, amount: int, at: timestamp}
    derive: {valid_at: to_timestamp(shop)}
  raw:
    key: [id]
    fields: {id: long, shop: string, amount: int, at: timestamp}
    format: json
  store: {key: [name], fields: {name: string, city: string}}
  alarm: {key: [id], fields: {id: long, text: string}}
products:
"""
SCHEMAS = {
    "sale": "id long, shop string, amount int, at timestamp, __op string, __position long",
    "store": "name string, city string, __op string, __position long",
    "alarm": "id long, text string, __op string, __position long",
}
FORMS = {
    "groups": "p: {aggregate: sale, by: [shop], values: {n: count(*), most: max(amount)}}",
    "windows": "p: {aggregate: sale, by: [shop], window: {tumbling: 1h}, values: {n: count(*)}}",
    "sessions": "p: {aggregate: sale, by: [shop], window: {session: 30m}, values: {n: count(*)}}",
    "versions": "p: {history: sale, valid: at, track: [shop]}",
    "patterns": "p: {pattern: sale, by: [shop], define: {A: amount > 4, B: amount > 8},"
    " match: A -> B, fields: {n: last(B.amount)}}",
    "queries": "p: {search: store, queries: alarm, query: text, language: lucene}",
    "documents over groups": "p: {root: store, group: g, embed:"
    " {sums: {one: totals, on: {shop: name}, fields: [total]}}}\n"
    "  totals: {aggregate: sale, group: g, by: [shop], values: {total: sum(amount)}}",
    "queries over documents": "p: {search: doc, group: g, queries: alarm, query: text,"
    " language: lucene}\n  doc: {root: store, group: g, fields: [city], embed:"
    " {sales: {many: sale, on: {shop: name}, fields: [amount]}}}",
}
FIRST_WRITTEN = 1_772_000_000
EVENTS = """
name: bank
sources: {log: {files: {path: data}}}
relations:
  event: {append: true, fields: {account: long, number: long, type: string, amount: long}}
products:
  p:
    fold: event
    by: [account]
    sequence: number
    state: {sum: "long = 0"}
    when: {Paid: {sum: sum + event.amount}}
    wait: 0s
"""
OPS = {"insert": "c", "update": "u", "delete": "d"}
BATCHES = (
    [
        insert("store", name="north", city="Ulm"),
        insert("store", name="south", city="Bonn"),
        insert("alarm", id=1, text="ulm"),
        insert("sale", id=1, shop="north", amount=5, at="2026-03-01T10:00:00Z"),
        insert("sale", id=2, shop="north", amount=9, at="2026-03-01T10:20:00Z"),
        insert("sale", id=3, shop="south", amount=7, at="2026-03-01T11:00:00Z"),
    ],
    [
        update("store", name="south", city="Ulm"),
        update("sale", id=3, shop="north", amount=8, at="2026-03-01T11:00:00Z"),
        delete("sale", id=2),
        insert("sale", id=4, shop="south", amount=20, at="2026-03-01T11:10:00Z"),
        insert("alarm", id=2, text="city:bonn OR name:north"),
    ],
)


def product_of(folder: Path, form: str) -> Product:
    file = folder / "joinery.yaml"
    text = f"{RELATIONS}  {FORMS.get(form, form)}\n"
    file.write_text(text, encoding="utf-8")
    return jn.load(file).products["p"]


def put(folder: Path, number: int, batch: list[RowChange]) -> None:
    """Put the changes of a batch in place, a file a relation, all at once for the stream.

    Spark takes files by the time they were written, and two of one millisecond in any order: each
    batch has a second of its own.
    """
    for name in SCHEMAS:
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        rows = [
            {**each.columns, "__op": OPS[each.op], "__position": number * 100 + at}
            for at, each in enumerate(batch)
            if each.relation == name
        ]
        part = place / f".{number}"
        part.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        os.utime(part, (FIRST_WRITTEN + number, FIRST_WRITTEN + number))
        part.rename(place / f"{number}.json")


@pytest.mark.parametrize("form", FORMS)
def test_a_stream_of_frames_sends_what_the_reference_sends(
    form: str, spark: SparkSession, tmp_path: Path
) -> None:
    product = product_of(tmp_path, form)
    relations = {each.name: each for each in product.plan.relations}
    reference = ReferenceSolution(product.plan)
    expected = []
    for number, batch in enumerate(BATCHES):
        put(tmp_path / "frames", number, batch)
        read = [
            each.at(number * 100 + at).change(relations[each.relation])
            for at, each in enumerate(batch)
            if each.relation in relations
        ]
        lines = [
            document_line(one, product.plan) for one in reference.apply(read, number).documents
        ]
        expected.append(sorted(map(told, lines)))

    sent: list[list[tuple[Any, Any]]] = []
    frames = {
        name: spark.readStream.schema(SCHEMAS[name])
        .option("maxFilesPerTrigger", 1)
        .json(str(tmp_path / "frames" / name))
        for name in relations
    }
    rows = product.documents(spark, frames, format="json")
    query = (
        rows.select(F.to_json("key").alias("key"), "value")
        .writeStream.outputMode("update")
        .foreachBatch(lambda each, _: sent.append(sorted(map(shown, each.collect()))))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()

    assert expected == [each for each in sent if each]


def told(line: str) -> tuple[str, str]:
    read = json.loads(line)
    return json.dumps(read["key"]), json.dumps(read["value"])


def shown(row: Any) -> tuple[str, str]:
    key = json.loads(row.key.replace(".000Z", "Z"))
    return json.dumps(key), json.dumps(row.value and json.loads(row.value))


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("p: {aggregate: sale, by: [shop], window: {sliding: 1h}, values: {n: count(*)}}", "slid"),
        (
            "p: {aggregate: sale, by: [shop], window: {tumbling: 1h}, values: {n: count(*)},"
            " emit: {when: closed}}",
            "waits for a watermark",
        ),
        (
            "p: {aggregate: sale, by: [shop], window: {tumbling: 1h}, values: {n: count(*)},"
            " emit: {late: drop}}",
            "late rows",
        ),
        (
            "p: {pattern: sale, by: [shop], define: {A: amount > 4, B: amount > 8},"
            " match: A not B, within: 1h, fields: {n: last(A.amount)}}",
            "does not happen",
        ),
    ],
)
def test_what_waits_for_a_watermark_is_refused(
    form: str, message: str, spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.createDataFrame([], SCHEMAS["sale"])

    with pytest.raises(FrameError, match=message):
        product_of(tmp_path, form).documents(spark, {"sale": frame})


def without_places(
    spark: SparkSession, folder: Path, relation: str, product: str, *rows: Any
) -> list[Any]:
    """Return what a product makes of a frame without positions, dead letters included."""
    frame = spark.createDataFrame(list(rows), "id long, shop string, amount int, at string")
    frames = {relation: frame.withColumn("at", F.to_timestamp("at"))}
    documents = product_of(folder, product).documents(
        spark, frames, format="json", dead_letters=True
    )
    return documents.collect()


def letters(rows: list[Any]) -> list[tuple[str, str]]:
    errors = [json.loads(each.error) for each in rows if each.error]
    return sorted((each["reason"], each["key"]) for each in errors)


def test_two_versions_of_one_time_without_positions_are_dead_letters(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = without_places(
        spark,
        tmp_path,
        "sale",
        "p: {history: sale, valid: at, track: [shop]}",
        (1, "north", 1, "2026-03-01T10:00:00Z"),
        (1, "south", 1, "2026-03-01T11:00:00Z"),
        (2, "north", 1, "2026-03-01T10:00:00Z"),
        (2, "south", 1, "2026-03-01T10:00:00Z"),
    )

    assert [("ambiguous_order", '{"id":2}')] * 2 == letters(rows)
    shown = [json.loads(each.value)["shop"] for each in rows if each.value]
    assert ["north", "south"] == sorted(shown)


def test_versions_of_one_time_in_records_that_stand_in_no_log_have_the_order_of_their_positions(
    spark: SparkSession, tmp_path: Path
) -> None:
    at = "2026-03-01T10:00:00Z"
    shops = [("north", 9), ("south", 7), ("west", 8)]
    records = [
        (json.dumps({"id": 1, "shop": shop, "amount": 1, "at": at, "__position": position}),)
        for shop, position in shops
    ]
    frame = spark.createDataFrame(records, "value string")
    product = product_of(tmp_path, "p: {history: raw, valid: at, track: [shop]}")

    rows = product.documents(spark, {"raw": frame}, format="json", dead_letters=True).collect()

    assert [] == letters(rows)
    assert ["north"] == [json.loads(each.value)["shop"] for each in rows]


def test_versions_without_positions_are_known_in_the_order_of_their_times(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = without_places(
        spark,
        tmp_path,
        "since",
        "p: {history: since, valid: valid_at, track: [amount], known_at: at}",
        (1, "2026-01-01T00:00:00Z", 30, "2026-03-03T00:00:00Z"),
        (1, "2026-01-01T00:00:00Z", 90, "2026-03-02T00:00:00Z"),
        (1, "2026-01-01T00:00:00Z", 10, "2026-03-01T00:00:00Z"),
    )

    known = [json.loads(each.value) for each in rows]
    assert [
        (10, "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"),
        (90, "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"),
        (30, "2026-03-03T00:00:00Z", None),
    ] == sorted(
        ((each["amount"], each["known_from"], each["known_to"]) for each in known),
        key=lambda each: each[1],
    )


def test_two_events_of_one_number_without_positions_are_a_conflict(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.createDataFrame(
        [(1, 1, "Paid", 5), (1, 1, "Paid", 7), (2, 1, "Paid", 3), (2, 1, "Paid", 3)],
        "account long, number long, type string, amount long",
    )
    file = tmp_path / "joinery.yaml"
    file.write_text(EVENTS, encoding="utf-8")

    rows = (
        jn.load(file)
        .products["p"]
        .documents(spark, {"event": frame}, format="json", dead_letters=True)
        .collect()
    )

    assert [("sequence_conflict", '{"account":1}')] == letters(rows)
    sums = sorted(json.loads(each.value)["sum"] for each in rows if each.value)
    assert sums in ([3, 5], [3, 7])
    left_out = json.loads(next(json.loads(each.error)["value"] for each in rows if each.error))
    assert {"account": 1, "number": 1, "type": "Paid", "amount": 12 - sums[1]} == left_out
