"""A process that tries records of one batch apart from their query, and may die of them.

It is told the project on its input, copies the batch's raw records, or what the batch reads again
of the log, then tries each range of them that it is given: through the whole chain, with empty
state, into a throw-away folder.

Invariant: nothing is written but below its own folder; the query's checkpoint is only read.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.child import Pipes, pipes_to_parent
from joinery.files import copy_folder
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.plan.stream import outputs_of
from joinery.project.load import read_tree
from joinery.project.product import ProjectSpec
from joinery.project.read import read_project
from joinery.solutions.spark_state.fingerprint import standing_fingerprint
from joinery.solutions.spark_state.joining import relations_of
from joinery.spark.recovery.isolate import PoisonPlace, Quarantine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from joinery.spark.source.again import RecordsAgain
    from joinery.spark.source.source import Topic

_NUMBER = "joinery_number"
_LONGEST = 400


class EnoughError(Exception):
    """The batch was copied; what follows it is not wanted."""


class AwayError(Exception):
    """What a batch asks is away, so that nothing is known of the records."""


class Probe:
    """The records of one batch, ready to be tried.

    Args:
        session: A session of this process alone.
        told: What the parent said: query, folder, checkpoint, batch.
        spec: The project.
        products: Those of the query.
    """

    def __init__(
        self,
        session: SparkSession,
        told: dict[str, Any],
        spec: ProjectSpec,
        products: Sequence[Product],
    ) -> None:
        from joinery.spark.batch.query_kernel import lookups_of, lower_query, open_batch_kernel

        self._session, self._spec, self._products = session, spec, products
        self._folder = Path(told["folder"])
        self._records = self._folder / "records"
        query = lower_query(products, spec.run)
        lookups = lookups_of(query, spec)
        if lookups is not None:
            lookups.open()
        self._kernel = open_batch_kernel(session, query, spec, lookups)
        self._topics = self._copied(told)
        quarantine = Quarantine(spec.checkpoint, told["query"])
        frame = session.read.parquet(str(self._records))
        self._frame: DataFrame = quarantine.apply(frame, self._topics)
        self.count = self._frame.count()

    def attempt(self, first: int, end: int) -> str:
        """Try the records from `first` to before `end`; return why they fail, or nothing.

        Raises:
            AwayError: A schema registry, a vault or the store of a lookup is away.
        """
        folder = self._folder / "documents"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            chain = self._kernel.chain(self._range(first, end), self._topics)
            self._kernel.stage(chain, folder)
        except Exception as error:
            from joinery.spark.recovery.attempt import cause_of, is_away

            self._session.range(1).count()  # raises where the JVM has died of it
            if is_away(error):
                raise AwayError(cause_of(error)[:_LONGEST]) from error
            return cause_of(error)[:_LONGEST]
        return ""

    def place(self, number: int) -> PoisonPlace:
        """Return where one record stands."""
        row = self._range(number, number + 1).collect()[0]
        topics = self._topics[row["topic"]]
        file = row["file"]
        return PoisonPlace(
            source=topics[0].source,
            topics=tuple(each.name for each in topics),
            name=row["name"],
            partition=None if file is not None else row["major"],
            file=bytes(file).decode() if isinstance(file, bytes | bytearray) else file,
            number=row["minor"],
        )

    def _range(self, first: int, end: int) -> DataFrame:
        number = self._frame[_NUMBER]
        return self._frame.where((number >= first) & (number < end)).drop(_NUMBER)

    def _copied(self, told: dict[str, Any]) -> Sequence[Sequence[Topic]]:
        """Copy the raw records of the batch; return what the numbers of their topics stand for."""
        from joinery.spark.recovery.checkpoint import committed_positions
        from joinery.spark.source.open import open_sources
        from joinery.spark.source.source import sources_of

        checkpoint, batch = self._folder / "checkpoint", int(told["batch"])
        if not checkpoint.exists():
            copy_folder(self._spec.place_of(told["checkpoint"]), checkpoint, ("state", "_*"))
        if (again := self._read_again(checkpoint, batch)) is not None:
            self._keep(again.frame)
            return again.topics
        reads = sources_of(self._spec, self._products)
        raw = open_sources(self._session, self._spec, reads, committed_positions(checkpoint))

        def keep(frame: DataFrame, number: int) -> None:
            if number != batch:
                raise EnoughError
            self._keep(frame)

        if self._is_kept:
            return raw.topics
        writer = raw.frame.writeStream.option("checkpointLocation", str(checkpoint))
        query = writer.foreachBatch(keep).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except Exception:
            if not self._is_kept:
                raise
        return raw.topics

    def _read_again(self, checkpoint: Path, batch: int) -> RecordsAgain | None:
        """Return what a batch reads again of the log for products that were added, if it does."""
        from joinery.spark.batch.query_kernel import lower_query
        from joinery.spark.recovery.checkpoint import positions_after, untold
        from joinery.spark.source.again import open_again
        from joinery.spark.source.source import sources_of

        telling = untold(checkpoint)
        if telling is None or telling.part is None or telling.batch != batch:
            return None
        standing = standing_fingerprint(checkpoint)
        program = lower_query(self._products, self._spec.run, standing).program
        return open_again(
            self._session,
            self._spec,
            checkpoint,
            sources_of(self._spec, self._products),
            positions_after(checkpoint, batch - 1),
            relations_of(program, telling.part),
        )

    def _keep(self, records: DataFrame) -> None:
        """Copy records with a number each, unless they were."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        if not self._is_kept:
            order = Window.orderBy("topic", "major", "minor")
            numbered = records.withColumn(_NUMBER, F.row_number().over(order) - 1)
            numbered.write.mode("overwrite").parquet(str(self._records))

    @property
    def _is_kept(self) -> bool:
        return (self._records / "_SUCCESS").exists()


def main() -> None:
    """Answer what the parent asks, a JSON text each, until its input ends."""
    from joinery.spark.analyse import SparkAnalyser
    from joinery.spark.jar import connector_jars
    from joinery.spark.jvm import add_jars
    from joinery.spark.session import open_session

    parent = pipes_to_parent()
    told = json.loads(parent.receive())
    spec = read_project(_tree(told["project"]), folder=Path(told["project_folder"]))
    session = open_session(
        f"{spec.name} probe",
        log=Path(told["folder"]) / "spark.log",
        master="local[1]",
        settings=dict(spec.run.spark),
    )
    add_jars(session, connector_jars(spec))
    plan = build_plan(spec, SparkAnalyser(session))
    products = [each for each in outputs_of(plan) if each.query == told["query"]]
    probe = Probe(session, told, spec, products)
    _say(parent, {"count": probe.count})
    with suppress(EOFError):
        while True:
            first, end, what = json.loads(parent.receive())
            if what == "place":
                _say(parent, {"place": asdict(probe.place(first))})
            else:
                _say(parent, _tried(probe, first, end))
    session.stop()


def _tried(probe: Probe, first: int, end: int) -> dict[str, str]:
    try:
        return {"why": probe.attempt(first, end)}
    except AwayError as away:
        return {"away": str(away)}


def _tree(text: str) -> Any:
    tree = read_tree(text)
    assert tree is not None  # the parent dumped it
    return tree


def _say(parent: Pipes, answer: dict[str, Any]) -> None:
    parent.send(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
