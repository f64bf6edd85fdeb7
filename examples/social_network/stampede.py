"""Recovery with a cold cache: what the profile service sees, with guards off and on.

Off is what enrichment by hand does: each task asks for each event's row as it comes, many
at a time, and nobody knows what another is asking for. On is the asker of
`read="database"`: distinct keys in sets, each asked once, at a declared rate.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from examples.social_network.service import ProfileService

from joinery.lookups.asker import Asker
from joinery.lookups.protocol import LookupTable
from joinery.lookups.registry import make_store
from joinery.model.type import LONG, STRING, Field
from joinery.project.step import Cache, Limits
from joinery.testing.load import quantile

_COLUMNS = (Field("id", LONG), Field("name", STRING), Field("title", STRING))
_TABLE = LookupTable("profiles", _COLUMNS[:1], _COLUMNS)
_TASKS = 32
GUARDS = Limits(concurrency=2, per_second=50, batch=500, warm_up_ms=1000)


@dataclass(frozen=True, slots=True)
class Recovery:
    """How a backlog was caught up.

    Attributes:
        events: Of the backlog.
        seconds: Until all were enriched.
        requests: That the service saw.
        rates: Requests a second, a quarter of a second each.
        other_p99_ms: What another user of the service waited meanwhile.
    """

    events: int
    seconds: float
    requests: int
    rates: tuple[float, ...]
    other_p99_ms: float


def recover(backlog: Sequence[int], service: ProfileService, *, guarded: bool) -> Recovery:
    """Enrich a backlog of views by their viewers, while another uses the service too."""
    service.forget()
    over = threading.Event()
    with service.served() as url, ThreadPoolExecutor(1) as aside:
        other = aside.submit(_another_user, service, over)
        begun = time.monotonic()
        found = _guarded(backlog, url) if guarded else _unguarded(backlog, url)
        seconds = time.monotonic() - begun
        over.set()
        waits_ms = sorted(other.result())
    assert len(backlog) == found, f"{found} of {len(backlog)} views found their viewer"
    return Recovery(
        events=len(backlog),
        seconds=seconds,
        requests=len(service.asked_at),
        rates=tuple(service.rates()),
        other_p99_ms=quantile(waits_ms, 0.99),
    )


def _guarded(backlog: Sequence[int], url: str) -> int:
    asker = Asker(make_store("http", _TABLE, {"url": url}, Path()), Cache(), GUARDS)
    asker.open()
    try:
        answers = asker.ask((viewer,) for viewer in backlog)
    finally:
        asker.close()
    return sum(answers[viewer,] is not None for viewer in backlog)


def _unguarded(backlog: Sequence[int], url: str) -> int:
    store = make_store("http", _TABLE, {"each": f"{url}/{{id}}"}, Path())
    store.open()
    try:
        with ThreadPoolExecutor(_TASKS) as tasks:
            return sum(tasks.map(lambda viewer: len(store.fetch([(viewer,)])), backlog))
    finally:
        store.close()


def _another_user(service: ProfileService, over: threading.Event) -> list[float]:
    """Ask for a profile now and then; return how long each took, in milliseconds."""
    waits_ms: list[float] = []
    while not over.wait(0.005):
        begun = time.perf_counter()
        service.give([0], noted=False)
        waits_ms.append((time.perf_counter() - begun) * 1000)
    return waits_ms
