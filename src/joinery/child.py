"""Processes of this library that answer messages: started, asked, ended.

A message is bytes after their length, over the process' input and output; what they hold is
between the two that talk. A process that serves takes its pipes for itself, so that nothing that
is printed in it is taken for an answer, and ends with its input: it never outlives who started it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import subprocess
import sys
import time
from pathlib import Path

_LENGTH = 8
_PIPE_BYTES = 1 << 20


class Pipes:
    """Two file descriptors between two processes: one to read messages from, one to write to."""

    def __init__(self, source: int, target: int) -> None:
        self._source, self._target = source, target
        self._readable = select.poll()
        self._readable.register(source, select.POLLIN)

    def send(self, message: bytes) -> None:
        """Send a message.

        Raises:
            BrokenPipeError: The other process has ended.
        """
        left = memoryview(len(message).to_bytes(_LENGTH, "big") + message)
        while left:
            left = left[os.write(self._target, left) :]

    def receive(self, within_s: float | None = None) -> bytearray:
        """Return the next message.

        Raises:
            EOFError: The other process has ended.
            TimeoutError: It takes longer; what was read of the message is lost.
        """
        until = None if within_s is None else time.monotonic() + within_s
        size = int.from_bytes(self._exactly(_LENGTH, until), "big")
        return self._exactly(size, until)

    def _exactly(self, size: int, until: float | None) -> bytearray:
        content = bytearray(size)
        left = memoryview(content)
        while left:
            if until is not None and not self._readable.poll(
                max(0.0, until - time.monotonic()) * 1000
            ):
                raise TimeoutError
            read = os.readv(self._source, [left])
            if not read:
                raise EOFError
            left = left[read:]
        return content


def pipes_to_parent() -> Pipes:
    """Return the pipes of a process that `Child` started; standard output becomes its log."""
    source, target = os.dup(0), os.dup(1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return Pipes(source, target)


class Child(Pipes):
    """A process that runs a module of this library, which finds what this process finds.

    Args:
        module: Run as `python -m module`; calls `pipes_to_parent`.
        arguments: Of its command line.
        folder: Where it runs; here by default.
        silent: Whether its log is thrown away.

    Raises:
        OSError: It could not be started.
    """

    def __init__(
        self, module: str, *arguments: str, folder: str | None = None, silent: bool = False
    ) -> None:
        path = os.pathsep.join(each for each in sys.path if each)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            bufsize=0,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if silent else None,
            start_new_session=True,  # an interrupt at the terminal is for who started it
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._from, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        super().__init__(self._from.fileno(), self._to.fileno())

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def ask(self, message: bytes, within_s: float | None = None) -> bytearray:
        """Send a message and return the answer.

        Raises:
            EOFError: The process has ended.
            TimeoutError: The answer takes longer; the process is of no use any more.
        """
        try:
            self.send(message)
        except BrokenPipeError as error:
            raise EOFError from error
        return self.receive(within_s)

    def close(self, within_s: float) -> int:
        """End the process, by force after a time; return its exit code."""
        with contextlib.suppress(OSError):
            self._to.close()
        try:
            code = self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._from.close()
        return code
