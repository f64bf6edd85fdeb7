"""What the state of a run says of all documents of a product, beside what its sinks were given."""

from __future__ import annotations

import json
import re
import shutil
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.session_run import run_to_end
from tests.spark.run_of_all_forms import folder, sent
from typer.testing import CliRunner

import joinery as jn
from joinery.app.logs import WhyError
from joinery.app.state_documents import key_prefix, state_lines
from joinery.cli.commands import app
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.project.load import load_spec
from joinery.spark.recovery.mark import bytes_by_mark
from joinery.spark.recovery.state_reader import StateReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

__all__ = ["folder"]

UNVERSIONED = {"visits", "names", "failures", "found"}
MANY = """\
name: many
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations: {item: {key: [id], fields: {id: long, name: string}}}
run: {max_document_bytes: 1 KiB, spark: {spark.sql.shuffle.partitions: "3"}}
products: {items: {root: item, fields: [name], sink: {files: {path: out}}}}
"""


def held(folder: Path, product: str, batch: int) -> dict[str, tuple[int, str]]:
    """Return by key what a sink held after a batch: a version, and a document."""
    found: dict[str, tuple[int, str]] = {}
    for key, documents in sent(folder, product).items():
        told = [each for each in documents if each[0] <= versions(folder)[batch]]
        if told and (document := told[-1][1]) is not None:
            found[key] = (told[-1][0], document)
    return found


def versions(folder: Path) -> list[int]:
    """Return the version of each batch."""
    return sorted(
        {v for name in products(folder) for d in sent(folder, name).values() for v, _ in d}
    )


def shown(
    reader: StateReader, product: Product, key: object = (), sample: float = 1.0
) -> dict[str, tuple[int | None, str]]:
    """Return by key what the state has: a version where it tells one, and a document."""
    found: dict[str, tuple[int | None, str]] = {}
    lines = reader.lines(product.name, key_prefix(product, key), sample)
    for line in b"".join(lines).decode().splitlines():
        told = json.loads(line)
        if "refused" in told:
            continue
        document = line[line.index('"value":') + 8 : -1]
        text = document.rpartition(',"version":')[0] if "version" in told else document
        name = json.dumps(told["key"], ensure_ascii=False)
        assert name not in found
        found[name] = (told.get("version"), text)
    return found


def products(folder: Path) -> dict[str, Product]:
    """Return the plans of a project's products by name."""
    return {each.name: each for each in build_plan(load_spec(folder / "joinery.yaml")).products}


def reader(folder: Path, batch: int | None = None) -> StateReader:
    """Return what reads the state of a project of one query."""
    return StateReader(load_spec(folder / "joinery.yaml"), [*products(folder).values()], batch)


@pytest.mark.parametrize("batch", [0, 1])
def test_all_documents_are_those_that_sinks_hold(folder: Path, batch: int) -> None:
    checkpoint = folder / ".joinery" / "checkpoint" / "all"
    before = {each: each.stat().st_mtime_ns for each in checkpoint.rglob("*")}
    compared = 0
    with reader(folder, batch) as state:
        for name, product in products(folder).items():
            found = shown(state, product)
            expected = held(folder, name, batch)
            assert {key: text for key, (_, text) in expected.items()} == {
                key: text for key, (_, text) in found.items()
            }, name
            for key, (version, _) in found.items():
                assert (None if name in UNVERSIONED else expected[key][0]) == version
            compared += len(found)
    assert compared > 20
    assert before == {each: each.stat().st_mtime_ns for each in checkpoint.rglob("*")}


def test_documents_whose_keys_begin_with_some_values(folder: Path) -> None:
    made = products(folder)
    receipt, names = made["receipt"], made["names"]
    with reader(folder) as state:
        assert ['{"shop": "ö", "number": 2}'] == [*shown(state, receipt, "ö")]
        assert ['{"shop": "a,b", "number": 1}'] == [*shown(state, receipt, ["a,b", 1])]
        assert {} == shown(state, receipt, "a")
        assert 3 == len(shown(state, receipt))
        versions_of_one = shown(state, names, 1)
        assert 2 == len(versions_of_one)
        [last] = shown(state, names, [1, "2026-02-01T00:00:00Z"]).items()
        assert last in versions_of_one.items()
        [(_, (_, text))] = shown(state, made["buyers"], [None]).items()
        assert 1 == json.loads(text)["n"]


def test_a_sample_is_a_share_and_the_same_each_time(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "data" / "item").mkdir(parents=True)
    (tmp_path / "joinery.yaml").write_text(MANY, encoding="utf-8")
    rows = [f'{{"id":{n},"name":"item {n}"}}\n' for n in range(2_000)]
    rows.append(f'{{"id":2000,"name":"{"long" * 300}"}}\n')
    (tmp_path / "data" / "item" / "0.jsonl").write_text("".join(rows), encoding="utf-8")
    run_to_end(spark, tmp_path)
    items = products(tmp_path)["items"]

    with reader(tmp_path) as state:
        lines = b"".join(state.lines("items", {})).decode().splitlines()
        half = shown(state, items, sample=0.5)
        again = shown(state, items, sample=0.5)
        tenth = shown(state, items, sample=0.1)
        alone = [shown(state, items, key, sample=0.1) for key in range(30)]

    assert ['{"key":{"id":2000},"refused":"document_too_large"}'] == [
        each for each in lines if "value" not in each
    ]
    assert 2_001 == len(lines)
    assert half == again
    assert 900 < len(half) < 1_100
    assert 140 < len(tenth) < 260
    assert tenth.items() <= half.items()
    assert tenth.keys() & {f'{{"id": {key}}}' for key in range(30)} == {*chain(*alone)}


def test_documents_are_values_for_python(folder: Path) -> None:
    [found] = jn.state_documents(folder, "totals", key="ö")
    assert {"shop": "ö"} == found.key
    assert found.document is not None
    assert ("ö", 1) == (found.document["shop"], found.document["n"])
    assert (versions(folder)[1], "") == (found.version, found.refused)


def test_the_command_prints_lines_of_the_files_sink(folder: Path) -> None:
    shown = CliRunner().invoke(app, ["state", "everything", "--file", str(folder)])
    last = max((folder / "out" / "everything").glob("*.jsonl")).read_text(encoding="utf-8")
    assert last == shown.stdout
    assert 0 == shown.exit_code


@pytest.mark.parametrize(
    ("product", "asked", "message"),
    [
        ("receipt", {"key": "ö,2,3"}, "does not begin with 3 columns"),
        ("receipt", {"key": "ö,x"}, 'has number as long, which "x" is not'),
        ("found", {"key": "1"}, "does not begin with 1 columns"),
        ("receipt", {"sample": "2"}, '"2" is not a share of the documents'),
        ("receipts", {}, 'there is no product "receipts"'),
    ],
)
def test_what_does_not_fit_is_refused(
    folder: Path, product: str, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(WhyError, match=message):
        state_lines(folder, product, **asked)


def test_a_mark_keeps_the_state_of_a_batch_that_is_gone(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    checkpoint = copy / ".joinery" / "checkpoint" / "all"
    asked = ["mark", "profile", "--file", str(copy)]

    made = CliRunner().invoke(app, asked)
    again = CliRunner().invoke(app, [*asked, "--list"])
    shutil.rmtree(checkpoint / "state")
    for kind in ("offsets", "commits"):
        (checkpoint / kind / "2").write_bytes((checkpoint / kind / "1").read_bytes())
        (checkpoint / kind / "1").unlink()
    held_bytes = sum(bytes_by_mark(checkpoint).values())

    first, second = made.stdout.splitlines()
    assert "all: the state after batch 1 is kept" == first
    assert re.fullmatch(r"all: 1 mark, 1\d\.\d kB beyond what the checkpoint holds", second)
    assert again.stdout.splitlines()[0].startswith("all: batch 1  20")
    assert held_bytes > 50_000
    with reader(copy, 1) as state:
        for name, product in products(copy).items():
            expected = {key: text for key, (_, text) in held(folder, name, 1).items()}
            assert expected == {key: text for key, (_, text) in shown(state, product).items()}
    compared = jn.state(copy, "totals", "ö", batch=1)
    assert compared.document is not None
    assert ("", ()) == (compared.unread, compared.differences)
