"""Several processes that make documents beside the one that writes.

Requests wait in one line, from which each process takes the next one when it is done; this
one, too. They are started with the first requests.

`python -m joinery.solutions.stored.crew` is such a process: it takes a `Task`, then requests,
each a pickle after its length, and answers each; it ends with its input, so it does not outlive
who started it.

Limits: the pickles are those of this library's own processes; nobody else writes to the pipes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Protocol

from joinery.processor import usable_processors
from joinery.solutions.stored.emit import Answer, Request
from joinery.solutions.stored.reading import Reading, Task
from joinery.solutions.stored.state import StoreUnavailableError

_LENGTH = 8
_PIPE_BYTES = 1 << 20
_END_S = 5.0


class ReadingProcess:
    """A process of its own that answers requests, one after the other.

    Args:
        task: A pickled `Task`.

    Raises:
        StoreUnavailableError: It could not be started.
    """

    def __init__(self, task: bytes) -> None:
        path = os.pathsep.join(each or str(Path.cwd()) for each in sys.path)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # an interrupt is for who started it
            )
        except OSError as error:
            raise StoreUnavailableError(
                "a process that makes documents could not be started",
                detail=f"{error}.",
                hint="Say processes: 1 in the solution's options to do without.",
            ) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        if (resize := getattr(fcntl, "F_SETPIPE_SZ", None)) is not None:
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._from, resize, _PIPE_BYTES)
        self._task: bytes | None = task

    def answer(self, request: Request) -> Answer:
        """Return what the documents of some roots came to.

        Raises:
            StoreError: The store cannot be read.
            StoreUnavailableError: The process is gone.
        """
        try:
            if self._task is not None:
                _write(self._to, self._task)
                self._task = None
            _write(self._to, pickle.dumps(request, protocol=5))
            answered = pickle.loads(_read(self._from))
        except (OSError, EOFError) as error:
            code = self._process.poll()
            raise StoreUnavailableError(
                "a process that makes documents is gone",
                detail="" if code is None else f"It ended with {code}.",
            ) from error
        if isinstance(answered, BaseException):
            raise answered
        return answered  # type: ignore[no-any-return]

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            self._to.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._from.close()


def _write(stream: IO[bytes], content: bytes) -> None:
    stream.write(len(content).to_bytes(_LENGTH, "big"))
    stream.write(content)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes:
    size = int.from_bytes(_exactly(stream, _LENGTH), "big")
    return _exactly(stream, size)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


def _answered(reading: Reading, content: bytes) -> Any:
    try:
        return reading.answer(pickle.loads(content))
    except Exception as error:
        return error


def main() -> None:
    """Answer requests until the input ends."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", buffering=_PIPE_BYTES)
    os.dup2(2, 1)  # what a driver prints is no answer
    reading: Reading | None = None
    failure: Exception | None = None
    task: Task = pickle.loads(_read(source))
    try:
        reading = Reading(task)
    except Exception as error:
        failure = error
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            content = _read(source)
            answer = failure if reading is None else _answered(reading, content)
            _write(target, pickle.dumps(answer, protocol=5))
    if reading is not None:
        reading.close()


if __name__ == "__main__":
    main()


Ask = Callable[[Request], Answer]
_MOST = 4
_DEEPEST = 10_000


def crew_of(task: Task | None, processes: object) -> Crew | None:
    """Return the crew of a solution with the option `processes`; None for this process alone.

    Args:
        task: What the processes have to know; None where the store cannot be read elsewhere.
        processes: The option; None where it is not given.
    """
    size = processors() if processes is None else int(str(processes))
    return Crew(task, size) if task is not None and size > 1 else None


def processors() -> int:
    """Return how many processes make documents where nobody says it: one a processor, up to 4."""
    return min(_MOST, usable_processors())


class Team(Protocol):
    """Who answers requests beside the process that writes."""

    size: int

    def answers(self, requests: Sequence[Request], here: Ask) -> list[Answer]:
        """Return the answers to all requests, in their order; `here` answers in this process."""

    def close(self) -> None:
        """End all that was started."""


def _pickled(task: Task) -> bytes:
    """Return the pickle of a task, whose expressions may be as deep as any that can be read.

    `pickle` goes a few calls down for each level of a tree.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEPEST))
    try:
        return pickle.dumps(task, protocol=5)
    finally:
        sys.setrecursionlimit(limit)


class Crew:
    """Processes of this machine.

    Args:
        task: What they have to know.
        size: How many there are, this one included.
    """

    def __init__(self, task: Task, size: int) -> None:
        self.size = size
        self._task = _pickled(task)
        self._processes: list[ReadingProcess] = []
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="joinery-crew")

    def answers(self, requests: Sequence[Request], here: Ask) -> list[Answer]:
        """Return the answers to all requests, in their order; `here` answers in this process.

        Raises:
            StoreError: One of them could not be answered.
        """
        while len(self._processes) < self.size - 1:
            self._processes.append(ReadingProcess(self._task))
        waiting = deque(enumerate(requests))
        answers: dict[int, Answer] = {}

        def work(ask: Ask) -> None:
            while True:
                try:
                    at, request = waiting.popleft()
                except IndexError:
                    return
                answers[at] = ask(request)

        beside = [self._threads.submit(work, each.answer) for each in self._processes]
        try:
            work(here)
        finally:
            waiting.clear()
            failures = [each.exception() for each in beside]
        for failure in failures:
            if failure is not None:
                raise failure
        return [answers[at] for at in range(len(requests))]

    def close(self) -> None:
        """End the processes."""
        self._threads.shutdown()
        for each in self._processes:
            each.close()
        self._processes = []
