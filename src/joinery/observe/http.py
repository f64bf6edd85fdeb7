"""The HTTP endpoints of a run: `/metrics`, `/health`, `/ready` and `/wait`.

`/health` answers 200 while the run goes on. `/ready` answers 200 once all its queries have
started and nothing is waited for longer than its grace: 30 s for a sink or store, none for
sources, which were asked for some seconds before; else 503, with the reason. `/wait` answers 200
once a product shows what was written, 504 where the time is up, 400 where it cannot wait for it.

A run's progress as Prometheus metrics, made again at each scrape.

Invariant: a counter never falls while the run lasts.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from joinery.errors import JoineryError, RunError, needs_extra
from joinery.model.audit import AuditProgress
from joinery.model.batch import BatchProgress
from joinery.model.lookup import AGE_BOUNDS_S, LookupProgress
from joinery.model.progress import Progress
from joinery.model.watermark import SHARES
from joinery.observe.frontier import WaitError
from joinery.observe.wait import WaitTimeoutError

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_AGES = ("timed", "age_ms")


class MetricsMissingError(RunError):
    """The library that writes metrics is not installed."""

    code = "RUN_METRICS"


class ProgressMetrics:
    """Tells Prometheus how far a run is.

    Args:
        progress: Returns the run as it stands.
        ready: Returns whether the run has started, and waits for nothing.
    """

    def __init__(self, progress: Callable[[], Progress], ready: Callable[[], bool]) -> None:
        self._progress = progress
        self._ready = ready
        self._started_at = time.time()

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format.

        Raises:
            MetricsMissingError: `prometheus-client` is not installed.
        """
        with needs_extra("metrics", "metrics need prometheus-client", MetricsMissingError):
            from prometheus_client import CollectorRegistry, generate_latest
        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics; Prometheus' registry calls this."""
        progress = self._progress()
        yield from _run(self._started_at, ready=self._ready())
        yield from _counted(progress)
        yield from _latest(list(progress.latest.values()))
        yield from _frontiers(progress)
        yield from _event_times(list(progress.latest.values()))
        yield from _waiting(progress)
        yield from _lookups(progress.lookups)
        yield from _audits(progress.audits.values())


def _run(started_at: float, *, ready: bool) -> Iterator[Metric]:
    """Yield what is there from the first scrape on, before Spark has started."""
    from prometheus_client.core import GaugeMetricFamily

    yield GaugeMetricFamily("joinery_up", "1 while the run responds.", value=1)
    yield GaugeMetricFamily("joinery_ready", "Whether /ready returns 200.", value=float(ready))
    yield GaugeMetricFamily(
        "joinery_run_started_timestamp_seconds", "When the run started.", value=started_at
    )


def _counted(progress: Progress) -> Iterator[Metric]:
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        SummaryMetricFamily,
    )

    totals = progress.totals
    batches = CounterMetricFamily("joinery_batches", "Batches that were committed to all sinks.")
    batches.add_metric([], totals.batches)
    dead = CounterMetricFamily(
        "joinery_dead_letters", "Records and documents that are dead letters."
    )
    dead.add_metric([], totals.dead)
    changes = CounterMetricFamily(
        "joinery_changes", "Changes by outcome.", labels=["relation", "outcome"]
    )
    freshness = SummaryMetricFamily(
        "joinery_freshness_seconds",
        "Time from the commit of a change at its source until its documents were published.",
        labels=["relation"],
    )
    for relation, counts in progress.relations.items():
        for outcome, count in counts.items():
            if outcome not in _AGES:
                changes.add_metric([relation, outcome], count)
        if "age_ms" in counts:
            freshness.add_metric([relation], counts["timed"], counts["age_ms"] / 1000)
    stale = GaugeMetricFamily(
        "joinery_stale_ratio",
        "Share of a relation's latest changes that were stale.",
        labels=["relation"],
    )
    for relation, each in progress.staleness.items():
        stale.add_metric([relation], each.ratio)
    documents = CounterMetricFamily(
        "joinery_documents", "Documents sent, by kind.", labels=["product", "kind"]
    )
    size = CounterMetricFamily(
        "joinery_document_bytes", "Bytes of the documents sent.", labels=["product"]
    )
    for product, counts in progress.documents.items():
        for kind in ("upserts", "tombstones"):
            documents.add_metric([product, kind], counts.get(kind, 0))
        size.add_metric([product], counts.get("bytes", 0))
    events = CounterMetricFamily(
        "joinery_events", "What products and sinks counted.", labels=["product", "event"]
    )
    for product, counts in progress.counters.items():
        for event, count in counts.items():
            events.add_metric([product, event], count)
    driver = CounterMetricFamily(
        "joinery_documents_through_driver",
        "Documents that the driver wrote or held, once per sink; none with parallel: tasks.",
        labels=["product"],
    )
    for product, count in progress.through_driver.items():
        driver.add_metric([product], count)
    ignored = GaugeMetricFamily(
        "joinery_ignored_bytes",
        "Bytes appended to change files after they were seen, which are not read.",
        labels=["relation"],
    )
    for relation, count in progress.ignored_bytes.items():
        ignored.add_metric([relation], count)
    yield from (batches, dead, changes, freshness, stale, documents, size, events, driver, ignored)


def _latest(batches: list[BatchProgress]) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    step = GaugeMetricFamily(
        "joinery_batch_step_seconds",
        "Where the time of the last batch went.",
        labels=["query", "step"],
    )
    whole = GaugeMetricFamily(
        "joinery_batch_seconds", "How long the last batch took.", labels=["query"]
    )
    sink = GaugeMetricFamily(
        "joinery_batch_sink_seconds",
        "How long each target took in the last batch.",
        labels=["query", "target"],
    )
    ended = GaugeMetricFamily(
        "joinery_batch_ended_timestamp_seconds", "When the last batch ended.", labels=["query"]
    )
    state = GaugeMetricFamily(
        "joinery_state_bytes", "Join state on disk, as of the last batch.", labels=["query"]
    )
    lag = GaugeMetricFamily(
        "joinery_lag_records", "Records still to read.", labels=["topic", "partition"]
    )
    left = GaugeMetricFamily(
        "joinery_remaining_bytes", "Bytes of files still to read.", labels=["relation"]
    )
    for batch in batches:
        whole.add_metric([batch.query], batch.seconds)
        ended.add_metric([batch.query], batch.ended_at)
        if batch.state_bytes is not None:
            state.add_metric([batch.query], batch.state_bytes)
        for name, spent in batch.durations_ms.items():
            step.add_metric([batch.query, name], spent / 1000)
        for target, spent in batch.sinks_ms.items():
            sink.add_metric([batch.query, target], spent / 1000)
        for topic, partitions in batch.lag.items():
            for partition, records in partitions.items():
                lag.add_metric([topic, str(partition)], records)
        for relation, size in batch.remaining.items():
            left.add_metric([relation], size)
    yield from (whole, step, sink, ended, state, lag, left)


def _frontiers(progress: Progress) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    committed = GaugeMetricFamily(
        "joinery_frontier_committed_timestamp_seconds",
        "When the last change was committed of those up to which a query shows everything of a"
        " source; absent where no place of the source is known.",
        labels=["query", "source", "sure"],
    )
    for query, sources in progress.frontiers.items():
        for each in sources:
            if each.committed_at is not None:
                committed.add_metric([query, each.source, each.sure], each.committed_at)
    yield committed


def _event_times(batches: list[BatchProgress]) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    watermark = GaugeMetricFamily(
        "joinery_watermark_timestamp_seconds",
        "The watermark of a relation; absent before its first row.",
        labels=["query", "relation"],
    )
    newest = GaugeMetricFamily(
        "joinery_event_time_newest_timestamp_seconds",
        "The newest event time that was read from a partition.",
        labels=["query", "relation", "partition"],
    )
    behind = GaugeMetricFamily(
        "joinery_event_time_behind_seconds",
        "How far, at most, that share of the rows was behind the newest time of its partition.",
        labels=["query", "relation", "quantile"],
    )
    drift = GaugeMetricFamily(
        "joinery_clock_drift_seconds",
        "How far apart, at most, device and receiver clocks were for that share of the rows.",
        labels=["query", "relation", "quantile"],
    )
    for batch in batches:
        for relation, times in batch.event_times.items():
            labels = [batch.query, relation]
            if times.watermark_us is not None:
                watermark.add_metric(labels, times.watermark_us / 1e6)
            for partition, time_us in times.newest_us.items():
                newest.add_metric([*labels, partition], time_us / 1e6)
            for share in SHARES:
                behind.add_metric([*labels, f"{share:g}"], times.behind_us(share) / 1e6)
                if times.drift:
                    drift.add_metric([*labels, f"{share:g}"], times.drift_us(share) / 1e6)
    yield from (watermark, newest, behind, drift)


def _waiting(progress: Progress) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    waiting = GaugeMetricFamily(
        "joinery_sink_waiting_seconds",
        "How long the run has waited for a sink, or for what it reads, such as a vault or a schema"
        " registry; absent while it waits for nothing.",
        labels=["product", "target"],
    )
    silent = GaugeMetricFamily(
        "joinery_source_silent_seconds",
        "How long nothing was heard of a source; absent while something is.",
        labels=["source"],
    )
    now = time.time()
    for each in progress.waiting.values():
        waiting.add_metric([each.product, each.target], max(0.0, now - each.since))
    for silence in progress.silences.values():
        silent.add_metric([silence.source], max(0.0, now - silence.since))
    yield from (waiting, silent)


def _lookups(lookups: Mapping[str, LookupProgress]) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    labels = ["stream", "table"]
    keys = CounterMetricFamily(
        "joinery_lookup_keys",
        "Keys that batches looked up, by where the answer came from.",
        labels=[*labels, "from"],
    )
    requests = CounterMetricFamily(
        "joinery_lookup_requests", "Requests to lookup stores.", labels=[*labels, "outcome"]
    )
    ages = HistogramMetricFamily(
        "joinery_lookup_age_seconds",
        "How old the results of lookups were when events got them.",
        labels=labels,
    )
    for name, done in lookups.items():
        place = list(name.partition("/")[::2])
        for source, count in (
            ("cache", done.hits),
            ("negative_cache", done.negative_hits),
            ("key_filter", done.filtered),
            ("shared_request", done.shared),
            ("store", done.misses),
        ):
            keys.add_metric([*place, source], count)
        requests.add_metric([*place, "answered"], done.requests - done.failures)
        requests.add_metric([*place, "failed"], done.failures)
        ages.add_metric(place, buckets=_cumulated(done), sum_value=done.age_sum_s)
    yield from (keys, requests, ages)


def _audits(audits: Iterable[AuditProgress]) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    labels = ["product", "target"]
    compared = CounterMetricFamily(
        "joinery_audit_documents", "Documents that run.audit compared.", labels=labels
    )
    found = CounterMetricFamily(
        "joinery_audit_differences",
        "Documents that run.audit found wrong, counted again in each comparison.",
        labels=labels,
    )
    differing = GaugeMetricFamily(
        "joinery_audit_differing_documents",
        "Documents that the last comparison of all found wrong; absent before the first.",
        labels=labels,
    )
    ended = GaugeMetricFamily(
        "joinery_audit_ended_timestamp_seconds",
        "When the last comparison of all documents ended; absent before the first.",
        labels=labels,
    )
    for each in audits:
        place = [each.product, each.target]
        compared.add_metric(place, each.compared)
        found.add_metric(place, each.differences)
        if each.ended_at is not None:
            differing.add_metric(place, each.differing)
            ended.add_metric(place, each.ended_at)
    yield from (compared, found, differing, ended)


def _cumulated(done: LookupProgress) -> list[tuple[str, float]]:
    bounds = [*map(str, AGE_BOUNDS_S), "+Inf"]
    return list(zip(bounds, accumulate(done.ages), strict=True))


_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_JSON = "application/json"
_WAITED = "10s"


Wait = Callable[[str, Sequence[str], str], None]
"""Returns once a product has come to some positions; the last is how long at most."""


class HttpError(RunError):
    """The address of the endpoints cannot be used."""

    code = "RUN_HTTP"


class RunEndpoints:
    """Serves the endpoints from a thread of its own.

    Args:
        address: `host:port`; port 0 takes a free one.
        progress: Returns the run as it stands.
        wait: Returns once a product shows the positions that `/wait` names.
    """

    def __init__(self, address: str, progress: Callable[[], Progress], wait: Wait) -> None:
        self._address = address
        self._progress = progress
        self._wait = wait
        self._metrics = ProgressMetrics(progress, lambda: not self._not_ready())
        self._server: ThreadingHTTPServer | None = None
        self.started = threading.Event()

    def open(self) -> str:
        """Begin to answer; return the address as `host:port`.

        Raises:
            HttpError: The address is taken, or not one of this machine.
            MetricsMissingError: `prometheus-client` is not installed.
        """
        self._metrics.text()
        host, _, port = self._address.rpartition(":")
        try:
            server = ThreadingHTTPServer((host.strip("[]"), int(port)), self._handler())
        except (OSError, ValueError, OverflowError) as error:
            raise HttpError(
                f'cannot serve metrics at "{self._address}"',
                detail=f"{error}.",
                hint=f"Set run.http to a free address, such as 127.0.0.1:{_free_port()}.",
            ) from error
        server.daemon_threads = True
        self._server = server
        threading.Thread(target=server.serve_forever, name="joinery-http", daemon=True).start()
        return f"{host}:{server.server_address[1]}"

    def close(self) -> None:
        """Stop answering."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        match path.partition("?")[0]:
            case "/metrics":
                return 200, _TEXT, self._metrics.text()
            case "/health":
                return 200, _JSON, _body({"status": "ok"})
            case "/ready":
                why = self._not_ready()
                facts = {"status": "waiting", "reason": why} if why else {"status": "ready"}
                return (503 if why else 200), _JSON, _body(facts)
            case "/wait":
                code, facts = self._waited(parse_qs(urlsplit(path).query))
                return code, _JSON, _body(facts)
            case _:
                known = "/metrics, /health, /ready and /wait"
                return 404, _JSON, _body({"error": f"nothing is here; there are {known}"})

    def _waited(self, asked: Mapping[str, Sequence[str]]) -> tuple[int, dict[str, str]]:
        product, positions = asked.get("product", [""])[0], asked.get("position", ())
        if not product or not positions:
            return 400, {"error": "/wait needs product and position"}
        try:
            self._wait(product, positions, asked.get("timeout", [_WAITED])[0])
        except WaitError as error:
            return 400, {"error": f"{error.message}. {error.hint}"}
        except WaitTimeoutError as error:
            return 504, {"error": error.message}
        return 200, {"status": "shown"}

    def _not_ready(self) -> str:
        if not self.started.is_set():
            return "the queries have not started"
        for each in self._progress().waiting.values():
            if time.time() - each.since > each.grace_s:
                return f"{each.target}: {each.reason}"
        return ""

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoints = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                try:
                    code, kind, body = endpoints._answer(self.path)
                except JoineryError as error:
                    code, kind, body = 500, _JSON, _body({"error": error.message})
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: a scrape is no news."""

        return Handler


def _free_port() -> int:
    """Return a port that nobody has at the moment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _body(facts: dict[str, str]) -> bytes:
    return f"{json.dumps(facts)}\n".encode()
