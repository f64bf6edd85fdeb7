"""A preview of change files gives what a run would, without a session and without a trace."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import joinery
import joinery as jn
from joinery.app.logs import WhyError
from joinery.cli.preview import PreviewArguments, run_preview
from joinery.errors import SpecError
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.semantics.render import document_json
from joinery.sinks.line import read_rows
from joinery.spark.batch.run import run
from joinery.spark.frames.file_preview import preview_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from joinery.app.project import Project

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}, web: {files: {path: web}}}
defaults: {source: changes}
relations:
  customer:
    format: debezium-json
    key: [id]
    fields: {id: long, name: string, since: timestamp, limit: "decimal(8,2)"}
  order: {key: [number], fields: {number: long, customer_id: long, amount: double}}
  person: {key: [person], fields: {person: long, name: string}}
  click: {source: web, append: true, key: [id], fields: {id: long, person: long, page: string}}
products:
  profile:
    root: customer
    embed: {orders: {many: order, on: {customer_id: id}}}
    sink: {files: {path: out}}
streams:
  clicks:
    from: click
    steps:
      - filter: page <> '/'
      - {lookup: person, on: [person], fields: [name], on_miss: "wait:5m"}
    sink: {files: {path: out}}
"""
CUSTOMERS = [
    {"op": "c", "after": {"id": 1, "name": "Ada", "since": 5, "limit": "1.50"}},
    {"op": "c", "after": {"id": 2, "name": "Grace"}},
    {"op": "u", "before": {"id": 1}, "after": {"id": 1, "name": "Ada L."}},
    {"op": "d", "before": {"id": 2}, "after": None},
]
ORDERS = [
    {"number": 7, "customer_id": 1, "amount": 0.1},
    {"number": "seven"},
    {"number": 8, "customer_id": 1, "amount": 3},
]
CLICKS = [
    {"id": 1, "person": 7, "page": "/a"},
    {"id": 2, "person": 7, "page": "/"},
    {"id": 3, "person": 8, "page": "/b"},
]


def write(folder: Path, *rows: object) -> None:
    """Write a change file."""
    folder.mkdir(parents=True)
    (folder / "1.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in rows))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    write(tmp_path / "data/customer", *CUSTOMERS)
    write(tmp_path / "data/order", *ORDERS)
    write(tmp_path / "data/person", {"person": 7, "name": "Ada"})
    write(tmp_path / "web/click", *CLICKS)
    return tmp_path / "joinery.yaml"


UNREAD = """\
name: unread
sources: {changes: {files: {path: data}}}
relations:
  person: {key: [id], fields: {id: long, name: string, age: int}}
products:
  names: {root: person, fields: [id, name], sink: {files: {path: out}}}
"""


def test_a_wrong_type_in_a_column_that_no_product_reads_is_no_dead_letter_anywhere(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(UNREAD)
    write(tmp_path / "data/person", {"id": 1, "name": "Ada", "age": "old"})
    loaded: Project = joinery.load(tmp_path / "joinery.yaml")
    run(spark, loaded, once=True).await_termination()
    sent = [json.loads(row.value or "") for row in read_rows(tmp_path.glob("out/names/*.jsonl"))]

    found = preview_files(loaded.spec, loaded.plan.products[0])

    assert [{"id": 1, "name": "Ada"}] == sent == [each.value for each in found.documents]
    assert not found.records.letters
    assert joinery.why(loaded, "names", 1).document is not None
    assert not joinery.diff(loaded, "names").differ


def test_lines_added_to_a_file_that_a_run_has_read_are_left_out_beside_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(UNREAD)
    write(tmp_path / "data/person", {"id": 1, "name": "Ada"})
    loaded: Project = joinery.load(tmp_path / "joinery.yaml")
    run(spark, loaded, once=True).await_termination()
    with (tmp_path / "data/person/1.jsonl").open("a") as file:
        file.write('{"id": 1, "name": "Eve"}\n{"id": 2, "name": "Bob"}\n')
    run(spark, loaded, once=True).await_termination()

    [compared] = joinery.diff(loaded, "names").parts

    assert (1, ()) == (compared.compared, compared.differences)
    assert '{"id":1,"name":"Ada"}' == joinery.why(loaded, "names", 1).document
    with pytest.raises(WhyError, match="no record of person has the key 2"):
        joinery.why(loaded, "names", 2)
    # A new run would read them, and so does a preview.
    assert 2 == len(preview_files(loaded.spec, loaded.plan.products[0]).documents)


PLACED = """\
name: web
sources: {changes: {files: {path: data}}}
relations: {view: {append: true, format: json, fields: {page: string}}}
streams: {views: {from: view, sink: {files: {path: out}}}}
"""


def test_events_of_a_log_without_key_have_the_keys_that_a_run_gives_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(PLACED)
    write(tmp_path / "data/view", {"page": "/"}, {"page": "/a"})
    (tmp_path / "data/view/2.jsonl").write_text('{"page": "/b"}\n')
    loaded: Project = joinery.load(tmp_path / "joinery.yaml")

    found = preview_files(loaded.spec, loaded.plan.streams[0])
    run(spark, loaded, once=True).await_termination()

    sent = [json.loads(row.key) for row in read_rows(tmp_path.glob("out/views/*.jsonl"))]
    assert [each.key for each in found.documents] == sent
    assert [f"view/{each}" for each in ("1.jsonl/1", "1.jsonl/2", "2.jsonl/1")] == [
        each["place"] for each in sent
    ]


def test_a_preview_shows_the_documents_that_a_run_writes(
    spark: SparkSession, project: Path
) -> None:
    loaded: Project = joinery.load(project)
    run(spark, loaded, once=True, products=["profile"]).await_termination()
    sent = {row.key: row.value for row in read_rows(project.parent.glob("out/profile/*.jsonl"))}

    plan = loaded.plan.products[0]
    found = preview_files(loaded.spec, plan)

    shown = {
        document_json(each.key, plan.key): document_json(each.value, plan.output)
        for each in found.documents
    }
    assert {key: value for key, value in sent.items() if value is not None} == shown
    assert len(shown) == 1
    assert [(each["reason"], each["line"]) for each in found.records.letters] == [("wrong_type", 2)]


def test_a_preview_counts_the_events_that_wait_and_that_are_filtered(project: Path) -> None:
    spec = load_spec(project)

    found = preview_files(spec, build_plan(spec).streams[0])

    assert [(each.key["id"], each.value and each.value["name"]) for each in found.documents] == [
        (1, "Ada")
    ]
    assert (found.waiting, found.filtered) == (1, 1)


def test_a_stream_of_a_file_is_previewed_in_python(project: Path) -> None:
    (declared,) = jn.load(project).streams.values()

    shown = declared.preview()

    assert "name" in shown.columns
    assert ["Ada"] == [row[shown.columns.index("name")] for row in shown.rows]
    assert (1, 1) == (shown.waiting, shown.filtered)


def test_the_command_prints_documents_and_says_what_was_read(
    project: Path, own_jvms: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_preview(PreviewArguments("profile", project)) == 0

    out, err = capsys.readouterr()
    (line,) = out.splitlines()
    assert json.loads(line)["value"]["name"] == "Ada L."
    assert err.splitlines()[0] == "read: customer 4, order 3"
    assert err.splitlines()[1].startswith("1 document; ")
    assert err.splitlines()[2].startswith(
        "warning: 1 dead letter wrong_type, such as order/1.jsonl:2: "
    )
    assert not (project.parent / ".joinery").exists()


def test_a_key_without_a_document_is_told(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_preview(PreviewArguments("profile", project, keys=["1", "2"])) == 1

    out, err = capsys.readouterr()
    assert json.loads(out)["key"] == {"id": 1}
    assert 'product "profile" has no document with the key 2\nKeys look like 1.\n' in err


def test_a_key_that_lacks_columns_is_told_with_keys_as_they_are_written(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PROJECT.replace("key: [number]", "key: [customer_id, number]")
    project.write_text(
        text.replace("root: customer\n    embed: {orders", "root: order\n#   {orders")
    )

    assert run_preview(PreviewArguments("profile", project, keys=["7"])) == 1

    err = capsys.readouterr().err
    assert 'product "profile" has no document with the key 7\nKeys look like [1,7], [1,8].' in err


def test_records_beyond_the_bound_are_told(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_preview(PreviewArguments("profile", project, records=2)) == 0

    assert (
        "warning: 2 more records of customer were not read; --records takes more"
        in capsys.readouterr().err
    )


def test_a_folder_that_is_not_there_is_told(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write_text(PROJECT.replace("{key: [number]", "{topic: purchases, key: [number]"))

    assert run_preview(PreviewArguments("profile", project)) == 0

    folder = project.parent / "data" / "purchases"
    assert f"warning: there is no folder {folder}" in capsys.readouterr().err


def test_a_preview_warns_of_what_a_run_would_warn_of(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = project.parent / "data"
    (data / "order").rename(data / "orders")
    (data / "person").rename(data / "persons")  # nothing that the product reads
    (data / "customer/2.json").touch()
    project.write_text(PROJECT.replace("name: string, since", "naem: string, since"))

    assert run_preview(PreviewArguments("profile", project)) == 0

    err = capsys.readouterr().err
    assert f"there is no folder {data / 'order'} yet. Near it: orders," in err
    assert 1 == err.count("no folder")
    assert f"files of other names than *.jsonl are not read: 1 in {data / 'customer'}" in err
    assert 'relation "customer" declares "naem", which no record has' in err


def test_a_log_that_only_a_run_can_read_is_refused_with_what_to_do(project: Path) -> None:
    kafka = PROJECT.replace("{files: {path: data}}", '{kafka: {bootstrap: "k:9092"}}')
    project.write_text(kafka.replace("format:", 'topic: "pattern:shop[.].*"\n    format:', 1))

    with pytest.raises(SpecError, match="topics that a pattern names") as caught:
        run_preview(PreviewArguments("profile", project))

    assert "joinery run --once" in caught.value.hint


def test_the_name_is_needed_where_there_are_several(project: Path) -> None:
    with pytest.raises(SpecError, match="which product or stream") as caught:
        run_preview(PreviewArguments("", project))

    assert caught.value.detail == "The project has profile, clicks."


def test_a_preview_in_python_says_what_waits_and_what_was_filtered(project: Path) -> None:
    app = joinery.App("web", source=str(project.parent / "web"))
    app.table("person", key="person", fields={"person": "long", "name": "string"})
    clicks = app.stream(
        "click", key="id", fields={"id": "long", "person": "long", "page": "string"}
    )
    write(project.parent / "web/person", {"person": 7, "name": "Ada"})

    shown = (
        clicks.filter("page <> '/'")
        .lookup_join("person", on=["person"], on_miss="wait:5m")
        .select("id", "name")
        .preview()
    )

    assert str(shown).splitlines() == [
        "id  name",
        "1   Ada",
        "1 waiting for a row, 1 filtered out",
    ]


def test_a_preview_in_a_session_says_how_many_events_were_not_sent(
    spark: SparkSession, project: Path
) -> None:
    app = joinery.App("web", source=str(project.parent / "web"))
    clicks = app.stream("click", key="id", fields={"id": "long", "page": "string"})

    shown = clicks.filter("page <> '/'").preview(spark=spark)

    assert str(shown).splitlines()[-1] == "1 not sent: waiting, or filtered out"


GROUPS = """\
name: traffic
sources: {changes: {files: {path: data}}}
relations:
  view: {append: true, fields: {page: string, at: timestamp}, time: at}
products:
  minutes:
    aggregate: view
    by: [page]
    window: {tumbling: 1m}
    values: {views: count(*)}
    sink: {files: {path: out}}
"""


def test_a_preview_counts_rows_that_are_late_and_rows_without_a_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "joinery.yaml").write_text(GROUPS)
    times = ("2026-03-01T10:00:05Z", "2026-03-01T10:00:04Z", "1970-03-01T10:00:00Z", None)
    write(tmp_path / "data" / "view", *({"page": "home", "at": each} for each in times))

    run_preview(PreviewArguments("minutes", tmp_path / "joinery.yaml"))

    assert "1 document, 1 without a time, 2 late, 1 too late; " in capsys.readouterr().err


def test_a_preview_counts_the_deletes_of_a_log_that_have_no_effect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "joinery.yaml").write_text(
        GROUPS.partition("relations:")[0]
        + "relations: {view: {append: true, key: [id], fields: {id: long}}}\n"
        + "products: {seen: {root: view, sink: {files: {path: out}}}}\n"
    )
    write(tmp_path / "data" / "view", {"id": 1}, {"id": 1, "__deleted": True})

    run_preview(PreviewArguments("seen", tmp_path / "joinery.yaml"))

    assert "1 document, 1 delete without effect; " in capsys.readouterr().err


def test_a_preview_tells_of_the_rows_that_are_late(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GROUPS.replace("    sink:", "    emit: {late: dead_letter}\n    sink:")
    (tmp_path / "joinery.yaml").write_text(text)
    times = ("2026-03-01T10:00:05Z", "2026-03-01T10:00:04Z")
    write(tmp_path / "data" / "view", *({"page": "home", "at": each} for each in times))

    run_preview(PreviewArguments("minutes", tmp_path / "joinery.yaml"))

    assert "warning: 1 dead letter late, such as minutes: Its time" in capsys.readouterr().err


TIMED = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  sale:
    format: debezium-json
    key: [id]
    fields: {id: long, at: timestamp}
    time: at
  rate:
    key: [id]
    fields: {id: long, percent: long, since: timestamp, until: long}
    time: since
products:
  days:
    aggregate: sale
    window: {tumbling: 1 day}
    values: {sales: count(*)}
    emit: {late: drop}
    sink: {files: {path: out}}
  rates: {history: rate, valid: since, track: [percent], sink: {files: {path: out}}}
  sold:
    root: sale
    fields: [id]
    embed: {rate: {one: rate, on: [id], as_of: at, fields: [percent]}}
    sink: {files: {path: out}}
"""


def test_a_preview_takes_no_row_of_a_snapshot_for_late_and_ends_versions_by_deletes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "joinery.yaml").write_text(TIMED)
    day = 86_400_000_000
    sales = [{"op": "r", "after": {"id": each, "at": each * day}} for each in (2, 1)]
    write(tmp_path / "data/sale", *sales)
    rate = {"id": 1, "percent": 5, "since": 0}
    gone = {"id": 1, "since": day, "until": "never", "__deleted": True}
    write(tmp_path / "data/rate", rate, gone)

    shown = {}
    for product in ("days", "rates", "sold"):
        run_preview(PreviewArguments(product, tmp_path / "joinery.yaml"))
        lines = capsys.readouterr().out.splitlines()
        shown[product] = [json.loads(each)["value"] for each in lines]

    assert [each["sales"] for each in shown["days"]] == [1, 1]
    assert [each["valid_to"] for each in shown["rates"]] == ["1970-01-02T00:00:00Z"]
    assert [each["rate"] for each in shown["sold"]] == [None, None]


def test_a_preview_shows_open_windows_where_logs_are_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GROUPS.replace("    sink:", "    emit: {when: closed}\n    sink:")
    (tmp_path / "joinery.yaml").write_text(text)
    times = ("2026-03-01T10:00:05Z", "2026-03-01T10:01:04Z")
    write(tmp_path / "data" / "view", *({"page": "home", "at": each} for each in times))

    shown = []
    for ends in (False, True):
        run_preview(PreviewArguments("", tmp_path / "joinery.yaml", until_closed=ends))
        lines = [json.loads(each)["value"] for each in capsys.readouterr().out.splitlines()]
        shown.append([each["window_end"] for each in lines if each["final"]])

    assert [["2026-03-01T10:01:00Z"], ["2026-03-01T10:01:00Z", "2026-03-01T10:02:00Z"]] == shown


SEARCH = """\
name: alerts
sources: {changes: {files: {path: data}}}
relations:
  listing: {key: [id], fields: {id: long, price: int}}
  saved: {key: [id], fields: {id: long, wanted: string}}
products:
  alert: {search: listing, queries: saved, query: wanted, sink: {files: {path: out}}}
"""


def test_a_preview_shows_matches_of_queries_where_logs_are_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "joinery.yaml").write_text(SEARCH)
    write(tmp_path / "data/listing", {"id": 7, "price": 400})
    write(tmp_path / "data/saved", {"id": 1, "wanted": "price < 500"})

    run_preview(PreviewArguments("", tmp_path / "joinery.yaml", until_closed=True))

    key = {"query": {"id": 1}, "document": {"id": 7}}
    assert {"key": key, "value": key} == json.loads(capsys.readouterr().out)


FOLD = """\
name: bank
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  entry:
    append: true
    fields: {account: long, number: long, type: string, amount: long}
products:
  account:
    fold: entry
    by: [account]
    sequence: number
    state: {balance: "long = 0"}
    when: {Paid: {balance: balance + event.amount}}
    wait: 0s
    sink: {files: {path: out}}
"""


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    """A fold over two files, whose times are an hour apart."""
    (tmp_path / "joinery.yaml").write_text(FOLD)
    folder = tmp_path / "data" / "entry"
    folder.mkdir(parents=True)
    for hour, numbers in enumerate([(1, 2), (3, 4)]):
        file = folder / f"{hour}.jsonl"
        rows = ({"account": 1, "number": n, "type": "Paid", "amount": 10**n} for n in numbers)
        file.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
        written_at = 1_767_225_600 + 3600 * hour  # 2026-01-01
        os.utime(file, (written_at, written_at))
    return tmp_path / "joinery.yaml"


@pytest.mark.parametrize(
    ("as_of", "balance"),
    [
        ("2026-01-01T00:59:59Z", 110),
        ("2026-01-01T01:00:00+00:00", 11_110),
        ("entry/0.jsonl/1", 10),
        ("entry/0.jsonl", 110),
        ("entry/1.jsonl/1", 1_110),
    ],
)
def test_a_fold_is_shown_as_it_was(bank: Path, as_of: str, balance: int) -> None:
    spec = load_spec(bank)

    found = preview_files(spec, build_plan(spec).products[0], as_of=as_of)

    assert [balance] == [each.value and each.value["balance"] for each in found.documents]


@pytest.mark.parametrize(
    ("as_of", "said"),
    [
        ("yesterday", '"yesterday" is neither a time nor a position'),
        ("12", '"12" is not a moment of these logs'),
        ("exit/9.jsonl/1", '"exit/9.jsonl/1" names no record of the topics that are read'),
        ("entry/9.jsonl/1", 'topic "entry" has no file "9.jsonl"'),
        ("entry/0.jsonl/3", 'file "0.jsonl" of topic "entry" has no line 3'),
        ("entry/0.jsonl/x", 'position "entry/0.jsonl/x" does not name a line of a file'),
    ],
)
def test_a_moment_that_the_logs_do_not_have_is_refused(bank: Path, as_of: str, said: str) -> None:
    spec = load_spec(bank)

    with pytest.raises(SpecError, match=re.escape(said)):
        preview_files(spec, build_plan(spec).products[0], as_of=as_of)
