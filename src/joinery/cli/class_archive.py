"""Lets Spark start sooner on this machine: `python -m joinery.cli.class_archive`.

`make setup` does so. It runs the demo's project over a small history, and takes what Java
loaded for it into an archive in this Python environment, about 160 MB. Java archives no class of
a signed jar, so of those it leaves copies without their signatures there.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.cli.demo import project_text
from joinery.errors import JoineryError, RunError
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.spark.batch.run import Run, RunOptions
from joinery.spark.jar import spark_home
from joinery.spark.launch import archive_file, unsigned_folder
from joinery.spark.session import open_session
from joinery.testing.github import generate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DUMP_S = 300.0
_SIGNATURES = (".SF", ".RSA", ".DSA", ".EC")


def copy_signed_jars(jars: Path, folder: Path) -> None:
    """Put copies of the signed jars among `jars` into a folder, without their signatures.

    Raises:
        OSError: The folder cannot be written.
        BadZipFile: A jar cannot be read.
    """
    for jar in sorted(jars.glob("*.jar")):
        with zipfile.ZipFile(jar) as signed:
            if not any(_is_signature(each) for each in signed.namelist()):
                continue
            folder.mkdir(parents=True, exist_ok=True)
            part = (folder / jar.name).with_suffix(".part")
            with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as unsigned:
                for entry in signed.infolist():
                    if not _is_signature(entry.filename):
                        unsigned.writestr(entry, signed.read(entry))
            part.replace(folder / jar.name)


def _is_signature(name: str) -> bool:
    return name.startswith("META-INF/") and name.upper().endswith(_SIGNATURES)


def record_archive(log: Path, work: Callable[[SparkSession], None]) -> Path:
    """Make the archive of the classes that `work` needs, unless there is one; return it.

    Args:
        log: Takes Spark's log.
        work: Done in a session of this process that has none, which is ended then.

    Raises:
        RunError: Spark does not start, or its JVM wrote no archive.
        OSError: The folder of the environment cannot be written.
        BadZipFile: A jar of Spark's cannot be read.
    """
    if archive_file().exists():
        return archive_file()
    copy_signed_jars(spark_home() / "jars", unsigned_folder())
    target = archive_file()
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    options = f'"-XX:ArchiveClassesAtExit={part}" -XX:TieredStopAtLevel=1'
    recording = {"spark.driver.extraJavaOptions": options}
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
        part.unlink(missing_ok=True)
        raise RunError(f"Java did not write its classes within {_DUMP_S:.0f} s") from error
    if not part.exists():
        raise RunError("Java wrote no archive of its classes")
    for old in target.parent.glob("*.jsa"):
        old.unlink()
    return part.replace(target)


_CHANGES = 2_000


def main() -> int:
    """Make the archive, unless there is one; a machine that cannot is told so, and does without."""
    with tempfile.TemporaryDirectory(prefix="joinery-classes-") as folder:
        place = Path(folder)
        try:
            record_archive(place / "spark.log", lambda spark: _run(spark, place))
        except (JoineryError, OSError, zipfile.BadZipFile) as error:
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
