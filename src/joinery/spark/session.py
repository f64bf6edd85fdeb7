"""Makes the Spark session of a run, quiet and tuned for keyed state, or clones the user's.

Spark's own log, and what the JVM says on its error stream, go to a file that is named when
something fails.

Invariant: the user's own session, its settings and what is active stay as they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql.session import _monkey_patch_RDD

from joinery.errors import JoineryError, RunError
from joinery.expression.problem import not_portable
from joinery.java import JavaMissingError, find_java
from joinery.model.type import DataType
from joinery.project.product import ProjectSpec
from joinery.spark.analyse import SparkAnalyser
from joinery.spark.jar import connector_jars
from joinery.spark.jvm import add_jars
from joinery.spark.launch import (
    RENAMED_FILES,
    Driver,
    checkpoint_settings,
    session_settings,
    start_driver,
)
from joinery.spark.partitions import PARTITIONS, partitions_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_session(
    name: str,
    *,
    log: Path,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    driver: Driver | None = None,
) -> SparkSession:
    """Start Spark and return its session.

    Args:
        name: Shown by cluster managers.
        log: The file that takes Spark's log.
        master: Such as `local[4]`; by default all cores of this machine.
        settings: Any Spark settings; they win.
        driver: Was started with what the other arguments say, and is taken.

    Raises:
        RunError: Java is missing or too old, or Spark does not start.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        if driver is None:
            told = session_settings(name, log, master=master, settings=settings)
            driver = start_driver(told, log) if SparkContext._gateway is None else None
            if driver is None:
                return _submitted(told, log)
        return _attached(driver)
    except JavaMissingError:
        raise
    except Exception as error:
        raise RunError(
            "Spark did not start",
            detail=_reason(error),
            hint=f"See {log}; a wrong master or setting under run.spark is the usual cause.",
        ) from error


_SCRIPTS_MODULE = "jdk.incubator.vector"
_LAUNCH = "dev.joinery.kernel.door.Launch"


def _attached(driver: Driver) -> SparkSession:
    """Return the session that a JVM of ours opens by itself."""
    address = driver.address()
    names = {"PYSPARK_GATEWAY_PORT": str(address.port), "PYSPARK_GATEWAY_SECRET": address.secret}
    os.environ.update(names)
    try:
        gateway = launch_gateway()  # type: ignore[no-untyped-call]  # PySpark gives it no types
    finally:
        for each in names:
            del os.environ[each]
    gateway.proc = driver.process
    context = getattr(gateway.jvm, _LAUNCH).context()
    conf = SparkConf(_jconf=context.sc().conf())
    SparkContext(conf=conf, gateway=gateway, jsc=context)
    return SparkSession.builder.getOrCreate()


def _submitted(settings: Mapping[str, str], log: Path) -> SparkSession:
    """Return a session that Spark's own scripts start, unless this process has its JVM."""
    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(settings.items()))
    with log.open("ab") as stream, _chosen_java():
        streams = {"stdout": stream, "stderr": stream}
        # PySpark gives it no types.
        gateway = SparkContext._gateway or launch_gateway(conf, streams)  # type: ignore[no-untyped-call]
    _keep_from_signals(gateway)
    SparkContext(conf=conf, gateway=gateway)
    return SparkSession.builder.getOrCreate()


@contextmanager
def _chosen_java() -> Iterator[None]:
    """Let Spark's scripts take the Java that was chosen, where they would not find it.

    Raises:
        JavaMissingError: It lacks what the scripts ask it for.
    """
    java = find_java()
    if java.modules and _SCRIPTS_MODULE not in java.modules:
        raise JavaMissingError(
            f"Spark's own scripts cannot start {java}",
            detail=f"It lacks the module {_SCRIPTS_MODULE}, which they need.",
            hint="Install a JDK 17 or newer, or leave out what needs the scripts"
            " (docs/operation.md).",
        )
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(java.home)
    try:
        yield
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before


def _keep_from_signals(gateway: Any) -> None:
    """Let the JVM outlive a SIGTERM to its whole group, as supervisors send it.

    The Python process takes the signal, finishes the batch and ends Spark; a JVM whose
    Python process has died ends by itself.
    """
    signals = gateway.jvm.sun.misc
    signals.Signal.handle(signals.Signal("TERM"), signals.SignalHandler.SIG_IGN)


def _reason(error: Exception) -> str:
    """Return why Spark did not start, in one line; a Java exception says it itself."""
    if isinstance(error, JoineryError):
        return error.message
    text = str(getattr(error, "java_exception", error))
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


def active_session() -> SparkSession | None:
    """Return the session that is active in this thread, if there is one."""
    return SparkSession.getActiveSession()


def session_for(spec: ProjectSpec) -> SparkSession:
    """Return the active session, or open one that suits a project and lasts with the process.

    Raises:
        RunError: Java is missing, or Spark does not start.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate()  # active in another thread
    log = spec.scratch / "_logs" / "spark.log"
    made = open_session(
        spec.name, log=log, settings={**checkpoint_settings(spec), **dict(spec.run.spark)}
    )
    add_jars(made, connector_jars(spec))
    return made


def clone_session(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Return a clone of `spark` with `settings`, those apart that only a new session can have.

    Raises:
        RunError: Spark refuses the value of a setting.
    """
    jvm_clone = spark._jsparkSession.cloneSession()
    chosen = dict(settings)
    if PARTITIONS not in chosen and not jvm_clone.sessionState().conf().contains(PARTITIONS):
        chosen[PARTITIONS] = str(partitions_for(spark.sparkContext))
    for name, value in chosen.items():
        # Spark takes the manager of a checkpoint's files from a session, and does not list it.
        takes = value == RENAMED_FILES or jvm_clone.conf().isModifiable(name)
        if name.startswith("spark.sql.") and takes:
            _set(jvm_clone, name, value)
    clone = SparkSession(spark.sparkContext, jvm_clone)
    # A new session of Python takes RDD.toDF for itself; it stays with the user's.
    _monkey_patch_RDD(spark)
    return clone


def _set(jvm_session: Any, name: str, value: str) -> None:
    try:
        jvm_session.conf().set(name, value)
    except Exception as error:
        raise RunError(
            f'Spark rejects the setting "{name}"',
            detail=_reason(error),
            hint="See run.spark of the project.",
        ) from error
