"""What `spark-state` takes: nothing, since Spark keeps join state beside its checkpoint."""

from __future__ import annotations

from joinery.project.option import options


@options
class SparkStateOptions:
    """`spark-state`; `run.spark` says how Spark keeps what it remembers."""
