"""The process of a user's function, seen from the run: started, called, killed, started anew.

Invariant: whatever the function does to its process, a call returns what became of it
within its time.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from joinery.connect.line import StagedRow
from joinery.connect.protocol import SinkError, StagedBatch

_START_S = 60.0
_WORKER = "joinery.connect.foreach_worker"


@dataclass(frozen=True, slots=True)
class Called:
    """What became of a call.

    Attributes:
        outcome: `taken`; `later` where the function asks to wait; `failed` where it
            raised, crashed or took too long.
        detail: Why, as one line.
        refused: The places of documents that the function refuses, each with its reason.
    """

    outcome: Literal["taken", "later", "failed"]
    detail: str = ""
    refused: tuple[tuple[int, str], ...] = ()


class FunctionProcess:
    """A process that serves one function.

    Args:
        function: `module:function`.
        folder: Where it runs.
        timeout_s: The longest call.
    """

    def __init__(self, function: str, folder: Path, *, timeout_s: float) -> None:
        self._function = function
        self._folder = folder
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""

    def start(self) -> None:
        """Start it and import the function.

        Raises:
            SinkError: The function cannot be imported.
        """
        self._unread = b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", _WORKER, self._function],
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": _search_path()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # an interrupt at the terminal ends the run, not a call
        )
        try:
            answer = self._answer(self._process, _START_S)
        except TimeoutError:
            self._process.kill()
            answer = {"outcome": "unusable", "detail": f"Its import took longer than {_START_S} s"}
        if answer is None or answer["outcome"] != "ready":
            self.stop()
            raise SinkError(
                f'function "{self._function}" cannot be used',
                detail=f"{answer['detail']}." if answer else "Its process ended at once.",
                hint=f"It is imported from {self._folder}, and from what is installed.",
            )

    def call(self, batch: StagedBatch, rows: Sequence[StagedRow]) -> Called:
        """Call the function with `rows`, in a fresh process where the last one ended."""
        if self._process is None:
            self.start()
        process = self._process
        assert process is not None
        request = {
            "product": batch.product,
            "key": batch.key.ddl,
            "value": batch.value.ddl,
            "rows": rows,
        }
        try:
            _pipe(process.stdin).write(json.dumps(request).encode() + b"\n")
            _pipe(process.stdin).flush()
            answer = self._answer(process, self._timeout_s)
        except BrokenPipeError:
            answer = None
        except TimeoutError:
            process.kill()
            self.stop()
            return Called("failed", f"it took longer than {self._timeout_s:g} s")
        if answer is None:
            return Called("failed", self._end(process))
        refused = tuple((place, why) for place, why in answer.get("refused", ()))
        return Called(answer["outcome"], answer.get("detail", ""), refused)

    def stop(self) -> None:
        """End the process: in good order where it can, else at once."""
        process, self._process = self._process, None
        if process is None:
            return
        _close(process.stdin)
        try:
            process.wait(2.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _close(process.stdout)

    def _end(self, process: subprocess.Popen[bytes]) -> str:
        """Clear away a process that has ended, and say how."""
        code = process.wait()
        self.stop()
        return f"its process ended by signal {-code}" if code < 0 else f"it exited with {code}"

    def _answer(self, process: subprocess.Popen[bytes], within_s: float) -> dict[str, Any] | None:
        """Return the next answer; None where the process ended.

        Raises:
            TimeoutError: It takes longer.
        """
        until = time.monotonic() + within_s
        out = _pipe(process.stdout)
        while b"\n" not in self._unread:
            ready, _, _ = select.select([out], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError
            read = os.read(out.fileno(), 1 << 16)
            if not read:
                return None
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise SinkError("the function's process has no pipe")
    return stream


def _close(stream: IO[bytes] | None) -> None:
    try:
        if stream is not None:
            stream.close()
    except BrokenPipeError:
        return


def _search_path() -> str:
    """Return where the process finds modules: where this one does."""
    return os.pathsep.join(each for each in sys.path if each)
