"""Starts Spark's JVM, by itself where it can: no shell, and no JVM that finds out the command.

`bin/spark-submit` is a shell script that asks one JVM for the command of another, which opens the
session only when it is told. Here the JVM is started with its settings, and opens the session
while Python reads the project. What only Spark's own scripts understand is left to them: a master
that is not local, `spark-defaults.conf`, jars and files of the user's, and their environment.

The JVM starts sooner with an archive of its classes (class data sharing, JEP 350), which belongs
to one Java and one set of jars; `joinery.cli.class_archive` makes it, and without one Spark
starts as ever.

Invariant: a setting of the user wins over every setting made here.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from joinery.errors import RunError
from joinery.java import Java, find_java
from joinery.place.s3 import hadoop_settings
from joinery.processor import usable_processors
from joinery.project.product import ProjectSpec
from joinery.spark.jar import KernelBuildError, kernel_jar, spark_home

_STORE = "spark.sql.streaming.stateStore"
STATE_SETTINGS: Mapping[str, str] = {
    f"{_STORE}.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{_STORE}.rocksdb.trackTotalNumberOfRows": "false",
    # What is written of state belongs to what one attempt of a task left, and to no other's. It
    # also lets a checkpoint go on in real-time mode, and tells a batch's state from a lost one's.
    f"{_STORE}.checkpointFormatVersion": "2",
}
"""What keeps join state."""
RUN_SETTINGS: Mapping[str, str] = {
    **STATE_SETTINGS,
    # A query that has not ended by then is interrupted again (`stop_query`).
    "spark.sql.streaming.stopTimeout": "5s",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # What expressions ask for while they run; all else is settled when they are compiled.
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.legacy.castComplexTypesToString.enabled": "false",
}
"""What a run needs besides."""
_LOCAL_FILES = "dev.joinery.kernel.spark.LocalCheckpoint"
_OBJECTS = "dev.joinery.kernel.spark.ObjectCheckpoint"
RENAMED_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
)
# A third of a short run is just-in-time compilation; smaller inlining halves that
# (docs/design/performance.md).
_LOCAL_JVM = (
    "-XX:+UseParallelGC -Xmn256m -XX:+UseAdaptiveSizePolicyWithSystemGC"
    " -XX:MaxInlineLevel=6 -XX:FreqInlineSize=120 -XX:InlineSmallCode=1000"
)
# The second compiler pays in the long run only (docs/design/performance.md).
_SHORT_JVM = "-XX:TieredStopAtLevel=1"
# Elsewhere than at the address that it was made for, all of the archive is read and rewritten.
_AT_ITS_ADDRESS = (
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0"
)
_LOG4J = """\
status = error
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log}
appender.file.filePattern = {log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd'T'HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
"""
# Each product compiles some ten expressions, and a worker's threads compile them each for itself,
# again once they are forgotten. By default Spark remembers a hundred, over all queries.
_COMPILED_EXPRESSIONS = "10000"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def checkpoint_settings(spec: ProjectSpec) -> dict[str, str]:
    """Return the settings of a session whose checkpoints are where a project says."""
    place = spec.checkpoint
    if isinstance(place, Path):
        return {}
    # Both have checksums of their own.
    settings = {"spark.sql.streaming.checkpoint.fileChecksum.enabled": "false"}
    if place.can_rename:
        return {**settings, "spark.sql.streaming.checkpointFileManagerClass": RENAMED_FILES}
    return {
        **settings,
        "spark.sql.streaming.checkpointFileManagerClass": _OBJECTS,
        # Files of a checkpoint are read from their beginning to their end.
        "spark.hadoop.fs.s3a.input.stream.type": "classic",
        # Files are put by the client that puts all others, not by the SDK's second one.
        "spark.hadoop.fs.s3a.optimized.copy.from.local.enabled": "false",
        "spark.hadoop.fs.s3a.connection.expect.continue": "false",
        "spark.hadoop.fs.s3a.connection.timeout": "60s",  # of silence; by default 200 s
        **hadoop_settings(),
    }


def session_settings(
    name: str,
    log: Path,
    *,
    master: str | None,
    settings: Mapping[str, str] | None,
    short: bool = False,
) -> dict[str, str]:
    """Return all settings of a session; those of the user win.

    Args:
        name: Shown by cluster managers.
        log: The file that takes Spark's log; its configuration is written beside it.
        master: Such as `local[4]`; by default all cores of this machine.
        settings: Any Spark settings.
        short: The session has so little to do that only its start counts.
    """
    user = dict(settings or {})
    chosen = master or user.get("spark.master") or "local[*]"
    made = {
        "spark.master": chosen,
        "spark.app.name": f"joinery {name}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Else tasks ask the driver for each class that generated code might mean.
        "spark.sql.artifact.isolation.enabled": "false",
        # Written for listeners with each batch, be there a page for it or not.
        "spark.sql.ui.explainMode": "simple",
        "spark.sql.session.timeZone": "UTC",
        **RUN_SETTINGS,
        "spark.sql.streaming.numRecentProgressUpdates": "10",
        # How long a query rests that found nothing: ten idle groups spent a sixth of a processor
        # on looks ten milliseconds apart.
        "spark.sql.streaming.pollingDelay": "50ms",
        "spark.sql.codegen.cache.maxEntries": _COMPILED_EXPRESSIONS,
    }
    if chosen.startswith("local"):
        made |= {
            "spark.sql.shuffle.partitions": str(_cores(chosen)),
            "spark.driver.memory": "2g",
            "spark.driver.host": "localhost",
            "spark.driver.bindAddress": "127.0.0.1",
            # Shuffles stay on this machine, in its page cache.
            "spark.shuffle.compress": "false",
            # So do broadcasts, of which each batch makes one for each operator with state.
            "spark.broadcast.compress": "false",
            "spark.broadcast.checksum": "false",
            # Spark's own ones fork a process for each file of a checkpoint.
            "spark.sql.streaming.checkpointFileManagerClass": _LOCAL_FILES,
            # Hadoop's local files have checksums already; a third file for each is time.
            "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
            # Levels of a batch are one stage; nobody else's tasks may hold the slots forever.
            "spark.joinery.oneStage": "true",
        }
    tuning: tuple[str, ...] = ()
    if chosen.startswith("local"):
        tuning = (_LOCAL_JVM, _SHORT_JVM if short else "", archive_option())
    options = user.pop(_JAVA_OPTIONS, "")
    made[_JAVA_OPTIONS] = " ".join(each for each in (_logging(log), *tuning, options) if each)
    return {**made, **user, "spark.master": chosen}


def archive_file() -> Path:
    """Return where the archive of this Java, this Spark and this kernel stands."""
    known: list[object] = []
    jars = spark_home() / "jars"
    for path in (find_java().program.resolve(), jars, kernel_jar(), *_unsigned(jars)):
        known += [path, path.stat().st_mtime_ns]
    name = hashlib.sha256(" ".join(map(str, known)).encode()).hexdigest()[:16]
    return archive_folder() / f"classes-{name}.jsa"


def archive_folder() -> Path:
    """Return where this Python environment keeps what lets Spark start sooner."""
    return Path(sys.prefix) / "share" / "joinery"


def unsigned_folder() -> Path:
    """Return where copies of Spark's signed jars stand, whose classes an archive can hold."""
    return archive_folder() / "unsigned"


def _unsigned(jars: Path) -> list[Path]:
    copies = sorted(unsigned_folder().glob("*.jar"))
    return [each for each in copies if (jars / each.name).exists()]


def archive_option() -> str:
    """Return the options with which the JVM takes the archive; empty where there is none."""
    try:
        found = archive_file()
    except KernelBuildError:  # told where the kernel is needed
        return ""
    return f'{_AT_ITS_ADDRESS} "-XX:SharedArchiveFile={found}"' if found.exists() else ""


class Address(NamedTuple):
    """Where a JVM takes Python's calls, and what it asks of a caller."""

    port: int
    secret: str


@dataclass(frozen=True, slots=True)
class Driver:
    """A JVM that opens its session by itself.

    Attributes:
        process: The JVM, which ends when its standard input does.
        settings: Those of its session.
    """

    process: subprocess.Popen[bytes]
    settings: Mapping[str, str]
    _told: Path
    _output: tuple[Path, int]

    def address(self) -> Address:
        """Wait until the JVM takes calls, and return where.

        Raises:
            RunError: It ended before.
        """
        try:
            while not self._told.exists():
                if self.process.poll() is not None:
                    raise RunError(f"Java ended with {self.process.returncode}: {self._said()}")
                time.sleep(_POLL_S)
            told = self._told.read_bytes()
        finally:
            shutil.rmtree(self._told.parent, ignore_errors=True)
        port, length = struct.unpack_from(">ii", told)
        return Address(port, told[8 : 8 + length].decode())

    def _said(self) -> str:
        """Return the first line of what the JVM has written."""
        log, start = self._output
        told = log.read_bytes()[start:].decode(errors="replace")
        return next((line.strip() for line in told.splitlines() if line.strip()), "nothing")

    def end(self) -> None:
        """Let the JVM end; Spark's own end, where it has begun, comes before."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        shutil.rmtree(self._told.parent, ignore_errors=True)

    def kill(self) -> None:
        """End the JVM at once, which has done nothing yet; returns when it is gone."""
        self.process.kill()
        self.process.wait()


_POLL_S = 0.005
_MAIN = "dev.joinery.kernel.door.Launch"
# What Spark opens of the JDK for itself (JavaModuleOptions); the vector module, which only its
# machine learning uses, is left out: a small runtime lacks it.
_OPENED = """
java.base/java.lang java.base/java.lang.invoke java.base/java.lang.reflect java.base/java.io
java.base/java.net java.base/java.nio java.base/java.util java.base/java.util.concurrent
java.base/java.util.concurrent.atomic java.base/jdk.internal.ref java.base/sun.nio.ch
java.base/sun.nio.cs java.base/sun.security.action java.base/sun.util.calendar
java.security.jgss/sun.security.krb5
""".split()
_JVM = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens={each}=ALL-UNNAMED" for each in _OPENED),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "-Dderby.connection.requireAuthentication=false",
)
_NEWER_JVM = ("--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED")
# What PySpark and spark-submit add to the settings of a session.
_SUBMITTED = {
    "spark.rdd.compress": "True",
    "spark.serializer.objectStreamReset": "100",
    "spark.submit.deployMode": "client",
    "spark.submit.pyFiles": "",
}
_SCRIPTS_SETTINGS = (
    "spark.jars",
    "spark.files",
    "spark.archives",
    "spark.submit.",
    "spark.driver.default",
    "spark.driver.extraClassPath",
    "spark.driver.extraLibraryPath",
    "spark.driver.userClassPathFirst",
    "spark.kerberos.",
    "spark.remote",
    "spark.api.mode",
)
_SCRIPTS_ENVIRONMENT = {"HADOOP_CONF_DIR", "YARN_CONF_DIR", "PYSPARK_SUBMIT_ARGS"}
_PLAIN_ENVIRONMENT = {
    *("SPARK_HOME", "SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS", "SPARK_USER"),
    *("SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"),  # a session that was here sets them
}


def start_driver(settings: Mapping[str, str], log: Path) -> Driver | None:
    """Start a JVM that opens a session; None where only Spark's own scripts can.

    Args:
        settings: As `session_settings` returns them.
        log: Takes what the JVM writes.

    Raises:
        JavaMissingError: Java is missing or too old.
    """
    java, home = find_java(), spark_home()
    if os.name != "posix" or not _is_plain(settings, home):
        return None
    try:
        command = _command(java, home, settings)
    except KernelBuildError:  # told where the kernel is needed
        return None
    told = Path(tempfile.mkdtemp(prefix="joinery-")) / "address"
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "SPARK_CONNECT_MODE": "0",
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
    }
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as stream:
        start = stream.tell()
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=stream,
            env=environment,
            preexec_fn=_ignore_interrupt,
        )
    return Driver(process, dict(settings), told, (log, start))


def _ignore_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _is_plain(settings: Mapping[str, str], home: Path) -> bool:
    """Return whether nothing is there that only Spark's own scripts understand."""
    folder = home / "conf"
    return (
        settings["spark.master"].startswith("local")
        and not any(each.startswith(_SCRIPTS_SETTINGS) for each in settings)
        and "-Xmx" not in settings.get(_JAVA_OPTIONS, "")
        and not any(
            each in _SCRIPTS_ENVIRONMENT
            or (each.startswith("SPARK_") and each not in _PLAIN_ENVIRONMENT)
            for each in os.environ
        )
        and not (folder.is_dir() and any(folder.iterdir()))
    )


def _command(java: Java, home: Path, settings: Mapping[str, str]) -> list[str]:
    newer = java.version >= 24
    told = {**_SUBMITTED, **settings}
    return [
        str(java.program),
        *("-cp", class_path(home)),
        f"-Xmx{settings.get('spark.driver.memory', '1g')}",
        *shlex.split(settings.get(_JAVA_OPTIONS, "")),
        *_JVM,
        *(_NEWER_JVM if newer else ()),
        *(f"-D{name}={value}" for name, value in told.items()),
        _MAIN,
    ]


def class_path(home: Path | None = None) -> str:
    """Return the jars of Spark, then the kernel's: the archive holds for this order alone."""
    jars = (home or spark_home()) / "jars"
    return os.pathsep.join((*map(str, _unsigned(jars)), f"{jars}{os.sep}*", str(kernel_jar())))


def remove_log(log: Path) -> None:
    """Remove Spark's log and its configuration."""
    for each in (log, _log_configuration(log)):
        each.unlink(missing_ok=True)


def _log_configuration(log: Path) -> Path:
    return log.with_name("log4j2.properties")


def _logging(log: Path) -> str:
    """Write the configuration of Spark's log and return the Java option that names it."""
    config = _log_configuration(log)
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(_LOG4J.format(log=log), encoding="utf-8")
    return f"-Dlog4j2.configurationFile={config.as_uri()}"


def _cores(master: str) -> int:
    threads = re.match(r"local\[(\d+)", master)
    if threads:
        return int(threads[1])
    return usable_processors() if master.startswith("local[*") else 1
