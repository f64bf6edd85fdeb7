"""What docs/why.md shows is what the commands say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.session_run import run_to_end
from typer.testing import CliRunner

from joinery.cli.commands import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "why.md").read_text(encoding="utf-8")
SEARCH_PAGE = (DOCS / "search.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"```console\n\$ joinery (.*?)\n(.*?)```", re.DOTALL)
SHOWN = COMMAND.findall(PAGE)
OF_STATE = [each for each in SHOWN if "--state" in each[0]]
OF_ALL = [each for each in SHOWN if each[0].startswith("state ")]
OF_MARKS = [each for each in SHOWN if each[0] == "mark"]
OF_GROUPS = [each for each in SHOWN if "--product pages_per_hour" in each[0]]
GROUPS = """\
name: site
sources: {log: {files: {path: data}}}
defaults: {source: log, format: json}
relations:
  view: {key: [id], fields: {id: long, visitor: string, at: timestamp}, time: at}
products:
  pages_per_hour:
    aggregate: view
    by: [visitor]
    window: {tumbling: 1h}
    values: {pages: count(*)}
    sink: {files: {path: out}}
"""
VIEWS = """\
{"id": 1, "visitor": "ada", "at": "2026-01-01T10:05:00Z"}
{"id": 2, "visitor": "bob", "at": "2026-01-01T10:10:00Z"}
{"id": 3, "visitor": "ada", "at": "2026-01-01T10:20:00Z"}
"""


@pytest.fixture
def hello(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert 0 == CliRunner().invoke(app, ["init", "hello"]).exit_code
    return tmp_path / "hello"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "data" / "view").mkdir(parents=True)
    (tmp_path / "joinery.yaml").write_text(GROUPS, encoding="utf-8")
    (tmp_path / "data" / "view" / "1.jsonl").write_text(VIEWS, encoding="utf-8")
    return tmp_path


def said(shown: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(line, CliRunner().invoke(app, shlex.split(line)).stdout) for line, _ in shown]


def unversioned(shown: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(line, re.sub(r'"version":\d+', "", text)) for line, text in shown]


def sizeless(text: str) -> str:
    return re.sub(r"[\d.]+ kB", "", text)


def test_commands_say_what_the_page_shows(hello: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hello)
    shown = [each for each in SHOWN if each not in (*OF_GROUPS, *OF_STATE, *OF_ALL, *OF_MARKS)]

    assert 4 == len(shown)
    assert shown == said(shown)


def test_a_command_says_of_state_what_the_page_shows(
    spark: SparkSession, hello: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_to_end(spark, hello)
    monkeypatch.chdir(hello)

    assert (1, 2, 1) == (len(OF_STATE), len(OF_ALL), len(OF_MARKS))
    assert OF_STATE == said(OF_STATE)
    assert unversioned(OF_ALL) == unversioned(said(OF_ALL))
    assert [sizeless(text) for _, text in OF_MARKS] == [
        sizeless(text) for _, text in said(OF_MARKS)
    ]


def test_a_command_says_of_groups_what_the_page_shows(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(site)

    assert 1 == len(OF_GROUPS)
    assert said(OF_GROUPS) == OF_GROUPS


def test_commands_say_of_matches_what_their_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, file in (
        ("yaml", "joinery.yaml"),
        ("json listing", "data/listing/1.jsonl"),
        ("json saved_search", "data/saved_search/1.jsonl"),
    ):
        text = re.findall(rf"```{kind}\n(.*?)```", SEARCH_PAGE, re.DOTALL)[0]
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    shown = COMMAND.findall(SEARCH_PAGE)

    assert 2 == len(shown)
    assert said(shown) == shown


def test_python_tells_the_same(hello: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    exec(code, {})
