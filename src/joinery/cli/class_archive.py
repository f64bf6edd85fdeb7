"""Lets Spark start sooner on this machine: `python -m joinery.cli.class_archive`.

`make setup` does so. It runs the demo's project over a small history, and takes what Java
loaded for it into an archive in this Python environment, about 170 MB.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.cli.demo import project_text
from joinery.errors import JoineryError
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.spark.batch.run import Run, RunOptions
from joinery.spark.class_recorder import record_archive
from joinery.testing.github import generate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHANGES = 2_000


def main() -> int:
    """Make the archive, unless there is one; a machine that cannot is told so, and does without."""
    with tempfile.TemporaryDirectory(prefix="joinery-classes-") as folder:
        place = Path(folder)
        try:
            record_archive(place / "spark.log", lambda spark: _run(spark, place))
        except (JoineryError, OSError) as error:
            sys.stderr.write(f"Spark will start without an archive of its classes: {error}\n")
    return 0


def _run(spark: SparkSession, folder: Path) -> None:
    generate(folder / "data" / "changes", changes=_CHANGES)
    (folder / "joinery.yaml").write_text(project_text(), encoding="utf-8")
    spec = load_spec(folder / "joinery.yaml")
    run = Run(spec, build_plan(spec), RunOptions(once=True))
    run.prepare()
    run.start(spark)
    run.await_termination()


if __name__ == "__main__":
    sys.exit(main())
