"""What the state of a run says of its documents, beside what its sinks were given."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.spark.run_of_all_forms import folder, sent
from typer.testing import CliRunner

import joinery as jn
from joinery.app.logs import WhyError
from joinery.cli.commands import app
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.spark.recovery.state_reader import StateReader, StateReadError

pytestmark = pytest.mark.spark

__all__ = ["folder"]


def test_the_state_has_the_very_documents_that_sinks_were_given(folder: Path) -> None:
    products = build_plan(load_spec(folder / "joinery.yaml")).products
    versions = sorted({v for p in products for d in sent(folder, p.name).values() for v, _ in d})
    checkpoint = folder / ".joinery" / "checkpoint" / "all"
    before = {each: each.stat().st_mtime_ns for each in checkpoint.rglob("*")}
    assert 2 == len(versions)
    for batch in (1, 0):
        compared = 0
        with StateReader(load_spec(folder / "joinery.yaml"), products, batch) as state:
            for product in products:
                for key, documents in sent(folder, product.name).items():
                    told = [text for version, text in documents if version <= versions[batch]]
                    document, refused = state.document(product.name, key)
                    assert "" == refused
                    assert (told[-1] if told else None) == document, (product.name, key)
                    compared += document is not None
        assert compared > 15
    assert before == {each: each.stat().st_mtime_ns for each in checkpoint.rglob("*")}


def test_a_group_is_compared_with_what_the_log_says(folder: Path) -> None:
    found = jn.state(folder, "buyers", None)
    assert ["the state after batch 1; the logs up to there say the same"] == [*found.lines()]
    assert found.document is not None
    assert ("null", "") == (found.key, found.unread)


@contextmanager
def altered(file: Path, before: str, after: str) -> Iterator[None]:
    """Have another text in a file for the length of a block."""
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(text, encoding="utf-8")


def test_where_logs_tell_otherwise_is_shown(folder: Path, own_jvms: None) -> None:
    asked = ["why", "1", "--product", "profile", "--state", "--file", str(folder)]
    # Of the same length: a file that grew would be known to have other lines.
    with altered(folder / "data" / "customer" / "1.jsonl", "Ada L.", "Eva L."):
        shown = CliRunner().invoke(app, asked)
    assert 3 == shown.exit_code
    assert [
        "the state after batch 1; the logs up to there say otherwise:",
        '  ~ name  "Ada L." → "Eva L."',
        '  ~ shouted  "ADA L." → "EVA L."',
    ] == shown.stdout.splitlines()[-3:]


def test_a_document_that_the_state_has_wrong_is_not_blamed_on_its_sink(folder: Path) -> None:
    sink = max((folder / "out" / "profile").glob("*.jsonl"))
    with (
        altered(folder / "data" / "customer" / "1.jsonl", "Ada L.", "Eva L."),
        altered(sink, '"name":"Bo"', '"name":"Xo"'),
    ):
        [told] = jn.diff(folder, "profile").parts
    assert {
        1: (
            "joinery",
            "the state of its run has what the sink holds, and the logs give another document",
        ),
        2: ("sink", "the logs never gave what the sink holds"),
    } == {json.loads(each.key)["id"]: (each.cause, each.why) for each in told.differences}


def test_a_key_that_the_logs_do_not_know_is_looked_for_all_the_same(folder: Path) -> None:
    found = jn.state(folder, "profile", 99, batch=0)
    assert found.document is None
    assert "no record of customer has the key 99" == found.unread
    assert not found.to_json()["compared"]


def test_state_of_another_plan_is_refused(folder: Path) -> None:
    project = folder / "joinery.yaml"
    with (
        altered(project, "fields: [text]", "fields: [text, at]"),
        pytest.raises(StateReadError) as told,
    ):
        jn.state(project, "profile", 1)
    assert 'query "all" has the state of another plan than the project' == told.value.message
    assert "joinery apply" in told.value.hint


def test_state_of_a_batch_that_is_not_there_is_told(folder: Path) -> None:
    with pytest.raises(StateReadError, match='checkpoint of query "all" has no batch 7'):
        jn.state(folder, "profile", 1, batch=7)


def test_state_whose_files_are_gone_is_told(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    for file in (copy / ".joinery" / "checkpoint" / "all" / "state").rglob("2_*"):
        file.unlink()
    with pytest.raises(StateReadError, match="the state after batch 1 is no longer there"):
        jn.state(copy, "profile", 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["1", "--at", "2026-01-01"], "--state cannot be combined with --at"),
        (["--row", "order:1"], "--state cannot be combined with --row"),
        ([], "why needs a key with --state"),
        (["1", "--all"], "--state cannot be combined with --all"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    folder: Path, options: list[str], message: str
) -> None:
    shown = CliRunner().invoke(app, ["why", *options, "--state", "--file", str(folder)])
    assert isinstance(shown.exception, WhyError)
    assert message == shown.exception.message
