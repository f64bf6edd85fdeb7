"""The JVM that finds changes in logs, which starts while Python imports what asks it.

Half of what a question takes before any record is read is that start, the other half those
imports; so this module needs little of them.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from joinery.spark.source.log_jvm import OUT_OF_MEMORY, log_jvm

_DOOR = "dev.joinery.kernel.door.LogSearch"


class TooManyChangesError(Exception):
    """A search needs more memory than its process may have: some 48 bytes a change."""


class SearchProcess:
    """A process that answers questions of one search; closed once.

    Args:
        jars: What it needs beside Spark's jars and the kernel's.

    Raises:
        RunError: Java is missing.
    """

    def __init__(self, jars: Sequence[Path] = ()) -> None:
        self._jars = frozenset(jars)
        self._log = tempfile.TemporaryFile(prefix="joinery-")  # noqa: SIM115 - closed with it
        pipe = subprocess.PIPE
        command = log_jvm(_DOOR, *jars)
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
        """Write lines that belong to a question.

        Raises:
            FileFeedError: It has ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.writelines(lines)
            self._process.stdin.flush()
        except BrokenPipeError:
            self._fail()

    def answer(self) -> bytes:
        """Return the answer to the question that was asked first.

        Raises:
            FileFeedError: The logs cannot be read.
            TooManyChangesError: It needs more memory than it has.
        """
        assert self._process.stdout is not None
        head = self._process.stdout.read(4)
        size = int.from_bytes(head, "big")
        found = self._process.stdout.read(size)
        if len(head) < 4 or len(found) < size:
            self._fail()
        return found

    def _fail(self) -> None:
        from joinery.spark.source.file_request import FileFeedError

        self._process.wait()
        self._log.seek(0)
        told = self._log.read().decode(errors="replace")
        if OUT_OF_MEMORY in told:
            raise TooManyChangesError
        raise FileFeedError.of(told, "the logs")

    def close(self) -> None:
        """Let it go; what it holds is not needed any more."""
        self._process.kill()
        self._process.communicate()
        self._log.close()
