"""Several processes that make documents beside the one that writes.

Requests wait in one line, from which each process takes the next one when it is done; this
one, too. They are started with the first requests.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from joinery.processor import usable_processors
from joinery.solutions.stored.emit import Answer, Request
from joinery.solutions.stored.reading import Task
from joinery.solutions.stored.reading_process import ReadingProcess

Ask = Callable[[Request], Answer]
_MOST = 4


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


class Crew:
    """Processes of this machine.

    Args:
        task: What they have to know.
        size: How many there are, this one included.
    """

    def __init__(self, task: Task, size: int) -> None:
        self.size = size
        self._task = pickle.dumps(task, protocol=5)
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
