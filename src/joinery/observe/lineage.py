"""OpenLineage events of a run: which topics each query reads, which targets it writes.

A query is a job; each run of it gives START, RUNNING at most once a minute, then COMPLETE or
FAIL (https://openlineage.io/docs/spec/run-cycle). Invariant: an event that cannot be sent is
logged and never holds up or fails a run.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from joinery._version import __version__
from joinery.errors import RunError, needs_extra

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import RunEvent

_PRODUCER = f"urn:joinery:{__version__}"
_RUNNING_S = 60.0
_TIMEOUT_S = 5.0
_CLOSING_S = 5.0
log = logging.getLogger(__name__)


class LineageMissingError(RunError):
    """The library that sends OpenLineage events is not installed."""

    code = "RUN_LINEAGE"


@dataclass(frozen=True, slots=True)
class Dataset:
    """Something that is read or written, in OpenLineage's naming."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Job:
    """A query, what it reads and what it writes."""

    name: str
    inputs: Sequence[Dataset]
    outputs: Sequence[Dataset]


class Lineage:
    """Sends the events of one run.

    Args:
        options: `url`, and perhaps `namespace` and `api_key`.

    Raises:
        LineageMissingError: `openlineage-python` is not installed.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._namespace = options.get("namespace", "joinery")
        self._client = _client(options)
        self._jobs: dict[str, tuple[Job, str]] = {}
        self._told_at: dict[str, float] = {}
        self._sender = ThreadPoolExecutor(max_workers=1, thread_name_prefix="joinery-lineage")

    def start(self, jobs: Sequence[Job]) -> None:
        """Tell that the queries start."""
        for job in jobs:
            self._jobs[job.name] = (job, str(uuid.uuid4()))
            self._send("START", job.name)

    def batch(self, query: str) -> None:
        """Tell that a query goes on, unless that was told just now."""
        if time.monotonic() - self._told_at.get(query, 0.0) >= _RUNNING_S:
            self._send("RUNNING", query)

    def end(self, *, failed: bool) -> None:
        """Tell that all queries ended."""
        for query in self._jobs:
            self._send("FAIL" if failed else "COMPLETE", query)
        last = self._sender.submit(lambda: None)
        wait([last], timeout=_CLOSING_S)
        self._sender.shutdown(wait=False, cancel_futures=True)

    def _send(self, state: str, query: str) -> None:
        from openlineage.client.event_v2 import InputDataset, OutputDataset, Run, RunEvent, RunState
        from openlineage.client.event_v2 import Job as JobFacts

        if query not in self._jobs:
            return
        job, run_id = self._jobs[query]
        self._told_at[query] = time.monotonic()
        event = RunEvent(
            eventType=getattr(RunState, state),
            eventTime=datetime.now(UTC).isoformat(),
            run=Run(runId=run_id),
            job=JobFacts(namespace=self._namespace, name=job.name),
            producer=_PRODUCER,
            inputs=[InputDataset(each.namespace, each.name) for each in job.inputs],
            outputs=[OutputDataset(each.namespace, each.name) for each in job.outputs],
        )
        self._sender.submit(self._emit, event, query)

    def _emit(self, event: RunEvent, query: str) -> None:
        try:
            self._client.emit(event)
        except Exception as error:
            facts = {"query": query, "why": type(error).__name__}
            log.warning("a lineage event could not be sent", extra=facts)


def _client(options: Mapping[str, str]) -> OpenLineageClient:
    with needs_extra("lineage", "lineage events need openlineage-python", LineageMissingError):
        from openlineage.client import OpenLineageClient
    transport: dict[str, Any] = {"type": "http", "url": options["url"], "timeout": _TIMEOUT_S}
    if key := options.get("api_key"):
        transport["auth"] = {"type": "api_key", "apiKey": key}
    return OpenLineageClient(config={"transport": transport})
