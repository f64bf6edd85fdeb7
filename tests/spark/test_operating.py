"""A run that is looked at, paused, resumed and killed, as its page shows it and by its page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from joinery.cli.main import main
from joinery.ui.access import Door
from joinery.ui.fleet import Fleet
from joinery.ui.site import site

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations: {customer: {format: json, key: [id], fields: {id: long, name: string}}}
products:
  card: {root: customer, sink: {files: {path: out}}}
  names: {root: customer, fields: [name], sink: {files: {path: out}}}
"""
LIMIT_S = 300
TOKEN = "a token of many characters"


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def put(folder: Path, number: int) -> None:
    """Put one more customer in place, and a bad record beside it."""
    topic = folder / "data" / "customer"
    topic.mkdir(parents=True, exist_ok=True)
    (folder / "part").write_text(f'{{"id": {number}, "name": "<b>{number}</b>"}}\n{{"id": <i>}}\n')
    (folder / "part").rename(topic / f"{number}.jsonl")


def sent(folder: Path, product: str) -> list[int]:
    lines = [
        line
        for file in sorted((folder / "out" / product).glob("[!.]*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    return [json.loads(line)["key"]["id"] for line in lines]


def hidden(page: str) -> dict[str, str]:
    """Return what the form of a page carries beside what is typed."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))


def joinery(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["joinery", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_run_is_watched_paused_resumed_and_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from starlette.testclient import TestClient

    monkeypatch.chdir(tmp_path)
    Path("joinery.yaml").write_text(PROJECT)
    put(tmp_path, 1)
    app = site(Fleet.load([Path("joinery.yaml")]), door=Door(TOKEN))
    client = TestClient(app, base_url="http://localhost")

    def state(product: str) -> str:
        found = {each["product"]: each for each in client.get("/products.json").json()}
        return str(found[product]["state"])

    def does(address: str, **typed: str) -> str:
        """Open a page that asks, and send its form; return what it tells then."""
        shown = client.get(f"/p/shop/card/{address}").text
        answer = client.post(
            f"/p/shop/card/{address.partition('?')[0]}", data=hidden(shown) | typed
        )
        assert 200 == answer.status_code
        return str(answer.text)

    assert "never run" == state("card")
    form = hidden(client.get("/sign-in").text)
    client.post("/sign-in", data=form | {"name": "Ada", "token": TOKEN})
    command = [sys.executable, "-m", "joinery.cli.main", "run"]
    with (
        Path("told.jsonl").open("wb") as told,
        subprocess.Popen(command, stdout=told, start_new_session=True) as run,
    ):
        try:
            until(lambda: state("card") == state("names") == "live" or run.poll() is not None)
            page = client.get("/p/shop/card").text
            assert "undecodable" in page
            assert "<i>" not in page

            assert 0 == joinery(monkeypatch, "pause", "card", "--why", "<b>stock</b>")
            assert "card: paused after batch" in capsys.readouterr().out
            until(lambda: state("card") == "paused")
            page = client.get("/p/shop/card").text
            assert "&lt;b&gt;stock&lt;/b&gt;" in page
            put(tmp_path, 2)
            until(lambda: sent(tmp_path, "names") == [1, 2])
            assert [1] == sent(tmp_path, "card")

            assert 0 == joinery(monkeypatch, "resume", "card")
            assert "card: running again" in capsys.readouterr().out
            until(lambda: sent(tmp_path, "card") == [1, 2])
            until(lambda: state("card") == "live")

            does("pause", why="by hand")
            until(lambda: state("card") == "paused")
            put(tmp_path, 3)
            until(lambda: sent(tmp_path, "names") == [1, 2, 3])
            assert [1, 2] == sent(tmp_path, "card")
            assert 0 == joinery(monkeypatch, "pause", "card")
            assert "card: was paused before, by Ada (page of " in capsys.readouterr().out
            does("resume")
            until(lambda: sent(tmp_path, "card") == [1, 2, 3])

            letters = client.get("/p/shop/card/dead_letters.json").json()
            [id] = [each["id"] for each in letters if each["place"] == "1.jsonl:2"]
            said = does(f"dead-letters/replay?id={id}", value='{"id": 9, "name": "nine"}')
            assert "1 dead letter replayed" in said
            until(lambda: sent(tmp_path, "card") == [1, 2, 3, 9])
            history = client.get("/p/shop/card/actions.json").json()
            assert ["replay", "resume", "pause", "resume", "pause"] == [e["verb"] for e in history]
        finally:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()

    until(lambda: state("card") == "gone")
    assert 3 == joinery(monkeypatch, "status", "--check")
