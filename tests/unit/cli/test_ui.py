"""`joinery ui` as a process, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from joinery.cli import main as module

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations: {customer: {key: [id], fields: {id: long, name: string}}}
products: {card: {root: customer, sink: {files: {path: out}}}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--listen", "127.0.0.1:none"), 1, '"127.0.0.1:none" is no address. Write HOST:PORT'),
        (("--listen", "127.0.0.1:65536"), 1, "the port below 65536"),
        (("--listen", "203.0.113.1:9465"), 1, "UI_ADDRESS"),
        (("joinery.yaml", "joinery.yaml"), 2, "is named twice"),
        (("none.yaml",), 2, "none.yaml"),
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
    command = [sys.executable, "-m", "joinery.cli.main", "ui", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        with urlopen(f"{address}p/shop/card", timeout=60) as answer:
            assert "never run" in answer.read().decode()
    finally:
        server.terminate()
        server.communicate(timeout=60)
