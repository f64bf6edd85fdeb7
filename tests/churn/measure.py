"""Runs a project once over what is there, and measures its batches and its state."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from joinery import load
from joinery.model.batch import BatchProgress
from joinery.spark.batch.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# A value is a list of parts: a whole one, then what changed of it.
_PARTS = ("key", "list_element")


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run did.

    Attributes:
        seconds: All of it.
        batches: Its batches.
        rows: The entries in the state of all operators, at its end.
        state_bytes: The bytes of their keys and values.
    """

    seconds: float
    batches: list[BatchProgress]
    rows: int
    state_bytes: int


def run_once(spark: SparkSession, folder: Path) -> Measured:
    """Run the project in `folder` over what there is."""
    batches: list[BatchProgress] = []
    began = time.monotonic()
    ended = run(spark, load(folder / "joinery.yaml"), once=True, on_batch=batches.append)
    assert ended.await_termination(100_000)
    seconds = time.monotonic() - began
    rows, state_bytes = state_of(spark, folder / ".joinery/checkpoint/profile")
    return Measured(seconds, batches, rows, state_bytes)


def state_of(spark: SparkSession, checkpoint: Path) -> tuple[int, int]:
    """Return how many entries all operators keep, and their bytes."""
    rows = size = 0
    for operator in sorted(each.name for each in (checkpoint / "state").iterdir()):
        if operator.isdigit():
            state = (
                spark.read.format("statestore")
                .option("operatorId", operator)
                .option("stateVarName", "value")
                .load(str(checkpoint))
            )
            names = {each: state.select(f"{each}.*").columns[0] for each in _PARTS}
            size_of = " + ".join(f"octet_length({part}.{names[part]})" for part in _PARTS)
            told = state.selectExpr(
                "count(DISTINCT key) AS entries", f"coalesce(sum({size_of}), 0) AS size"
            ).first()
            assert told is not None
            rows, size = rows + told["entries"], size + told["size"]
    return rows, size
