"""Measures what solutions make of the same changes: each runs the project beside, on its own state.

Sources are read from their beginning, documents go to files of a folder that is the
measurement's own. Invariant: nothing of the project's own checkpoint or sinks is touched.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.delivery.query_paths import QueryPaths
from joinery.errors import JoineryError
from joinery.model.batch import BatchProgress
from joinery.place.place import local
from joinery.plan.product import Plan
from joinery.project.form import OutboxSpec
from joinery.project.kind import Options, SinkSpec
from joinery.project.product import ProjectSpec, with_solution
from joinery.solutions.spark_state.fingerprint import SPARK_STATE
from joinery.spark.batch.run import Run, RunOptions
from joinery.spark.batch.stores import store_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BILLED = "dynamodb_"
_VIEWS = "views"


@dataclass(slots=True)
class Measured:
    """What one solution did.

    Attributes:
        solution: Its name.
        batches: Changes and seconds, batch by batch.
        documents: That were sent.
        state_bytes: Of the state that is embedded, Spark's own included; a server's is not.
        store: What a store was asked.
        error: Why it could not run, empty where it could.
    """

    solution: str
    batches: list[tuple[int, float]] = field(default_factory=list)
    documents: int = 0
    state_bytes: int = 0
    store: Counter[str] = field(default_factory=Counter)
    error: str = ""

    @property
    def changes(self) -> int:
        """All changes read."""
        return sum(changes for changes, _ in self.batches)

    @property
    def rate(self) -> float:
        """Changes a second, without the first batch, which warms up, where there are others."""
        counted = self.batches[1:] or self.batches
        seconds = sum(each for _, each in counted)
        return sum(changes for changes, _ in counted) / seconds if seconds else 0.0

    def seconds(self, share: float) -> float:
        """Return how long a batch took, at a share of them from the fastest on."""
        ordered = sorted(seconds for _, seconds in self.batches)
        if len(ordered) < 2:
            return ordered[0] if ordered else 0.0
        cuts = statistics.quantiles(ordered, n=100, method="inclusive")
        return cuts[min(98, max(0, round(share * 100) - 1))]

    def a_change(self, counter: str) -> float:
        """Return how often something was asked of the store, a change."""
        return self.store[counter] / self.changes if self.changes else 0.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What is read: about `changes` changes, in batches of `rows`."""

    changes: int
    rows: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """How one solution is measured.

    Attributes:
        planner: Builds the plan of a project.
        sample: What is read.
        folder: Takes all that is written.
        on_batch: Called for each batch once it is through.
    """

    planner: Callable[[ProjectSpec], Plan]
    sample: Sample
    folder: Path
    on_batch: Callable[[BatchProgress], None] = lambda batch: None


_WHAT = "a measurement"


def measure(spark: SparkSession, spec: ProjectSpec, solution: str, how: Measurement) -> Measured:
    """Run a project on a solution and return what it did; an error is told in it."""
    measured = Measured(solution)
    try:
        spec = all_below(with_solution(spec, solution), how.folder, how.sample)
        _run(spark, spec, how, measured)
    except JoineryError as error:
        measured.error = f"{error.message}. {error.detail}".strip()
    checkpoint = local(spec.checkpoint, _WHAT)
    measured.state_bytes = sum(
        each.stat().st_size
        for kind in ("state", "store")
        for each in checkpoint.glob(f"*/{kind}/**/*")
        if each.is_file()
    )
    return measured


def _run(spark: SparkSession, spec: ProjectSpec, how: Measurement, measured: Measured) -> None:
    plan = how.planner(spec)
    runs: list[Run] = []

    def note(batch: BatchProgress) -> None:
        if batch.read:
            measured.batches.append((batch.read, batch.seconds))
        measured.store.update(store_requests(batch))
        measured.documents += sum(each.get("upserts", 0) for each in batch.documents.values())
        how.on_batch(batch)
        if measured.changes >= how.sample.changes:
            runs[0].request_stop()

    for query in {product.query for product in plan.products}:
        checkpoint = QueryPaths.of(spec.checkpoint, query).on_disk(_WHAT)
        checkpoint.mkdir(parents=True, exist_ok=True)
        if measured.solution != SPARK_STATE:
            store_name(checkpoint, query, beside=True)
    runs.append(Run(spec, plan, RunOptions(once=True, patient=False, on_batch=note)))
    runs[0].prepare()
    runs[0].start(spark)
    runs[0].await_termination()


def store_requests(batch: BatchProgress) -> dict[str, int]:
    """Return what a batch asked of its store; a service that bills requests counts its own."""
    billed: Counter[str] = Counter()
    for counts in batch.counters.values():
        for name, count in counts.items():
            if name.startswith(_BILLED):
                billed[name.removeprefix(_BILLED)] += count
    if not billed:
        return dict(batch.store)
    billed["requests"] += billed.pop("queries", 0)
    return {**batch.store, **billed}


def all_below(spec: ProjectSpec, folder: Path, sample: Sample) -> ProjectSpec:
    """Return the project with all that it writes below `folder`, or where nobody else reads."""
    folder = folder.absolute()
    run = replace(
        spec.run,
        checkpoint=str(folder / "checkpoint"),
        dead_letters=SinkSpec("files", (("path", str(folder / "dead_letters")),)),
        max_rows_per_batch=sample.rows,
        trigger_ms=0,
        real_time=False,
        http=None,
        lineage=None,
        solutions=tuple((name, _unseen(each)) for name, each in spec.run.solutions),
    )
    sinks = (SinkSpec("files", (("path", str(folder / "out")),)),)
    products = tuple(
        replace(
            each,
            sinks=sinks,
            emit=replace(each.emit, settle_ms=None),
            ready=(),
            solution=replace(each.solution, options=_unseen(each.solution.options)),
        )
        for each in spec.products
        if not isinstance(each.form, OutboxSpec)
    )
    return replace(spec, run=run, products=products, streams=())


def _unseen(options: Options) -> Options:
    """Return options of a solution without views, by which others read its tables."""
    return tuple(each for each in options if each[0] != _VIEWS)
