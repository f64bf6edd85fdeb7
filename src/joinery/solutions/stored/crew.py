"""Several processes that make documents beside the one that writes.

Requests wait in one line, from which each process takes the next one when it is done; this
one, too. They are started with the first requests.

`python -m joinery.solutions.stored.crew` is such a process: it takes a `Task`, then requests,
each a pickle, and answers each.

Limits: the pickles are those of this library's own processes; nobody else writes to the pipes.
JSON would need a codec of keys, and took three times as long for 10,000 documents.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from joinery.child import Child, pipes_to_parent
from joinery.plan.aggregate import AggregateForm
from joinery.processor import usable_processors
from joinery.solutions.stored.emit import Answer, Request
from joinery.solutions.stored.reading import Reading, Task
from joinery.solutions.stored.state import StoreUnavailableError

_END_S = 5.0


class ReadingProcess:
    """A process of its own that answers requests, one after the other.

    Args:
        task: A pickled `Task`.

    Raises:
        StoreUnavailableError: It could not be started.
    """

    def __init__(self, task: bytes) -> None:
        try:
            self._process = Child(__name__)
        except OSError as error:
            raise StoreUnavailableError(
                "a process that assembles documents could not be started",
                detail=f"{error}.",
                hint="Set processes: 1 in the solution's options to do without them.",
            ) from error
        self._task: bytes | None = task

    def answer(self, request: Request) -> Answer:
        """Return what the documents of some roots came to.

        Raises:
            StoreError: The store cannot be read.
            StoreUnavailableError: The process is gone.
        """
        try:
            if self._task is not None:
                self._process.send(self._task)
                self._task = None
            content = self._process.ask(pickle.dumps(request, protocol=5))
        except (OSError, EOFError) as error:
            code = self._process.close(0.0)
            raise StoreUnavailableError(
                "a process that assembles documents is gone", detail=f"It ended with {code}."
            ) from error
        answered: Answer | BaseException = pickle.loads(content)
        if isinstance(answered, BaseException):
            raise answered
        return answered

    def close(self) -> None:
        """End the process."""
        self._process.close(_END_S)


def _answered(reading: Reading, content: bytearray) -> Any:
    try:
        return reading.answer(pickle.loads(content))
    except Exception as error:
        return error


def main() -> None:
    """Answer requests until the input ends."""
    parent = pipes_to_parent()
    reading: Reading | None = None
    failure: Exception | None = None
    task: Task = pickle.loads(parent.receive())
    try:
        reading = Reading(task)
    except Exception as error:
        failure = error
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            content = parent.receive()
            answer = failure if reading is None else _answered(reading, content)
            parent.send(pickle.dumps(answer, protocol=5))
    if reading is not None:
        reading.close()


Ask = Callable[[Request], Answer]
_MOST = 4
_DEEPEST = 10_000


def crew_of(task: Task | None, processes: int | None) -> Crew | None:
    """Return the crew of a solution with the option `processes`; None for this process alone.

    Args:
        task: What the processes have to know; None where the store cannot be read elsewhere.
        processes: The option; None where it is not given. Groups are summed up in this one alone.
    """
    if task is not None and any(isinstance(each.form, AggregateForm) for each in task.products):
        return None
    size = processors() if processes is None else processes
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


if __name__ == "__main__":
    main()
