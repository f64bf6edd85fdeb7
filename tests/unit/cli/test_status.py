"""`joinery status` and `joinery top`, where nothing runs."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from tests.unit.cli.command import joinery

from joinery.delivery.query_paths import QueryPaths
from joinery.model.hot_key import HotKey
from joinery.model.status import ProductTotals, QueryStatus
from joinery.observe.history_file import HistoryFile, history_folder
from joinery.observe.status import ProductStatus, ProjectStatus
from joinery.observe.status_text import status_lines

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
products:
  profile: {root: customer, sink: {files: {path: out}}}
  names: {root: customer, fields: [name], sink: {files: {path: out}}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JOINERY_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_status_of_what_never_ran(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 0 == joinery(monkeypatch, "status", "--check")
    assert "shop   2 products   nothing needs attention" in capsys.readouterr().out
    assert 0 == joinery(monkeypatch, "top")


@pytest.mark.usefixtures("folder")
def test_status_for_machines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 0 == joinery(monkeypatch, "status", "names", "--json")

    told = json.loads(capsys.readouterr().out)
    assert [("names", "never run")] == [
        (each["product"], each["state"]) for each in told["products"]
    ]


@pytest.mark.usefixtures("folder")
def test_an_unknown_product_names_those_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 == joinery(monkeypatch, "status", "profil")
    assert "Did you mean profile?" in capsys.readouterr().err


def test_what_wants_attention_is_shown_with_its_reason() -> None:
    behind = ProductStatus(
        product="search",
        query="search",
        state="behind",
        because="its sinks are slow",
        fresh_s=41.0,
        rows_left=310_022,
        missed=("fresh: 41.0 s, expected 30 s",),
    )
    live = ProductStatus(product="card", query="card", state="live", fresh_s=0.42, cost=0.25)
    found = ProjectStatus(project="shop", checkpoint=Path(), products=(behind, live))

    assert [
        "shop   2 products   1 needs attention",
        "  product  state   fresh   behind  docs/s  sent  cost  on disk  dead",
        "◐ search   behind   41 s  310,022       0     0     -        -     0",
        "    because its sinks are slow",
        "    fresh: 41.0 s, expected 30 s",
        "● card     live    0.4 s        0       0     0   25%        -     0",
    ] == list(status_lines(found, 20))
    assert "… 1 more: joinery status --all" == list(status_lines(found, 1))[-1]


def test_a_hot_key_is_named_below_its_product() -> None:
    keys = [
        HotKey(node="Match p/q", by="x", key=key, messages=count, error=0, of=5000, batches=20)
        for key, count in (("ada", 4000), ("bob", 900))
    ]
    card = ProductStatus(product="card", query="card", state="live", hot_keys=tuple(keys))
    found = ProjectStatus(project="shop", checkpoint=Path(), products=(card,))

    [*_, line] = status_lines(found, 20)

    assert (
        "    hot key: x = ada has 80% of the messages of Match p/q in the last 20 batches" == line
    )
    assert not card.wants_attention


def test_history_reads_what_runs_have_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = time.time()
    for at in (now - 7200, now - 60):
        status = QueryStatus(
            query="profile",
            state="running",
            began_at=at,
            written_at=at,
            products={"profile": ProductTotals(relations=("customer",), documents=3)},
        )
        where = QueryPaths.of(folder / ".joinery" / "checkpoint", "profile").status_file
        HistoryFile(history_folder(where)).note(status)

    assert 0 == joinery(monkeypatch, "status", "profile", "--history", "--since", "1h", "--json")
    told = json.loads(capsys.readouterr().out)
    assert [3] == [each["sent"] for each in told["profile"]]
    assert 0 == joinery(monkeypatch, "status", "--history")
    shown = capsys.readouterr().out
    assert "profile, by 1h" in shown
    assert "names: nothing is on record" in shown


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--history", "--since", "soon"], '"soon" is not a duration'),
        (["--history", "--check"], "Use one of --check and --history."),
        (["--actions", "--check"], "Use one of --check and --actions."),
    ],
)
def test_what_does_not_go_together_is_refused(
    options: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert 2 == joinery(monkeypatch, "status", *options)
    assert told in capsys.readouterr().err
