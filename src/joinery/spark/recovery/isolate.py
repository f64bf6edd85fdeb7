"""Finds the records that make workers fail, by halving, in processes apart from the run.

A batch that failed twice in its own work is copied, and parts of it are tried by a process
that may die of them; what fails alone is noted in the quarantine of the query.

Limits: a record that fails only beside the state of its keys is not found; the batch then
fails as before, and says so.

Invariant: the checkpoint is only read, and a record is noted only after it failed alone.
"""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from joinery.project.load import dump_spec
from joinery.project.product import ProjectSpec
from joinery.spark.recovery.attempt import ENOUGH, Attempts, Failures
from joinery.spark.recovery.quarantine import PoisonPlace, Quarantine

log = logging.getLogger(__name__)
_PROBE = ("-m", "joinery.spark.recovery.probe")
_MOST_TRIES = 400
_DIED = "the process that tried it died"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A query whose next batch failed before.

    Attributes:
        query: Its name.
        root: `run.checkpoint`.
        checkpoint: The query's own.
    """

    query: str
    root: Path
    checkpoint: Path


def isolate(spec: ProjectSpec, suspect: Suspect) -> tuple[PoisonPlace, ...]:
    """Search the next batch of a query for poison, if it failed often enough.

    Returns:
        What was found and noted.
    """
    attempts = Attempts(suspect.checkpoint.parent, suspect.query)
    failures = attempts.read()
    if failures is None or failures.count < ENOUGH or failures.searched:
        return ()
    facts = {"query": suspect.query, "batch": failures.batch_id, "failures": failures.count}
    log.warning("searching a batch for records that make it fail", extra=facts)
    with _Prober(spec, suspect, failures) as prober:
        found = prober.search()
    Quarantine(suspect.root, suspect.query).add(found)
    attempts.searched(failures)
    log.warning("searched a batch", extra={**facts, "poison": len(found)})
    return found


class _Prober:
    """Tries parts of a batch in a process, and starts another where that one died."""

    def __init__(self, spec: ProjectSpec, suspect: Suspect, failures: Failures) -> None:
        self._folder = suspect.root / "_isolation" / suspect.query
        self._told = {
            "query": suspect.query,
            "root": str(suspect.root),
            "checkpoint": str(suspect.checkpoint),
            "folder": str(self._folder),
            "batch": failures.batch_id,
            "project": dump_spec(spec),
            "project_folder": str(spec.folder.absolute()),
        }
        self._process: subprocess.Popen[str] | None = None
        self._count = 0
        self._tries = 0
        self._found: list[PoisonPlace] = []

    def __enter__(self) -> Self:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        return self

    def __exit__(self, *failure: object) -> None:
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def search(self) -> tuple[PoisonPlace, ...]:
        """Return the places of all records that fail alone."""
        if not self._start():
            return ()
        waiting = [(0, self._count)]
        while waiting and self._tries < _MOST_TRIES:
            first, end = waiting.pop()
            self._tries += 1
            if not self._ask([first, end, "try"]).get("why", _DIED):
                continue
            if end - first > 1:
                middle = (first + end) // 2
                waiting += [(middle, end), (first, middle)]
            else:
                self._note(first)
        return tuple(self._found)

    def _note(self, number: int) -> None:
        told = self._ask([number, number, "place"]).get("place")
        if told is not None:
            self._found.append(PoisonPlace(**{**told, "topics": tuple(told["topics"])}))

    def _ask(self, question: Sequence[Any]) -> dict[str, Any]:
        """Return the answer; nothing where the process died, which is started anew then."""
        if self._process is None and not self._start():
            return {}
        assert self._process is not None  # started just now
        answer = _exchange(self._process, question)
        if answer is None:
            self._end()
            return {}
        return answer

    def _start(self) -> bool:
        self._process = subprocess.Popen(
            [sys.executable, *_PROBE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        answer = _exchange(self._process, self._told)
        if answer is None:
            self._end()
            return False
        self._count = int(answer["count"])
        return True

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            _close(stream)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _exchange(process: subprocess.Popen[str], question: object) -> dict[str, Any] | None:
    """Send one line and return the answer; None where the process is gone."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(f"{json.dumps(question)}\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        return None
    if not line.endswith("\n"):
        return None
    answer: dict[str, Any] = json.loads(line)
    return answer


def _close(stream: IO[str] | None) -> None:
    try:
        if stream is not None:
            stream.close()
    except BrokenPipeError:
        return
