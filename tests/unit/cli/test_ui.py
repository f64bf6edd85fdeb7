"""`joinery ui` as a process, and what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self
from urllib.request import urlopen

import pytest

from joinery.cli import main as module

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations: {customer: {key: [id], fields: {id: long, name: string}}}
products: {card: {root: customer, sink: {files: {path: out}}}}
"""
TOKEN = "a token of many characters"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--listen", "127.0.0.1:none"), 1, '"127.0.0.1:none" is not an address. Write HOST:PORT'),
        (("--listen", "127.0.0.1:65536"), 1, "the port below 65536"),
        (("--listen", "203.0.113.1:9465"), 1, "UI_ADDRESS"),
        (("joinery.yaml", "joinery.yaml"), 2, "is named twice"),
        (("none.yaml",), 2, "none.yaml"),
        (("--actions", "--token", "short"), 2, "fewer than 16 characters"),
        (("--actions", "--listen", "0.0.0.0:0"), 2, "or add --allow-remote"),
        (("--actions", "--listen", "203.0.113.1:9465", "--allow-remote"), 1, "UI_ADDRESS"),
    ],
)
def test_what_cannot_be_served_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    monkeypatch.setattr("sys.argv", ["joinery", "ui", *arguments])

    with pytest.raises(SystemExit) as ended:
        module.main()

    assert code == ended.value.code
    assert said in capsys.readouterr().err


def test_the_page_is_there_once_its_address_is_told() -> None:
    with Page() as page:
        assert "never run" in page.shows("p/shop/card")


def test_a_token_that_is_made_is_told_once() -> None:
    with Page("--actions") as page:
        said, _, token = page.line().strip().rpartition(" ")
        shown = page.shows("sign-in")

    assert "token for actions, shown once:" == said
    assert len(token) >= 40
    assert token not in f"{shown}{page.rest}"


@pytest.mark.parametrize("way", ["option", "environment"])
def test_a_token_that_is_given_is_not_told(way: str) -> None:
    given = ("--token", TOKEN) if way == "option" else ()
    environment = {"JOINERY_UI_TOKEN": TOKEN} if way == "environment" else {}
    with Page("--actions", *given, environment=environment) as page:
        assert "Sign in to act" in page.shows("sign-in")

    assert "" == page.rest


def test_a_token_alone_opens_nothing() -> None:
    with Page(environment={"JOINERY_UI_TOKEN": TOKEN}) as page:
        assert "Sign in" not in page.shows("")


class Page:
    """`joinery ui` as a process, with its output."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "joinery.cli.main", "ui", "--listen", "127.0.0.1:0"]
        self.server = subprocess.Popen(
            [*command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self.rest = ""

    def __enter__(self) -> Self:
        self.address = self.line().split()[0]
        return self

    def __exit__(self, *_: object) -> None:
        self.server.terminate()
        self.rest = self.server.communicate(timeout=60)[0]

    def line(self) -> str:
        assert self.server.stdout is not None
        return self.server.stdout.readline()

    def shows(self, path: str) -> str:
        with urlopen(f"{self.address}{path}", timeout=60) as answer:
            return str(answer.read().decode())
