"""Has one JVM answer what tests ask of doors of the kernel, which have a JVM for each question.

That JVM costs two processor seconds, nearly all of them its start. Commands that tests start have
their own as ever, and so has a test that takes `own_jvms`.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Timer
from types import SimpleNamespace
from typing import IO, Any

import pytest

_DOORS = Path(__file__).parents[1] / "kernel/src/test/java/dev/joinery/kernel/door/WarmDoors.java"
_NAMES = ("FileFeed", "LogSearch", "CommittedDocuments")
_WARM = frozenset(f"dev.joinery.kernel.door.{each}" for each in _NAMES)
_MOST_IDLE = 2
_ENDING_S = 30.0


class _Jvm:
    """A JVM that runs one door after the other; see `WarmDoors`."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.command = command
        pipe = subprocess.PIPE
        self._said = tempfile.TemporaryFile(prefix="joinery-")  # noqa: SIM115 - closed with it
        self.process = subprocess.Popen(
            [*command, str(_DOORS)], stdin=pipe, stdout=pipe, stderr=self._said
        )

    def send(self, part: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(len(part).to_bytes(4, "big") + part)
        self.process.stdin.flush()

    def part(self) -> bytes | None:
        """Return the next part of an output; None at its end."""
        head = int.from_bytes(self._exactly(4), "big", signed=True)
        return None if head < 0 else self._exactly(head)

    def _exactly(self, size: int) -> bytes:
        assert self.process.stdout is not None
        found = self.process.stdout.read(size)
        if len(found) < size:
            raise EOFError
        return found

    def said(self) -> bytes:
        """Return what it has written of its end, which is waited for."""
        self.process.wait()
        self._said.seek(0)
        return self._said.read() or b"it has ended"

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()
        self._said.close()


_idle: list[_Jvm] = []


def _jvm(command: tuple[str, ...]) -> _Jvm:
    """Return a JVM with some options that is free; the one that was free for longest ends."""
    for each in [each for each in _idle if each.process.poll() is not None]:
        _idle.remove(each)
        each.end()
    for each in _idle:
        if each.command == command:
            _idle.remove(each)
            return each
    if len(_idle) >= _MOST_IDLE:
        _idle.pop(0).end()
    return _Jvm(command)


class _Door:
    """The run of a door, as what `subprocess.Popen` gives: the streams, the end."""

    def __init__(self, command: Sequence[str], log: IO[bytes]) -> None:
        # Where it leaves what it needs for itself alone is gone with the one that began it.
        options = tuple(each for each in command[:-1] if not each.startswith("-Djava.io.tmpdir="))
        self._jvm, self._log = _jvm(options), log
        self._left, self._over = b"", False
        self.stdin = self.stdout = self
        self.returncode: int | None = None
        self._jvm.send(command[-1].encode())

    def writelines(self, lines: Iterable[bytes]) -> None:
        if not self._over and (part := b"".join(lines)):
            self._jvm.send(part)

    def flush(self) -> None:
        """Each part is sent as it is written."""

    def read(self, size: int | None = None) -> bytes:
        """Return so many bytes of the output, fewer at its end; without a number all."""
        while (size is None or len(self._left) < size) and self._read_on():
            pass
        found, self._left = self._left[:size], self._left[len(self._left[:size]) :]
        return found

    def _read_on(self) -> bool:
        """Take the next part; return False at the end."""
        if self.returncode is not None:
            return False
        try:
            if (part := self._jvm.part()) is not None:
                self._left += part
                return True
            error = self._jvm.part() or b""
        except EOFError:
            error = self._jvm.said()
        self._log.write(error)
        self.returncode = int(bool(error))
        return False

    def over(self) -> None:
        """End the input."""
        if not self._over:
            self._over = True
            with suppress(BrokenPipeError):
                self._jvm.send(b"")

    def wait(self) -> int:
        self.over()
        self.read()
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """Let the JVM go, which others may take where all went well, and which ends if it hangs."""
        limit = Timer(_ENDING_S, self._jvm.process.kill)
        limit.start()
        failed = self.wait()
        limit.cancel()
        if failed:
            self._jvm.end()
        else:
            _idle.append(self._jvm)

    def communicate(self) -> None:
        """It was let go."""


def _popen(command: Sequence[str], *, stderr: IO[bytes], **pipes: Any) -> Any:
    if command[-1] not in _WARM:
        return subprocess.Popen(command, stderr=stderr, **pipes)
    return _Door(command, stderr)


def _run(
    command: Sequence[str], *, input: str, **options: bool
) -> subprocess.CompletedProcess[str]:
    """Run a door over an input."""
    with tempfile.TemporaryFile() as log:
        door = _Door(command, log)
        try:
            door.writelines([input.encode()])
            door.over()
            told = door.read().decode()
            code = door.wait()
        finally:
            door.kill()
        log.seek(0)
        return subprocess.CompletedProcess(command, code, told, log.read().decode())


_DOOR, _FEED = (f"joinery.spark.source.{each}.subprocess" for each in ("door_process", "file_feed"))


def install(patch: pytest.MonkeyPatch) -> None:
    """Have doors that are asked for in this process share a JVM from here on."""
    patch.setattr(_DOOR, SimpleNamespace(Popen=_popen, PIPE=subprocess.PIPE))
    patch.setattr(_FEED, SimpleNamespace(run=_run))


def end_all() -> None:
    """End the JVMs that wait for further questions."""
    while _idle:
        _idle.pop().end()


@pytest.fixture
def own_jvms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each door has a JVM of its own, as it does where no test asks."""
    monkeypatch.setattr(_DOOR, subprocess)
    monkeypatch.setattr(_FEED, subprocess)
