"""`joinery top` on a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import joinery as jn
from joinery.delivery.control import Action, ControlLog
from joinery.delivery.query_paths import QueryPaths

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
products:
  profile: {root: customer, sink: {files: {path: out}}}
"""
_LIMIT_S = 60.0


def seen(terminal: int, text: str) -> bool:
    """Return whether a text is drawn on a terminal in time."""
    drawn, until = b"", time.monotonic() + _LIMIT_S
    while text.encode() not in drawn:
        if not select.select([terminal], [], [], max(0.0, until - time.monotonic()))[0]:
            return False
        drawn += os.read(terminal, 65_536)
    return True


def test_top_shows_what_has_changed_since_and_ends_by_an_interrupt(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT)
    paths = QueryPaths.of(jn.load(file).spec.checkpoint, "profile")
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "joinery.cli.main", "top", "--file", str(file)]
    environment = {**os.environ, "TERM": "xterm", "LINES": "30", "COLUMNS": "100"}

    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment) as top:
        first = seen(ours, "never run")
        ControlLog(paths.control_file).ask(Action.now("pause", "index is being moved"))
        then = seen(ours, "index is being moved")
        top.send_signal(signal.SIGINT)
        code = top.wait(_LIMIT_S)
    os.close(ours)
    os.close(its)

    assert (True, True, 0) == (first, then, code)
