"""A pulse through the whole chain: a row is committed, until its document shows it.

One user's only pull request gets a new title again and again. The time runs from the return
of PostgreSQL's commit to the first read by id in which the document has the title.

Limits: what is measured includes up to `_POLL_S`, and the machine's own load.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from joinery.testing.github_database import Act, GithubDatabase

EMAIL = "pulse@example.com"
_POLL_S = 0.01
_GIVEN_UP_S = 30.0
_KEPT = 600
_BEAT_S = 1.0  # from one beat's arrival to the next beat
_AT = "2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Latencies:
    """How long the last beats took, in seconds.

    Attributes:
        count: How many beats arrived so far.
        p50: The median of those kept.
        p95: What 95 of 100 stay below.
    """

    count: int
    p50: float
    p95: float


class LatencyProbe:
    """Commits a change again and again, and waits until the document shows it.

    Args:
        url: Of the database.
        read: Returns the document of an email, or None.
    """

    def __init__(self, url: str, read: Callable[[str], Mapping[str, Any] | None]) -> None:
        self._url = url
        self._read = read
        self._took: deque[float] = deque(maxlen=_KEPT)
        self._count = 0

    def beats(self) -> Latencies | None:
        """Return what was measured, once there are two beats."""
        took = list(self._took)
        if len(took) < 2:
            return None
        cuts = statistics.quantiles(took, n=20, method="inclusive")
        return Latencies(self._count, statistics.median(took), cuts[-1])

    def run(self, stop: threading.Event) -> None:
        """Beat until `stop`; the first beat, which waits for the run to start, is not counted."""
        with GithubDatabase(self._url) as database:
            database.commit(_first_rows())
            self._arrived(_title(0), stop)
            number = 0
            while not stop.wait(_BEAT_S):
                number += 1
                database.commit([_beat(number)])
                took = self._arrived(_title(number), stop)
                if took is not None:
                    self._took.append(took)
                    self._count += 1

    def _arrived(self, title: str, stop: threading.Event) -> float | None:
        """Wait until the document shows `title`; None if `stop` or patience came first."""
        began_at = time.monotonic()
        while time.monotonic() - began_at < _GIVEN_UP_S or self._count == 0:
            document = self._read(EMAIL)
            pulls = document["pull_requests"] if document else []
            if any(each["title"] == title for each in pulls):
                return time.monotonic() - began_at
            if stop.wait(_POLL_S):
                return None
        return None


def _title(number: int) -> str:
    return f"Beat {number}"


def _row(number: int) -> str:
    return (
        f'{{"title":"{_title(number)}","repo":"pulse","repo_owner":"pulse","index":1,'
        f'"author":"pulse","status":"open","created_at":"{_AT}"}}'
    )


def _first_rows() -> list[Act]:
    user = f'{{"id":-1,"email":"{EMAIL}","username":"pulse","registered_at":"{_AT}"}}'
    return [Act("user", "insert", (user,)), Act("pull_request", "insert", (_row(0),))]


def _beat(number: int) -> Act:
    return Act("pull_request", "update", (_row(number), _row(number - 1)))
