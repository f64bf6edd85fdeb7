"""Runs whole projects on `spark-state`, a batch at a time, to compare what each batch sent.

Every batch is a run of its own: the query stops and starts again between batches, as after
a restart. Invariant: a batch's changes stand in files before its run begins, so the run
takes all of them at once.

Runs whole streams on Spark, a batch at a time, to compare what each batch sent.

A table that a stream queries stands in a SQLite file, which has a batch's changes before the
batch runs.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from joinery.errors import RunError
from joinery.files import write_whole
from joinery.model.change import Change
from joinery.place.place import local
from joinery.plan.build import build_plan
from joinery.plan.product import Plan
from joinery.plan.relation import Relation
from joinery.plan.step import Lookup
from joinery.plan.stream import outputs_of
from joinery.project.kind import SinkSpec
from joinery.project.product import ProjectSpec
from joinery.semantics.merge import KeptRow, RowMerge
from joinery.semantics.read_change import change_line
from joinery.semantics.rows import Findings
from joinery.solutions.protocol import Sent
from joinery.spark.batch.run import Run, RunOptions
from joinery.spark.recovery.checkpoint import last_batch, last_batch_time_ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IN, _OUT, _DEAD = "in", "out", "dead_letters"
_ALL_ROWS = 10_000_000


class ReplayError(RunError):
    """A batch that ran again did not leave what it left the first time."""

    code = "TEST_REPLAY"


class Planner(Protocol):
    """Plans a project, as `build_plan` does."""

    def __call__(self, spec: ProjectSpec) -> Plan:
        """Return the plan of all products."""


@dataclass(slots=True)
class SparkRunner:
    """Runs projects in one session, each in a folder of its own.

    Attributes:
        spark: The session.
        folder: Where changes, checkpoints and documents go; emptied before each project.
        replay: True to take back the last batch's commit in the end and run it again.
        planner: Plans a project.
        counts: Whether documents are made of rows; a database that makes them counts nothing.
        rows: What a batch takes at most, as `run.max_rows_per_batch`; the default takes all.
        times_ms: When each batch of the last project was, as Spark noted it.
    """

    spark: SparkSession
    folder: Path
    replay: bool = False
    planner: Planner = build_plan
    counts: bool = True
    rows: int | None = _ALL_ROWS
    times_ms: list[int] = field(default_factory=list)
    _seen: dict[Path, int] = field(default_factory=dict)
    _found: list[Mapping[str, Mapping[str, int]]] = field(default_factory=list)

    def run(
        self,
        project: ProjectSpec,
        batches: Sequence[Sequence[Change]],
        before: Callable[[Plan, Sequence[Change]], None] = lambda plan, batch: None,
    ) -> list[Sent]:
        """Run `project` from nothing, one batch after the other.

        Args:
            project: The project.
            batches: Changes in log order.
            before: Called with each batch before it runs.

        Raises:
            ReplayError: A batch that ran again left something else.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        self._seen.clear()
        self._found.clear()
        self.times_ms.clear()
        spec = _in_folder(project, self.folder, self.rows)
        plan = self.planner(spec)
        for number, batch in enumerate(batches):
            write_batch(self.folder / _IN, plan, batch, number)
            before(plan, batch)
            self._found.append(self._run_once(spec, plan))
            self._note_files(number)
            self.times_ms.append(self._time_ms(spec, plan))
        if self.replay:
            self._run_again(spec, plan)
        return self._sent(len(batches))

    def _run_once(self, spec: ProjectSpec, plan: Plan) -> Mapping[str, Mapping[str, int]]:
        """Run what there is, and return what was counted by relation and by product."""
        run = Run(spec, plan, RunOptions(once=True))
        run.prepare()
        run.start(self.spark)
        run.await_termination()
        found: dict[str, Mapping[str, int]] = dict(run.progress.relations)
        for name, counts in run.progress.counters.items():
            found[name] = Counter(found.get(name, {})) + Counter(counts)
        return found

    def _run_again(self, spec: ProjectSpec, plan: Plan) -> None:
        before = {path: path.read_bytes() for path in self._files()}
        root = local(spec.checkpoint, "a test")
        checkpoints = [root / each for each in queries_of(plan)]
        for checkpoint in checkpoints:
            _take_back(checkpoint)
        begun = [last_batch(each) for each in checkpoints]
        self._run_once(spec, plan)
        after = {path: path.read_bytes() for path in self._files()}
        if [(number, True) for number, _ in begun] != [last_batch(each) for each in checkpoints]:
            # A batch without records followed, which may send what came due since.
            after = {path: text for path, text in after.items() if path in before}
        if _as_sets(before) != _as_sets(after):
            changed = [str(path) for path in after if after[path] != before.get(path)]
            raise ReplayError(f"a batch that ran again changed {', '.join(changed) or 'files'}")

    def _time_ms(self, spec: ProjectSpec, plan: Plan) -> int:
        """Return the time of the last batch; before the first one it is now."""
        found = (last_batch_time_ms(spec.checkpoint / e) for e in queries_of(plan))
        return max(found, default=0) or round(time.time() * 1000)

    def _files(self) -> list[Path]:
        return sorted([*(self.folder / _OUT).rglob("*.jsonl"), *self._letters()])

    def _letters(self) -> list[Path]:
        return sorted((self.folder / _DEAD).rglob("*.jsonl"))

    def _note_files(self, number: int) -> None:
        for path in self._files():
            self._seen.setdefault(path, number)

    def _sent(self, batches: int) -> list[Sent]:
        lines: list[dict[str, list[str]]] = [{} for _ in range(batches)]
        dead: list[dict[str, list[str]]] = [{} for _ in range(batches)]
        letters = set(self._letters())
        for path, number in sorted(self._seen.items()):
            told = path.read_text(encoding="utf-8").splitlines()
            if path not in letters:
                lines[number].setdefault(path.parent.name, []).extend(told)
                continue
            for letter in map(json.loads, told):
                owner = str(_owner(letter) or f"topic {letter.get('topic')}")
                dead[number].setdefault(owner, []).append(_letter_key(letter))
        found = self._found if self.counts else [None] * batches
        return [Sent(lines[at], dead[at], found[at]) for at in range(batches)]


def queries_of(plan: Plan) -> list[str]:
    """Return the names of a project's queries."""
    return sorted({product.query for product in outputs_of(plan)})


def write_batch(folder: Path, plan: Plan, batch: Sequence[Change], number: int) -> None:
    """Write the changes of one batch as one file per topic, put in place by rename."""
    outputs = outputs_of(plan)
    relations = {each.name: each for one in outputs for each in one.relations}
    lines: dict[str, list[str]] = {}
    for change in batch:
        if change.relation in relations:
            relation = relations[change.relation]
            lines.setdefault(relation.topic, []).append(change_line(change, relation))
    for topic, told in lines.items():
        content = "".join(f"{line}\n" for line in told)
        write_whole(folder / topic / f"{number:06d}.jsonl", content, synced=False)


def _in_folder(project: ProjectSpec, folder: Path, rows: int | None = _ALL_ROWS) -> ProjectSpec:
    """Return the project with all that it reads and writes below `folder`."""
    run = replace(
        project.run,
        checkpoint="checkpoint",
        dead_letters=SinkSpec("files", (("path", _DEAD),)),
        max_rows_per_batch=rows,
    )
    sources = tuple(replace(each, options=(("path", _IN),)) for each in project.sources)
    sinks = (SinkSpec("files", (("path", _OUT),)),)
    products = tuple(replace(each, sinks=sinks) for each in project.products)
    streams = tuple(replace(each, sinks=sinks if each.sinks else ()) for each in project.streams)
    return replace(
        project, folder=folder, run=run, sources=sources, products=products, streams=streams
    )


def _take_back(checkpoint: Path) -> None:
    """Remove the newest commit, so that its batch runs again."""
    commits = [path for path in (checkpoint / "commits").glob("*") if path.name.isdigit()]
    if not commits:
        return
    newest = max(commits, key=lambda path: int(path.name))
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)


def _as_sets(files: Mapping[Path, bytes]) -> dict[Path, list[bytes]]:
    return {path: sorted(text.splitlines()) for path, text in files.items()}


def _owner(letter: Mapping[str, object]) -> object:
    return letter.get("product") or letter.get("stream")


def _letter_key(letter: Mapping[str, object]) -> str:
    return str(letter["key"]) if _owner(letter) else json.dumps(letter)


@dataclass(frozen=True, slots=True)
class SparkStreamRunner:
    """Runs streams in one session; every batch is a run of its own.

    Attributes:
        runner: Runs the project.
    """

    runner: SparkRunner

    def run(self, project: ProjectSpec, batches: Sequence[Sequence[Change]]) -> Sequence[Sent]:
        """Run `project` from nothing, one batch after the other."""
        stores = _Stores()
        return self.runner.run(project, batches, stores.apply)


@dataclass(slots=True)
class _Stores:
    """The tables that lookups query, as their changes leave them."""

    _standing: dict[tuple[str, tuple[object, ...]], KeptRow] = field(default_factory=dict)

    def apply(self, plan: Plan, batch: Sequence[Change]) -> None:
        """Apply a batch's changes to each table, and write its rows."""
        lookups = [each for stream in plan.streams for each in stream.lookups if each.store]
        for lookup in lookups:
            with closing(sqlite3.connect(_file(lookup))) as database, database:
                _make(database, lookup.table)
                for change in batch:
                    if change.relation == lookup.table.name:
                        self._write(database, lookup.table, change)

    def _write(self, database: sqlite3.Connection, table: Relation, change: Change) -> None:
        key = tuple(change.key[name] for name in table.key)
        standing = self._standing.setdefault((table.name, key), KeptRow())
        RowMerge(table, Findings()).apply(standing, change)
        where = " and ".join(f'"{name}" = ?' for name in table.key)
        database.execute(f'delete from "{table.name}" where {where}', key)
        if standing.row is not None:
            values = [standing.row[each.name] for each in table.columns]
            places = ", ".join("?" for _ in values)
            database.execute(f'insert into "{table.name}" values ({places})', values)


def _make(database: sqlite3.Connection, table: Relation) -> None:
    columns = ", ".join(f'"{each.name}"' for each in table.columns)
    database.execute(f'create table if not exists "{table.name}" ({columns})')


def _file(lookup: Lookup) -> Path:
    assert lookup.store is not None  # asked for before
    file = Path(str(dict(lookup.store.options)["path"]))
    file.parent.mkdir(parents=True, exist_ok=True)
    return file
