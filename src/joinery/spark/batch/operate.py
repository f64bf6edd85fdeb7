"""What operators see of a run: endpoints, lineage events and a log of its batches.

Invariant: none of it holds up a batch or fails a run that has started.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from joinery.model.progress import BatchProgress, Progress
from joinery.observe.http import RunEndpoints
from joinery.observe.lineage import Dataset, Job, Lineage
from joinery.plan.nodes import Product
from joinery.project.product import ProjectSpec
from joinery.spark.source.source import sources_of

log = logging.getLogger("joinery.run")


class Operation:
    """The operator's view of one run.

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
    inputs = [
        Dataset(*_place(spec, each.source.kind, dict(each.source.options), topic))
        for each in sources_of(spec, products)
        for topic in each.relations
    ]
    outputs = [
        Dataset(*_place(spec, sink.kind, dict(sink.options), product.name))
        for product in products
        for sink in product.sinks
    ]
    return Job(query, inputs, outputs)


def _place(
    spec: ProjectSpec, kind: str, options: Mapping[str, object], name: str
) -> tuple[str, str]:
    """Return the namespace and name of a dataset (OpenLineage's naming), without secrets."""
    match kind:
        case "kafka":
            return f"kafka://{options.get('bootstrap', 'source')}", str(options.get("topic", name))
        case "files" | "sqlite":
            path = spec.path_of(str(options["path"]))
            return "file", str(path / name if kind == "files" else path)
        case _:
            table = options.get("table") or options.get("index") or name
            return kind, str(table)
