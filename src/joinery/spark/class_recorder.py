"""Makes the archive of classes with which Spark's JVM starts sooner."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.errors import RunError
from joinery.spark.class_archive import archive_file
from joinery.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DUMP_S = 120.0


def record_archive(log: Path, work: Callable[[SparkSession], None]) -> Path:
    """Make the archive of the classes that `work` needs, unless there is one; return it.

    Args:
        log: Takes Spark's log.
        work: Done in a session of this process that has none, which is ended then.

    Raises:
        RunError: Spark does not start, or its JVM wrote no archive.
        OSError: The folder of the environment cannot be written.
    """
    target = archive_file()
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    recording = {"spark.driver.extraJavaOptions": f'"-XX:ArchiveClassesAtExit={part}"'}
    session = open_session("class archive", log=log, settings=recording)
    gateway = session.sparkContext._gateway
    assert gateway is not None
    work(session)
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(_DUMP_S)
    except subprocess.TimeoutExpired as error:
        gateway.proc.kill()
        raise RunError(f"Java did not write its classes within {_DUMP_S:.0f} s") from error
    if not part.exists():
        raise RunError("Java wrote no archive of its classes")
    for old in target.parent.glob("*.jsa"):
        old.unlink()
    return part.replace(target)
