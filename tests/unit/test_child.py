"""A process answers messages of any size, and its end is told."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from joinery.child import Child

ECHO = """
import sys, time
from joinery.child import pipes_to_parent
parent = pipes_to_parent()
print("printed", input.__name__)
while True:
    message = bytes(parent.receive())
    if message == b"exit":
        sys.exit(7)
    if message == b"sleep":
        time.sleep(600)
    parent.send(message + sys.argv[1].encode())
"""


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Child]:
    (tmp_path / "echo_child.py").write_text(ECHO)
    monkeypatch.syspath_prepend(tmp_path)
    child = Child("echo_child", "!", silent=True)
    yield child
    child.close(0.0)


def test_messages_of_any_size_are_answered_in_order(echo: Child) -> None:
    large = os.urandom(3 << 20)

    assert [b"!", b"a\n\0b!", large + b"!"] == [
        bytes(echo.ask(each, 30.0)) for each in (b"", b"a\n\0b", large)
    ]


def test_a_process_that_ends_is_told_with_its_code(echo: Child) -> None:
    with pytest.raises(EOFError):
        echo.ask(b"exit", 30.0)

    assert 7 == echo.close(5.0)
    assert 7 == echo.close(5.0)


def test_a_process_that_was_killed_is_told_at_the_next_message(echo: Child) -> None:
    echo.ask(b"", 30.0)
    os.kill(echo.pid, signal.SIGKILL)

    with pytest.raises(EOFError):
        echo.ask(b"more", 30.0)

    assert -signal.SIGKILL == echo.close(5.0)


def test_an_answer_that_takes_too_long_is_not_waited_for(echo: Child) -> None:
    echo.ask(b"", 30.0)
    began = time.monotonic()

    with pytest.raises(TimeoutError):
        echo.ask(b"sleep", 0.05)
    code = echo.close(0.0)

    assert -signal.SIGKILL == code
    assert time.monotonic() - began < 60  # of the 600 that it would sleep


def test_a_process_ends_with_its_input(echo: Child) -> None:
    echo.ask(b"", 30.0)

    assert 1 == echo.close(30.0)
