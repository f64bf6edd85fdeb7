"""`joinery solutions`: what each solution makes of a project's own changes, side by side.

Shows how far `joinery solutions` is: a bar on a terminal, a line per solution elsewhere.

Invariant: all of it goes to standard error, so that standard output has the result alone.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.table import Table

from joinery.cli.ending import DONE, FAILED
from joinery.errors import SpecError
from joinery.model.batch import BatchProgress
from joinery.plan.build import build_plan
from joinery.plan.product import Plan
from joinery.project.kinds import SOLUTIONS
from joinery.project.load import load_spec, read_tree
from joinery.project.product import ProjectSpec, with_solution
from joinery.project.tree import MapTree, Scalar
from joinery.solutions.auto import Figures, keep_figures
from joinery.solutions.choose import store_solutions
from joinery.solutions.price import Hosted, PriceError, Prices
from joinery.solutions.spark_state.fingerprint import SPARK_STATE

if TYPE_CHECKING:
    from rich.progress import Progress

    from joinery.spark.recovery.compare import Measured


class Measuring(Protocol):
    """Shows a measurement of some solutions, one after the other."""

    def prepare(self) -> None:
        """Spark is about to start."""

    def begin(self, solution: str) -> None:
        """A solution is measured from now on."""

    def batch(self, batch: BatchProgress) -> None:
        """One batch of it is through."""

    def end(self) -> None:
        """Nothing is measured any more."""


def measuring_for_output(solutions: int, changes: int) -> Measuring:
    """Return what fits standard error.

    Args:
        solutions: How many are measured.
        changes: About how many each of them reads.
    """
    terminal = sys.stderr.isatty()
    return TerminalMeasuring(solutions, changes) if terminal else LineMeasuring(solutions)


class LineMeasuring:
    """A line when a solution begins."""

    def __init__(self, solutions: int) -> None:
        self._solutions = solutions
        self._begun = 0

    def prepare(self) -> None:
        """Say why nothing is seen for some seconds."""
        self._say("starting Spark")

    def begin(self, solution: str) -> None:
        """Say which one of how many."""
        self._begun += 1
        self._say(f"measuring {solution} ({self._begun} of {self._solutions})")

    def batch(self, batch: BatchProgress) -> None:
        """Nothing to say: a line per solution is enough."""

    def end(self) -> None:
        """Nothing to say: the result follows."""

    def _say(self, line: str) -> None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


class TerminalMeasuring:
    """A bar of the solution at hand, which is gone at the end."""

    def __init__(self, solutions: int, changes: int) -> None:
        self._solutions, self._changes = solutions, changes
        self._begun = 0
        self._bar = _bar()
        self._task = self._bar.add_task("starting Spark", total=None)

    def prepare(self) -> None:
        """Say why nothing is seen for some seconds."""
        self._bar.start()

    def begin(self, solution: str) -> None:
        """Show an empty bar."""
        self._begun += 1
        told = f"{solution} ({self._begun} of {self._solutions})"
        self._bar.reset(self._task, description=told, total=self._changes)

    def batch(self, batch: BatchProgress) -> None:
        """Fill the bar by what the batch read."""
        self._bar.advance(self._task, batch.read)

    def end(self) -> None:
        """Take the bar away."""
        self._bar.stop()


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("changes"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


_HEAD = ("solution", "changes/s", "batch p50", "p99", "state", "requests", "read", "written", "$/M")
_CAPTION = "requests, entries read and written: of the store, a change; $/M: a million changes"
_WIDE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionsArguments:
    """What `joinery solutions` was asked.

    Attributes:
        file: The project file or folder.
        products: Those to measure; empty means all.
        only: The solutions to measure; empty means all that are installed.
        changes: About how many are read.
        rows: How many a batch takes.
        prices: A YAML or JSON file of prices.
        as_json: Write one JSON list.
    """

    file: Path
    products: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    changes: int = 100_000
    rows: int = 20_000
    prices: Path | None = None
    as_json: bool = False


def compare_solutions(arguments: SolutionsArguments) -> int:
    """Measure the solutions one after the other, and print what each did.

    Raises:
        SpecError: The project, a name or a price is wrong.
    """
    spec = _chosen(load_spec(arguments.file), arguments.products)
    names = arguments.only or (SPARK_STATE, *store_solutions())
    for name in names:
        with_solution(spec, name)
    prices = _prices(arguments.prices)
    measured = _measured(spec, names, arguments)
    _keep(measured, spec, prices)
    if arguments.as_json:
        sys.stdout.write(json.dumps([_data(each, spec, prices) for each in measured]) + "\n")
    else:
        _print(measured, spec, prices)
    return FAILED if all(each.error for each in measured) else DONE


def _measured(
    spec: ProjectSpec, names: Sequence[str], arguments: SolutionsArguments
) -> list[Measured]:
    from joinery.spark.analyse import SparkAnalyser
    from joinery.spark.jar import connector_jars
    from joinery.spark.jvm import add_jars
    from joinery.spark.recovery.compare import Measurement, Sample, measure
    from joinery.spark.session import open_session

    folder = Path(tempfile.mkdtemp(prefix="joinery-solutions-"))
    display = measuring_for_output(len(names), arguments.changes)
    display.prepare()
    session = None
    try:
        log = folder / "spark.log"
        session = open_session(spec.name, log=log, settings=dict(spec.run.spark))
        add_jars(session, connector_jars(spec))
        analyser = SparkAnalyser(session)

        def planner(each: ProjectSpec) -> Plan:
            return build_plan(each, analyser)

        sample = Sample(arguments.changes, arguments.rows)
        measured = []
        for name in names:
            display.begin(name)
            place = Measurement(planner, sample, folder / name, display.batch)
            measured.append(measure(session, spec, name, place))
        return measured
    finally:
        display.end()
        if session is not None:
            session.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _keep(measured: Sequence[Measured], spec: ProjectSpec, prices: Prices) -> None:
    """Remember the figures for `solution: auto`."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    figures = [
        Figures(each.solution, each.rate, _price(each, spec, prices), at)
        for each in measured
        if not each.error and each.rate
    ]
    if figures:
        keep_figures(spec.checkpoint, figures)


def _chosen(spec: ProjectSpec, names: Sequence[str]) -> ProjectSpec:
    known = [each.name for each in spec.products]
    for name in names:
        if name not in known:
            detail = f"Known: {', '.join(known)}."
            raise SpecError(f'there is no product "{name}"', detail=detail, code="RUN_SELECTION")
    kept = tuple(each for each in spec.products if not names or each.name in names)
    return replace(spec, products=kept)


def _prices(file: Path | None) -> Prices:
    if file is None:
        return Prices()
    try:
        tree = read_tree(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PriceError(f'the price list "{file}" could not be read', detail=str(error)) from error
    entries = tree.entries if isinstance(tree, MapTree) else ()
    scalars = ((each.name, each.value) for each in entries)
    found = {name: each.value if isinstance(each, Scalar) else None for name, each in scalars}
    return Prices().with_list(found)


def _data(measured: Measured, spec: ProjectSpec, prices: Prices) -> dict[str, Any]:
    """Return what a solution did, for machines."""
    if measured.error:
        return {"solution": measured.solution, "error": measured.error}
    return {
        "solution": measured.solution,
        "changes": measured.changes,
        "changes_per_second": round(measured.rate),
        "batch_seconds_p50": round(measured.seconds(0.5), 3),
        "batch_seconds_p99": round(measured.seconds(0.99), 3),
        "state_bytes": measured.state_bytes,
        "documents": measured.documents,
        "a_change": {
            name: round(count / measured.changes, 4) for name, count in measured.store.items()
        },
        "dollars_per_million": round(_price(measured, spec, prices), 4),
    }


def _price(measured: Measured, spec: ProjectSpec, prices: Prices) -> float:
    if not measured.rate:
        return 0.0
    return prices.of_million(
        measured.rate,
        server=server_of(measured.solution, _options(spec, measured.solution)),
        reads=measured.a_change("read_units"),
        writes=measured.a_change("write_units"),
    )


def _options(spec: ProjectSpec, solution: str) -> Mapping[str, object]:
    return dict(dict(spec.run.solutions).get(solution, ()))


def server_of(solution: str, options: Mapping[str, object]) -> str | None:
    """Return the kind of server that a solution needs with these options.

    Example:
        >>> server_of("rdbms-store", {"database": "postgresql://here/shop"})
        'database'
        >>> server_of("kv", {})
    """
    declared = SOLUTIONS.read(solution, options) if SOLUTIONS.options(solution) else None
    return declared.server if isinstance(declared, Hosted) else None


def _print(measured: Sequence[Measured], spec: ProjectSpec, prices: Prices) -> None:
    table = Table(*_HEAD, box=None, pad_edge=False, caption=_CAPTION, caption_justify="left")
    for column in table.columns:
        column.no_wrap = True
        column.justify = "left" if column is table.columns[0] else "right"
    for each in measured:
        if not each.error:
            table.add_row(*_row(each, spec, prices))
    console = Console(width=None if sys.stdout.isatty() else _WIDE)
    console.print(table)
    for each in measured:
        if each.error:
            console.print(f"{each.solution}: {each.error}", markup=False)


def _row(each: Measured, spec: ProjectSpec, prices: Prices) -> tuple[str, ...]:
    asked = [
        "–" if each.solution == SPARK_STATE else f"{each.a_change(name):.3f}"
        for name in ("requests", "entries_read", "entries_written")
    ]
    return (
        each.solution,
        f"{each.rate:,.0f}",
        f"{each.seconds(0.5):.2f} s",
        f"{each.seconds(0.99):.2f} s",
        f"{each.state_bytes / 1e6:,.1f} MB",
        *asked,
        f"{_price(each, spec, prices):.3f}",
    )
