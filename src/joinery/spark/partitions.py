"""How many partitions keep the state of a query: as many as the cluster has cores, then fixed.

A fresh checkpoint gets as many partitions as the cluster has cores for tasks, and keeps that
number whatever the cluster becomes; `joinery rescale` changes it. Spark's default, 200, would
mean 200 sets of files for each step of a query.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from joinery.model.warning import RunWarning

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

PARTITIONS = "spark.sql.shuffle.partitions"
MOST = 512
_FIRST_S = 60.0
_QUIET_S = 2.0
_POLL_S = 0.1


def choose_partitions(session: SparkSession) -> None:
    """Set in a session of ours how many partitions fresh checkpoints get, unless that was said."""
    if not session._jsparkSession.sessionState().conf().contains(PARTITIONS):
        session.conf.set(PARTITIONS, str(partitions_for(session.sparkContext)))


def partitions_for(context: SparkContext) -> int:
    """Return how many partitions suit a cluster: one a core, 512 at most."""
    cores = declared_cores(context.master or "", dict(context.getConf().getAll()))
    return max(1, min(MOST, cores or _registered_cores(context)))


def partitions_warning(query: str, standing: int, said: int) -> RunWarning:
    """Return what to look at where a setting does not apply to a standing checkpoint."""
    return RunWarning(
        code="WARN_PARTITIONS",
        about=f'query "{query}"',
        message=f'query "{query}" keeps its state in {standing} partitions, not in {said}',
        detail=f"The first batch of a checkpoint fixes {PARTITIONS}.",
        hint=f"Stop the run, then joinery rescale --partitions {said}.",
    )


def declared_cores(master: str, settings: Mapping[str, str]) -> int | None:
    """Return how many cores the settings give to tasks; None where the cluster decides.

    Args:
        master: Spark's.
        settings: Spark's.
    """
    inside = re.match(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)", master)
    if inside:
        return int(inside[1]) * int(inside[2])
    most = settings.get("spark.cores.max")
    executors = _executors(settings)
    cores = settings.get("spark.executor.cores")
    if executors is None or (cores is None and master.startswith("spark://")):
        return int(most) if most else None  # one of a standalone cluster has a whole worker
    asked = executors * int(cores or 1)
    return min(asked, int(most)) if most else asked


def _executors(settings: Mapping[str, str]) -> int | None:
    if str(settings.get("spark.dynamicAllocation.enabled", "false")).lower() == "true":
        most = settings.get("spark.dynamicAllocation.maxExecutors")
    else:
        most = settings.get("spark.executor.instances")
    return int(most) if most else None


def _registered_cores(context: SparkContext) -> int:
    """Return the cores of the executors that are there, once no more have come for a while."""
    if (context.master or "").startswith("local"):
        return context.defaultParallelism
    jvm_context: Any = context._jsc.sc()
    deadline = time.monotonic() + _FIRST_S
    seen, since = (0, 0), time.monotonic()
    while time.monotonic() < deadline:
        # The driver is one of those that tell their memory.
        now = (jvm_context.getExecutorMemoryStatus().size() - 1, context.defaultParallelism)
        if now != seen:
            seen, since = now, time.monotonic()
        elif seen[0] > 0 and time.monotonic() - since > _QUIET_S:
            break
        time.sleep(_POLL_S)
    return context.defaultParallelism
