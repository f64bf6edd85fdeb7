"""Runs whole streams on Spark, a batch at a time, to compare what each batch sent.

A table that a stream queries stands in a SQLite file, which has a batch's changes before the
batch runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from joinery.engine.merge import RowMerge, Standing
from joinery.engine.scope import Findings
from joinery.model.change import Change
from joinery.plan.nodes import Plan, Relation
from joinery.plan.stream import Lookup
from joinery.solutions.protocol import Sent
from joinery.spark.testing import SparkRunner
from joinery.spec.product import ProjectSpec


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

    _standing: dict[tuple[str, tuple[object, ...]], Standing] = field(default_factory=dict)

    def apply(self, plan: Plan, batch: Sequence[Change]) -> None:
        """Apply a batch's changes to each table, and write its rows."""
        lookups = [each for stream in plan.streams for each in stream.lookups if each.store]
        for lookup in lookups:
            with sqlite3.connect(_file(lookup)) as database:
                _make(database, lookup.table)
                for change in batch:
                    if change.relation == lookup.table.name:
                        self._write(database, lookup.table, change)

    def _write(self, database: sqlite3.Connection, table: Relation, change: Change) -> None:
        key = tuple(change.key[name] for name in table.key)
        standing = self._standing.setdefault((table.name, key), Standing())
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
