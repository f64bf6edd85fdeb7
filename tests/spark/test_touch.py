"""Documents that somebody altered in a sink are sent again at a touch, without a database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.session_run import going, run_to_end, until
from tests.sqlite_file import sqlite_file

import joinery as jn
from joinery.app.touch import TouchError, TouchLateError
from joinery.cli.touch import run_touch
from joinery.delivery.query_paths import QueryPaths

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark]

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations: {item: {format: json, key: [shop, id], fields: {shop: string, id: long, name: string}}}
products:
  card: {root: item, fields: [name], sink: [{files: {path: out}}, {sqlite: {path: out.db}}]}
  calm: {root: item, emit: {settle: 2s}, sink: {files: {path: out}}}
  seen: {root: item, sink: {console: {}}}
"""
ITEMS = [("de", 1, "Ada"), ("de", 2, "Bo"), ("fr", 1, "Cy")]
RIGHT = {f"{shop}{number}": name for shop, number, name in ITEMS}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    put(tmp_path, "1.jsonl", *ITEMS)
    return tmp_path


def put(folder: Path, name: str, *items: tuple[str, int, str]) -> None:
    topic = folder / "data" / "item"
    topic.mkdir(parents=True, exist_ok=True)
    rows = (json.dumps(dict(zip(("shop", "id", "name"), each, strict=True))) for each in items)
    (folder / "part").write_text("".join(f"{row}\n" for row in rows))
    (folder / "part").rename(topic / name)


def in_database(folder: Path) -> dict[str, str | None]:
    """Return the names in one of the sinks."""
    with sqlite_file(folder / "out.db") as database:
        found = database.execute("SELECT shop || id, document FROM card").fetchall()
    return {key: json.loads(document).get("name") for key, document in found}


def versions(folder: Path) -> dict[str, list[int]]:
    """Return the versions that the other sink was sent, in order, by key."""
    found: dict[str, list[int]] = {}
    for file in sorted((folder / "out" / "card").glob("*.jsonl")):
        for line in file.read_text().splitlines():
            told = json.loads(line)
            key = f"{told['key']['shop']}{told['key']['id']}"
            found.setdefault(key, []).append(told["version"])
    return found


def spoil(folder: Path) -> None:
    with sqlite_file(folder / "out.db") as database:
        database.execute("UPDATE card SET document = '{}' WHERE id = 1")
        database.execute("DELETE FROM card WHERE id = 2")


def test_what_was_altered_in_a_sink_is_right_after_a_touch_beside_the_run(
    spark: SparkSession, folder: Path
) -> None:
    with going(spark, folder) as run:
        until(lambda: (folder / "out.db").exists() and len(versions(folder)) == 3, run)
        jn.wait(folder, "card", "item/1.jsonl", timeout="5m")  # its batch is committed
        spoil(folder)
        first = jn.touch(folder, "card", "de")
        touched = in_database(folder)
        second = jn.touch(folder, "card")
        put(folder, "2.jsonl", ("de", 1, "Eve"))
        jn.wait(folder, "card", "item/2.jsonl", timeout="5m")

    assert [(2, 2, ()), (3, 3, ())] == [
        (each.found, each.sent, each.notes) for each in (first, second)
    ]
    assert {"de1": "Ada", "de2": "Bo", "fr1": None} == touched
    assert {**RIGHT, "de1": "Eve"} == in_database(folder)
    assert {"de1": 4, "de2": 3, "fr1": 2} == {key: len(v) for key, v in versions(folder).items()}
    assert all(each == sorted(set(each)) for each in versions(folder).values())


def test_a_touch_does_it_itself_where_no_run_goes_on(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_to_end(spark, folder)
    spoil(folder)
    capsys.readouterr()
    file = folder / "joinery.yaml"

    done = [
        run_touch(file, "de", "card", every=False, timeout="5m"),
        run_touch(file, "", "card", every=True, timeout="5m"),
    ]

    assert [0, 0] == done
    assert RIGHT == in_database(folder)
    told = "card: 2 documents sent again\ncard: 3 documents sent again\n"
    assert told == capsys.readouterr().out
    one, two = jn.status(folder, "card").products[0].actions
    assert ("touch", "", 'key "de"') == (one.verb, one.told, two.told)
    for product, key, why in (
        ("card", "es", "has no document to send again"),
        ("calm", "de", "holds documents back"),
        ("seen", "de", "cannot be read back"),
        ("cart", "de", "there is no product"),
    ):
        with pytest.raises(TouchError, match=why):
            jn.touch(folder, product, key)
    other = QueryPaths.of(folder / ".joinery" / "checkpoint", "card").lease
    other.take()
    with pytest.raises(TouchLateError, match='1 document of product "card" could not be sent'):
        jn.touch(folder, "card", ("de", 1), wait="1s")
    other.release()
    with pytest.raises(TouchError, match="not said which"):
        run_touch(file, "", "card", every=False, timeout="5m")


def test_a_touch_replaces_nothing_that_a_later_batch_has_sent(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from joinery.app import touch

    run_to_end(spark, folder)
    taken = touch._below_later

    def after_another_batch(*asked: object) -> int:
        until_us: int = taken(*asked)  # type: ignore[arg-type]
        put(folder, "2.jsonl", ("de", 1, "Eve"))
        run_to_end(spark, folder)
        return until_us

    monkeypatch.setattr(touch, "_below_later", after_another_batch)

    found = jn.touch(folder, "card", ("de", 1))

    assert (1, 0) == (found.found, found.sent)
    assert "the run has sent them since" in found.notes[0]
    assert {**RIGHT, "de1": "Eve"} == in_database(folder)
