"""A JVM of its own that answers questions at a door of the kernel.

It starts while Python imports what asks it: half of what a question takes is that start, the other
half those imports; so this module needs little of them.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from joinery.spark.source.log_jvm import log_jvm


class DoorProcess:
    """A process that takes questions, a line each, and answers them in order; closed once.

    Args:
        door: The class of the kernel whose `main` it is.
        failure: Returns the error of a process that ended, by what it wrote last.
        jars: What it needs beside Spark's jars and the kernel's.

    Raises:
        RunError: Java is missing.
    """

    def __init__(
        self, door: str, failure: Callable[[str], Exception], jars: Sequence[Path] = ()
    ) -> None:
        self._failure, self._jars = failure, frozenset(jars)
        self._log = tempfile.TemporaryFile(prefix="joinery-")  # noqa: SIM115 - closed with it
        self._scratch = tempfile.TemporaryDirectory(prefix="joinery-", ignore_cleanup_errors=True)
        pipe = subprocess.PIPE
        command = log_jvm(door, *jars, scratch=Path(self._scratch.name))
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def has(self, jars: Collection[Path]) -> bool:
        """Say whether it was given some jars."""
        return self._jars.issuperset(jars)

    def ask(self, question: Mapping[str, Any]) -> None:
        """Ask a question, in one line."""
        self.write(f"{json.dumps(question)}\n".encode())

    def write(self, *lines: bytes) -> None:
        """Write lines that belong to a question; raises what `failure` returns if it ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.writelines(lines)
            self._process.stdin.flush()
        except BrokenPipeError:
            self._fail()

    def answer(self) -> bytes:
        """Return the answer to the question that was asked first; raises as `write` does."""
        assert self._process.stdout is not None
        head = self._process.stdout.read(4)
        size = int.from_bytes(head, "big")
        found = self._process.stdout.read(size)
        if len(head) < 4 or len(found) < size:
            self._fail()
        return found

    def _fail(self) -> None:
        self._process.wait()
        self._log.seek(0)
        raise self._failure(self._log.read().decode(errors="replace"))

    def close(self) -> None:
        """Let it go; what it holds is not needed any more."""
        self._process.kill()
        self._process.communicate()
        self._log.close()
        self._scratch.cleanup()
