"""`joinery why` and `jn.why` over the change files of a project."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import joinery as jn
from joinery.app.logs import WhyError
from joinery.cli.commands import app
from joinery.spark.source.log_jvm import log_jvm
from joinery.spark.source.log_order import MomentError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
  order:
    key: [shop, number]
    fields: {shop: string, number: long, customer_id: long, price: "decimal(8,2)"}
products:
  profile:
    root: customer
    fields: [name]
    embed:
      orders: {many: order, on: {customer_id: id}, fields: [number, price], order: [number]}
    sink: {files: {path: out}}
  receipt:
    root: order
    fields: [price]
    embed: {customer: {one: customer, on: {id: customer_id}, fields: [name]}}
    sink: {files: {path: out}}
  totals:
    aggregate: order
    by: [shop]
    values: {n: count(*)}
    sink: {files: {path: out}}
"""
CUSTOMERS = ('{"id":1,"name":"Ada"}', '{"id":2,"name":"Bo"}', "not json")
ORDERS = (
    '{"shop":"a","number":1,"customer_id":1,"price":1.50}',
    '{"shop":"b","number":2,"customer_id":1,"price":2.00}',
    '{"shop":"a","number":1,"customer_id":1,"price":3.50}',
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("why")
    (made / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    for name, lines, at in (("order", ORDERS, 1_000), ("customer", CUSTOMERS, 2_000)):
        file = made / "data" / name / "1.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.utime(file, (at, at))
    return made


def test_the_rows_of_a_document_are_told_with_their_records(folder: Path) -> None:
    found = jn.why(folder, "profile", 1)

    assert [
        ("(root)", "customer", "1", "customer/1.jsonl/1"),
        ("orders[0]", "order", '["a",1]', "order/1.jsonl/3"),
        ("orders[1]", "order", '["b",2]', "order/1.jsonl/2"),
    ] == [(each.path, each.relation, each.key, each.place) for each in found.parts]
    assert found.document is not None
    assert ["3.50", "2.00"] == [
        each["price"] for each in json.loads(found.document, parse_float=str)["orders"]
    ]
    # The customers' file is the newer one, so its record made the document.
    assert found.last is not None
    assert ("customer/1.jsonl/1", 1) == (found.last.place, found.altered)
    assert "customer/1.jsonl/1 *" in found._repr_html_()
    assert 'orders[0]  order ["a",1]  order/1.jsonl/3' in str(found).splitlines()


def test_a_document_is_told_as_it_was(folder: Path) -> None:
    with pytest.raises(WhyError, match="no record of customer has the key 1") as refused:
        jn.why(folder, "profile", 1, at="1970-01-01T00:20:00Z")  # before the customers' file
    assert str(refused.value.detail).startswith("Records after 1970-01-01T00:20:00Z were left out.")

    assert jn.why(folder, "profile", 1, at="1970-01-01T00:33:20").document is not None


def test_a_document_is_told_as_it_was_after_a_batch(
    folder: Path, tmp_path: Path, spark: SparkSession
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    orders = tmp_path / "data" / "order"
    for name, price in (("2", "9.00"), ("3", "11.00")):
        jn.run(spark, jn.load(tmp_path), products=["profile"], once=True).await_termination()
        row = f'{{"shop":"b","number":2,"customer_id":1,"price":{price}}}\n'
        (orders / f"{name}.jsonl").write_text(row, encoding="utf-8")

    def priced(batch: int | None) -> str:
        document = jn.why(tmp_path, "profile", 1, batch=batch).document
        assert document is not None
        return str(json.loads(document, parse_float=str)["orders"][1]["price"])

    # The third file is in no batch yet.
    assert ["2.00", "9.00", "11.00"] == [priced(each) for each in (0, 1, None)]
    with pytest.raises(WhyError, match=r"how far batch 2 got") as refused:
        jn.why(tmp_path, "profile", 1, batch=2)
    assert "It knows 0 to 1." == refused.value.detail


@pytest.mark.parametrize("at", ["yesterday", "17"])
def test_a_moment_that_is_none_is_refused(folder: Path, at: str) -> None:
    with pytest.raises(MomentError, match=f'"{at}" is n'):
        jn.why(folder, "profile", 1, at=at)


def test_where_a_row_goes(folder: Path) -> None:
    (found,) = jn.where_to(folder, "order:a,1", "profile")

    assert ("profile", "orders", ("1",)) == (found.product, found.path, found.roots)


def test_where_a_row_goes_in_all_products(folder: Path) -> None:
    found = jn.where_to(folder, "customer:1")

    assert [
        ("profile", "", ("1",)),
        ("receipt", "customer", ('["a",1]', '["b",2]')),
    ] == [(each.product, each.path, each.roots) for each in found]


def test_where_a_row_goes_is_asked_of_products_that_read_it(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    relations, products = PROJECT.split("products:\n")
    versions = """\
  sale: {key: [id], fields: {id: long, currency: string, at: timestamp}}
  rate: {key: [currency], time: at, fields: {currency: string, percent: long, at: timestamp}}
products:
  rated:
    root: sale
    embed: {rate: {one: rate, on: {currency: currency}, as_of: at, fields: [percent]}}
    sink: {files: {path: out}}
"""
    (tmp_path / "joinery.yaml").write_text(relations + versions + products, encoding="utf-8")

    found = jn.where_to(tmp_path, "order:a,1")

    assert ["profile", "receipt"] == [each.product for each in found]


def test_where_a_row_goes_is_told_with_what_is_gone(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    checkpoint = tmp_path / ".joinery" / "checkpoint" / "profile"
    notes = [{"format": 1, "all": False}, {"topic": "order", "file": "0.jsonl", "size": 9}]
    (checkpoint / "sources" / "0").mkdir(parents=True)
    (checkpoint / "joinery.sources.json").write_text('[{"name": "changes", "kind": "files"}]')
    (checkpoint / "sources" / "0" / "0.labels").write_text("\n".join(map(json.dumps, notes)))
    line = ["why", "--row", "order:a,1", "--product", "profile", "--file", str(tmp_path)]

    done, told = (CliRunner().invoke(app, [*line, *more]) for more in ([], ["--json"]))

    assert "profile  1 document by orders: 1\n" == done.stdout
    assert "warning: the log of order no longer has order/0.jsonl;" in done.stderr
    assert [{"order": "order/0.jsonl"}] == [each["gone"] for each in json.loads(told.stdout)]


def test_the_command_says_why(folder: Path) -> None:
    done = CliRunner().invoke(app, ["why", "1", "--product", "profile", "--file", str(folder)])

    lines = done.output.splitlines()
    assert 0 == done.exit_code
    assert "profile 1" == lines[0]
    assert 'orders[1]  order ["b",2]  order/1.jsonl/2' in lines
    assert any(
        each.startswith("* 1 change has altered it; the last was the upsert") for each in lines
    )


def test_the_command_says_why_not(folder: Path) -> None:
    line = ["why", "2", "--product", "profile", "--not", "order:b,2", "--file", str(folder)]
    done = CliRunner().invoke(app, line)

    assert 0 == done.exit_code
    assert (
        'order ["b",2] is not in orders: it has customer_id = 1, and the row above has id = 2'
        " (customer_id = id)" == done.output.splitlines()[0]
    )


def test_a_group_is_told_by_the_rows_that_it_counts(folder: Path) -> None:
    told = jn.why(folder, "totals", {"shop": "a"})

    assert '{"shop":"a","n":1}' == told.document
    assert [("row", '["a",1]', "order/1.jsonl/3")] == [
        (each.path, each.key, each.place) for each in told.parts
    ]
    assert told.last is not None
    assert (1, "order/1.jsonl/1") == (told.altered, told.last.place)
    with pytest.raises(WhyError, match='leads to a row "z" of totals') as refused:
        jn.why(folder, "totals", "z")
    assert "keys look like a, b" in refused.value.hint
    with pytest.raises(WhyError, match="--not covers documents only"):
        jn.why(folder, "totals", "a", absent="order:b,2")


def test_json_has_the_same(folder: Path) -> None:
    line = ["why", "1", "--product", "profile", "--json", "--file", str(folder)]
    told = json.loads(CliRunner().invoke(app, line).stdout)

    assert ["customer", "order", "order"] == [each["relation"] for each in told["parts"]]
    assert "Ada" == told["last"]["differences"][0]["after"]["name"]


@pytest.mark.parametrize(
    ("product", "key", "absent", "said"),
    [
        ("profil", 1, None, 'there is no product "profil"'),
        ("totals", 1, None, 'leads to a row "1" of totals'),
        ("profile", 7, None, "no record of customer has the key 7"),
        ("profile", 1, "basket:1", '"basket:1" is not a row that product "profile" reads'),
    ],
)
def test_what_has_no_answer_is_refused(
    folder: Path, product: str, key: int, absent: str | None, said: str
) -> None:
    with pytest.raises(WhyError, match=said):
        jn.why(folder, product, key, absent=absent)


def test_a_key_that_is_not_there_may_be_a_dead_letter(folder: Path) -> None:
    with pytest.raises(WhyError) as told:
        jn.why(folder, "profile", 7)

    assert "1 records of customer are dead letters" in str(told.value.detail)
    assert "Keys look like 1, 2." == told.value.hint


def test_a_key_that_is_not_there_is_told_without_decoding_all(
    folder: Path, own_jvms: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("joinery.spark.source.file_feed.read_files")

    with pytest.raises(WhyError, match="no record of customer has the key 7"):
        jn.why(folder, "profile", 7)
    with pytest.raises(WhyError, match="no record of order has the key a,7") as told:
        jn.where_to(folder, "order:a,7", "profile")
    assert 'Keys look like ["a",1], ["b",2].' == told.value.hint


def test_changes_that_do_not_fit_into_the_memory_of_a_search_are_decoded_instead(
    folder: Path, own_jvms: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(door: str, *, scratch: Path) -> list[str]:
        return [*log_jvm(door)[:-3], "-Xmx6m", *log_jvm(door)[-3:]]

    monkeypatch.setattr("joinery.spark.source.door_process.log_jvm", small)

    assert jn.why(folder, "profile", 1).document is not None


READING = (
    PROJECT.replace("    values: {n: count(*)}\n", "    values: {n: count(*)}\n    group: all\n")
    + """\
  shop_page:
    root: totals
    group: all
    sink: {files: {path: out}}
  sizes:
    aggregate: shop_page
    by: [n]
    values: {shops: count(*)}
    group: all
    sink: {files: {path: out}}
"""
)


@pytest.mark.parametrize(("product", "key"), [("shop_page", "a"), ("sizes", 1)])
def test_a_product_that_reads_another_is_refused(
    folder: Path, tmp_path: Path, product: str, key: object
) -> None:
    shutil.copytree(folder / "data", tmp_path / "data")
    (tmp_path / "joinery.yaml").write_text(READING)

    with pytest.raises(WhyError, match=f'product "{product}" reads another product'):
        jn.why(tmp_path, product, key)


def test_where_a_row_goes_leaves_out_products_that_read_others(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder / "data", tmp_path / "data")
    (tmp_path / "joinery.yaml").write_text(READING)

    reached = jn.where_to(tmp_path, "order:a,1")

    assert {"profile", "receipt"} == {each.product for each in reached}


VISITS = """\
name: visits
sources: {changes: {files: {path: data}}}
relations:
  view: {append: true, fields: {page: string, at: timestamp}, time: at}
products:
  pages: {aggregate: view, by: [page], values: {n: count(*)}, sink: {files: {path: out}}}
  hours:
    aggregate: view
    by: [page]
    window: {tumbling: 1h}
    values: {n: count(*)}
    sink: {files: {path: out}}
  kept: {use: x}
"""
VIEWS = (
    '{"page":"a","at":"2026-03-01T12:00:00Z"}',
    '{"page":"a","at":"2026-03-01T10:00:00Z"}',
    '{"page":"a"}',
)


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    hours = VISITS.partition("  hours:")[2].partition("  kept:")[0]
    strict = f"  strict:{hours}    emit: {{late: drop}}\n"
    (tmp_path / "joinery.yaml").write_text(VISITS.partition("  kept:")[0] + strict)
    (tmp_path / "data/view").mkdir(parents=True)
    (tmp_path / "data/view/1.jsonl").write_text("\n".join(VIEWS) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("product", "key", "notes"),
    [
        ("pages", "a", []),
        ("hours", "a,2026-03-01T10:00:00Z", ["1 record of its group came without a time"]),
        (
            "strict",
            "a,2026-03-01T12:00:00Z",
            [
                "1 record of its group came late and did not count",
                "1 record of its group came without a time",
            ],
        ),
    ],
)
def test_notes_tell_what_is_not_in_the_row_alone(
    visits: Path, product: str, key: str, notes: list[str]
) -> None:
    assert notes == list(jn.why(visits, product, key).notes)


TWICE = """\
name: visits
sources: {changes: {files: {path: data}}}
relations:
  view: {append: true, key: [id], fields: {id: long, page: string, at: timestamp}, time: at}
products:
  twice:
    pattern: view
    by: [page]
    match: "A B"
    within: 1h
    sink: {files: {path: out}}
  both: {pattern: view, match: "A B", within: 1h, sink: {files: {path: out}}}
"""


@pytest.mark.parametrize(("product", "key"), [("twice", 'a,{"id":7}'), ("both", '{"id":7}')])
def test_a_match_is_named_by_its_columns_with_commas(
    tmp_path: Path, product: str, key: str
) -> None:
    (tmp_path / "joinery.yaml").write_text(TWICE)
    (tmp_path / "data/view").mkdir(parents=True)
    rows = ({"id": at, "page": "a", "at": f"2026-03-01T10:0{at}:00Z"} for at in (7, 8))
    (tmp_path / "data/view/1.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in rows))

    found = jn.why(tmp_path, product, key)

    assert ["A", "B"] == [each.path for each in found.parts]


KEPT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  customer: {key: [id], fields: {id: long}}
  view: {append: true, key: [id], fields: {id: long, customer_id: long}}
products:
  seen:
    root: customer
    embed: {views: {many: view, on: {customer_id: id}, fields: [id]}}
    sink: {files: {path: out}}
  counts: {aggregate: view, by: [customer_id], values: {n: count(*)}, sink: {files: {path: out}}}
"""


@pytest.mark.parametrize("product", ["seen", "counts"])
def test_deletes_without_effect_are_told(tmp_path: Path, product: str) -> None:
    (tmp_path / "joinery.yaml").write_text(KEPT)
    deletes = ('{"id":7,"__deleted":true}', '{"key":{"id":7},"value":null}')
    logs = {"customer": ['{"id":1}'], "view": ['{"id":7,"customer_id":1}', *deletes]}
    for name, lines in logs.items():
        (tmp_path / "data" / name).mkdir(parents=True)
        (tmp_path / "data" / name / "1.jsonl").write_text("\n".join(lines) + "\n")

    line = ["why", "1", "--product", product, "--file", str(tmp_path)]
    done = CliRunner().invoke(app, line)

    assert 0 == done.exit_code
    assert "view is append: 2 updates and deletes in its log had no effect" in done.stderr


@pytest.mark.parametrize(("key", "rows"), [('["null"]', 1), ("[null]", 2), ('[""]', 3)])
def test_an_array_tells_a_null_from_its_text(
    folder: Path, tmp_path: Path, key: str, rows: int
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    shops = ["null", None, None, "", "", ""]
    lines = (json.dumps({"number": n, "shop": shop}) for n, shop in enumerate(shops))
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT.replace("key: [shop, number]", "key: [number]"), encoding="utf-8")
    (tmp_path / "data/order/1.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    found = jn.why(tmp_path, "totals", key)

    assert rows == len(found.parts)
