"""What operators see of a run: endpoints, lineage events, a log of its batches, warnings.

Invariant: none of it holds up a batch or fails a run that has started.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from joinery.errors import JoineryError
from joinery.model.progress import BatchProgress, Progress
from joinery.model.warning import RunWarning
from joinery.observe.http import RunEndpoints
from joinery.observe.lineage import Dataset, Job, Lineage
from joinery.plan.nodes import Plan, Product, Sink
from joinery.project.kinds import SINKS, SOURCES, Registry
from joinery.project.product import ProjectSpec, SourceSpec
from joinery.sources.warning import spec_warnings
from joinery.spark.source.source import sources_of

log = logging.getLogger("joinery.run")


class RunObserver:
    """Tells operators of one run.

    Args:
        spec: Says where endpoints and lineage events go, if anywhere.
        queries: The products of each query.
        progress: Returns the run as it stands.
    """

    def __init__(
        self,
        spec: ProjectSpec,
        queries: Mapping[str, Sequence[Product]],
        progress: Callable[[], Progress],
    ) -> None:
        self._spec = spec
        self._queries = queries
        self._endpoints = RunEndpoints(spec.run.http, progress) if spec.run.http else None
        self._lineage = Lineage(dict(spec.run.lineage)) if spec.run.lineage else None

    def open(self) -> None:
        """Serve the endpoints.

        Raises:
            HttpError: Their address cannot be used.
        """
        if self._endpoints is not None:
            address = self._endpoints.open()
            log.info("endpoints are served", extra={"address": address})

    def started(self) -> None:
        """Tell that all queries have started."""
        log.info("run started", extra={"project": self._spec.name, "queries": [*self._queries]})
        if self._endpoints is not None:
            self._endpoints.started.set()
        if self._lineage is not None:
            self._lineage.start([_job(self._spec, *each) for each in self._queries.items()])

    def batch(self, batch: BatchProgress) -> None:
        """Tell of one batch."""
        log.info("batch committed", extra=batch.to_json())
        if batch.dead:
            log.warning("dead letters were kept", extra=_dead_letters(batch))
        if self._lineage is not None:
            self._lineage.batch(batch.query)

    def abandon(self) -> None:
        """Stop serving, for a run that never started."""
        if self._endpoints is not None:
            self._endpoints.close()

    def close(self, failure: Exception | None) -> None:
        """Tell how the run ended, and stop serving."""
        if failure is not None:
            log.error(
                "run failed", extra={"code": getattr(failure, "code", ""), "why": str(failure)}
            )
        else:
            log.info("run ended", extra={"project": self._spec.name})
        if self._lineage is not None:
            self._lineage.end(failed=failure is not None)
        if self._endpoints is not None:
            self._endpoints.close()


def _dead_letters(batch: BatchProgress) -> dict[str, object]:
    found = {name: counts["dead"] for name, counts in batch.relations.items() if counts.get("dead")}
    facts = {"query": batch.query, "batch": batch.batch_id, "dead": batch.dead}
    return {**facts, "relations": found, "hint": "See joinery dlq list."}


def _job(spec: ProjectSpec, query: str, products: Sequence[Product]) -> Job:
    folder = spec.path_of(".")
    inputs = [
        _dataset(each.source, topic, SOURCES, folder)
        for each in sources_of(spec, products)
        for topic in each.relations
    ]
    outputs = [
        _dataset(sink, product.name, SINKS, folder)
        for product in products
        for sink in product.sinks
    ]
    return Job(query, inputs, outputs)


def _dataset(part: SourceSpec | Sink, name: str, kinds: Registry, folder: Path) -> Dataset:
    """Return the namespace and name of what is read or written (OpenLineage's), no secrets."""
    target = kinds.target(part.kind, dict(part.options), name, folder)
    if target is None:
        return Dataset(part.kind, name)
    match target.kind:
        case "kafka":
            return Dataset(f"kafka://{target.address}", target.name)
        case "files":
            return Dataset("file", f"{target.address}/{target.name}")
        case "sqlite":
            return Dataset("file", str(target.address))
        case other:
            return Dataset(other, target.name)


def start_warnings(spec: ProjectSpec, plan: Plan) -> Iterator[RunWarning]:
    """Yield what can be seen before anything is read."""
    yield from (_declared(each) for each in plan.warnings)
    yield from spec_warnings(spec)


def batch_warnings(batch: BatchProgress) -> Iterator[RunWarning]:
    """Yield what a batch counted that someone should look at."""
    for relation, counts in batch.relations.items():
        if wrong := counts.get("wrong_format"):
            yield _wrong_format(relation, wrong, counts.get("read", wrong))
        for counter, (code, message, hint) in _COUNTED.items():
            if counts.get(counter):
                about = f'relation "{relation}"'
                yield RunWarning(code=code, about=about, message=f"{about}: {message}", hint=hint)


def stale_warnings(progress: Progress) -> Iterator[RunWarning]:
    """Yield the relations nearly all of whose latest changes were stale."""
    for relation, each in progress.staleness.items():
        if each.nearly_all:
            about = f'relation "{relation}"'
            yield RunWarning(
                code="WARN_MOSTLY_STALE",
                about=about,
                message=f"{about}: nearly all of its changes are stale",
                detail="By position they are older than what is stored, so they are ignored.",
                hint=_STALE_HINT,
            )


_STALE_HINT = (
    "If its database was restored or replaced, or its topic was given more partitions, positions"
    " began again: rebuild the documents (joinery run --rebuild). If an old part of the log is"
    " read again, there is nothing to do."
)


def _wrong_format(relation: str, wrong: int, read: int) -> RunWarning:
    about = f'relation "{relation}"'
    return RunWarning(
        code="WARN_FORMAT",
        about=about,
        message=f"{about}: {wrong:,} of {read:,} records look like debezium-json, not json",
        detail="They are dead letters with reason wrong_format.",
        hint=f"Write format: debezium-json under {about}, or under defaults; then joinery run"
        " --rebuild reads everything again.",
    )


_COUNTED = {
    "truncates": (
        "WARN_TRUNCATED",
        "its table was truncated at the source, which a change stream cannot replay; its rows"
        " stay in the documents",
        "Delete them there one by one, or start on a fresh checkpoint.",
    ),
    "unavailable_values": (
        "WARN_VALUES_UNAVAILABLE",
        "a change of key left out large values, which are null now",
        "Run ALTER TABLE … REPLICA IDENTITY FULL at the source, then update these rows.",
    ),
}


def _declared(error: JoineryError) -> RunWarning:
    return RunWarning(
        code=error.code,
        about=str(error.location or error.message),
        message=error.message,
        detail=error.detail,
        hint=error.hint,
        location=error.location,
    )
