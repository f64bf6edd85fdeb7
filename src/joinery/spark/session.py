"""Makes the Spark session of a run, quiet and tuned for keyed state, or clones the user's.

Spark's own log, and what the JVM says on its error stream, go to a file that is named when
something fails. Spark's JVM starts sooner with an archive of its classes (class data
sharing, JEP 350), which belongs to one Java and one set of jars; `joinery.cli.class_archive`
makes it, and without one Spark starts as ever.

Invariant: a setting of the user wins over every setting made here; the user's own session,
its settings and what is active stay as they are.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession
from pyspark.sql.session import _monkey_patch_RDD

from joinery.artifact import java
from joinery.errors import RunError
from joinery.expression.problem import not_portable
from joinery.model.type import DataType
from joinery.processor import usable_processors
from joinery.project.product import ProjectSpec
from joinery.spark.analyse import SparkAnalyser
from joinery.spark.jar import connector_jars
from joinery.spark.kernel import add_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def archive_file() -> Path:
    """Return where the archive of this Java, this Spark and this environment stands."""
    program = Path(java()).resolve()
    package = importlib.util.find_spec("pyspark")
    jars = Path(package.origin or "").parent / "jars" if package else Path()
    known = (program, program.stat().st_mtime_ns, jars, jars.stat().st_mtime_ns)
    told = " ".join(map(str, (*known, importlib.metadata.version("pyspark"))))
    name = hashlib.sha256(told.encode()).hexdigest()[:16]
    return Path(sys.prefix) / "share" / "joinery" / f"classes-{name}.jsa"


def archive_option() -> str:
    """Return the option with which the JVM takes the archive; empty where there is none."""
    found = archive_file()
    return f'"-XX:SharedArchiveFile={found}"' if found.exists() else ""


_STORE = "spark.sql.streaming.stateStore"
STATE_SETTINGS: Mapping[str, str] = {
    f"{_STORE}.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{_STORE}.rocksdb.trackTotalNumberOfRows": "false",
}
"""What keeps join state."""
RUN_SETTINGS: Mapping[str, str] = {
    **STATE_SETTINGS,
    # Lets a checkpoint go on in real-time mode, and tells a batch's state from a lost one's.
    f"{_STORE}.checkpointFormatVersion": "2",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}
"""What a run needs besides."""
_LOCAL_FILES = "dev.joinery.kernel.spark.LocalCheckpoint"
# A third of a short run is just-in-time compilation; smaller inlining halves that
# (docs/design/performance.md).
_LOCAL_JVM = (
    "-XX:+UseParallelGC -Xmn256m"
    " -XX:MaxInlineLevel=6 -XX:FreqInlineSize=120 -XX:InlineSmallCode=1000"
)
_JAVA = 17
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


class JavaMissingError(RunError):
    """No Java that Spark can run on."""

    code = "RUN_JAVA"


def open_session(
    name: str,
    *,
    log: Path,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark and return its session.

    Args:
        name: Shown by cluster managers.
        log: The file that takes Spark's log.
        master: Such as `local[4]`; by default all cores of this machine.
        settings: Any Spark settings; they win.

    Raises:
        RunError: Java is missing or too old, or Spark does not start.
    """
    check_java()
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    log.parent.mkdir(parents=True, exist_ok=True)
    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(session_settings(name, log, master=master, settings=settings).items()))
    try:
        with log.open("ab") as stream:
            streams = {"stdout": stream, "stderr": stream}
            gateway = launch_gateway(conf, streams)  # type: ignore[no-untyped-call]
        _keep_from_signals(gateway)
        SparkContext(conf=conf, gateway=gateway)
        return SparkSession.builder.getOrCreate()
    except Exception as error:
        raise RunError(
            "Spark did not start",
            detail=_first_line(str(error)),
            hint=f"See {log}; a wrong master or setting under run.spark is the usual cause.",
        ) from error


def session_settings(
    name: str, log: Path, *, master: str | None, settings: Mapping[str, str] | None
) -> dict[str, str]:
    """Return all settings of a session; those of the user win."""
    user = dict(settings or {})
    chosen = master or user.get("spark.master") or "local[*]"
    made = {
        "spark.master": chosen,
        "spark.app.name": f"joinery {name}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        **RUN_SETTINGS,
        "spark.sql.streaming.numRecentProgressUpdates": "10",
    }
    if chosen.startswith("local"):
        made |= {
            "spark.sql.shuffle.partitions": str(_cores(chosen)),
            "spark.driver.memory": "2g",
            "spark.driver.host": "localhost",
            "spark.driver.bindAddress": "127.0.0.1",
            # Shuffles stay on this machine, in its page cache.
            "spark.shuffle.compress": "false",
            # Spark's own ones fork a process for each file of a checkpoint.
            "spark.sql.streaming.checkpointFileManagerClass": _LOCAL_FILES,
            # Hadoop's local files have checksums already; a third file for each is time.
            "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
        }
    tuning = (_LOCAL_JVM, archive_option()) if chosen.startswith("local") else ()
    options = user.pop("spark.driver.extraJavaOptions", "")
    made["spark.driver.extraJavaOptions"] = " ".join(
        each for each in (_logging(log), *tuning, options) if each
    )
    return {**made, **user, "spark.master": chosen}


def check_java() -> None:
    """Refuse a machine without a Java that Spark can run on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    hint = f"Install a JDK {_JAVA} or newer, and set JAVA_HOME or the PATH."
    if java is None:
        where = f"in JAVA_HOME ({home})" if home else "on the PATH"
        raise JavaMissingError(f"there is no Java {where}", hint=hint)
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', told)
    if found and int(found[1]) < _JAVA:
        raise JavaMissingError(f"Java {found[1]} is too old for Spark", hint=hint)


def _keep_from_signals(gateway: Any) -> None:
    """Let the JVM outlive a SIGTERM to its whole group, as supervisors send it.

    The Python process takes the signal, finishes the batch and ends Spark; a JVM whose
    Python process has died ends by itself.
    """
    signals = gateway.jvm.sun.misc
    signals.Signal.handle(signals.Signal("TERM"), signals.SignalHandler.SIG_IGN)


def _logging(log: Path) -> str:
    """Write the configuration of Spark's log and return the Java option that names it."""
    config = log.with_name("log4j2.properties")
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(_LOG4J.format(log=log), encoding="utf-8")
    return f"-Dlog4j2.configurationFile={config.as_uri()}"


def _cores(master: str) -> int:
    threads = re.match(r"local\[(\d+)", master)
    if threads:
        return int(threads[1])
    return usable_processors() if master.startswith("local[*") else 1


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


class ActiveAnalyser:
    """Types expressions in a given session, or in the active one."""

    def __init__(self, session: SparkSession | None = None) -> None:
        self._session = session
        self._analyser: SparkAnalyser | None = None

    def type_of(self, sql: str, scope: Mapping[str, DataType]) -> DataType:
        """Return the type of `sql`.

        Raises:
            ExpressionError: Spark refuses `sql`, or there is no session to ask.
        """
        if self._analyser is None:
            session = self._session or SparkSession.getActiveSession()
            if session is None:
                raise not_portable(f'"{sql}"', offset=0)
            self._analyser = SparkAnalyser(session)
        return self._analyser.type_of(sql, scope)


def session_for(spec: ProjectSpec) -> SparkSession:
    """Return the active session, or open one that suits a project and lasts with the process.

    Raises:
        RunError: Java is missing, or Spark does not start.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    log = spec.path_of(spec.run.checkpoint) / "_logs" / "spark.log"
    made = open_session(spec.name, log=log, settings=dict(spec.run.spark))
    add_jars(made, connector_jars(spec))
    return made


_PARTITIONS = "spark.sql.shuffle.partitions"


def clone_session(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Return a clone of `spark` with `settings`, those apart that only a new session can have."""
    jvm_clone = spark._jsparkSession.cloneSession()
    chosen = dict(settings)
    if not jvm_clone.sessionState().conf().contains(_PARTITIONS):
        chosen.setdefault(_PARTITIONS, str(spark.sparkContext.defaultParallelism))
    for name, value in chosen.items():
        if name.startswith("spark.sql.") and jvm_clone.conf().isModifiable(name):
            jvm_clone.conf().set(name, value)
    clone = SparkSession(spark.sparkContext, jvm_clone)
    # A new session of Python takes RDD.toDF for itself; it stays with the user's.
    _monkey_patch_RDD(spark)
    return clone
