"""The JVM of a Spark session: jars that are added to it, its classes and arrays.

A jar is put into the live session that it is used from; nothing of the session's own settings
changes. A session of Spark Connect has no JVM to reach and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from joinery.errors import RunError
from joinery.spark.jar import kernel_jar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SessionError(RunError):
    """A Spark session cannot run the kernel."""

    code = "RUN_SESSION"


def require_classic(session: object) -> None:
    """Refuse a session of Spark Connect, one that was stopped, and what is none.

    Raises:
        SessionError: It is one of them.
    """
    from pyspark.sql import SparkSession  # which takes as long to import as all else here

    if isinstance(session, SparkSession):
        if session.sparkContext._jsc is None or session.sparkContext._jsc.sc().isStopped():
            raise SessionError(
                "the Spark session was stopped",
                hint="Pass an active one, such as SparkSession.builder.getOrCreate().",
            )
        return
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise SessionError(
            "Joinery cannot run in a Spark Connect session",
            detail="Its kernel runs inside the driver's JVM, which a Connect client cannot reach.",
            hint="Use a classic session, such as SparkSession.builder.master(…).",
        )
    what = "None" if session is None else f"an object of type {type(session).__name__}"
    raise SessionError(
        f"{what} is not a Spark session",
        hint="Pass one, such as SparkSession.builder.getOrCreate().",
    )


def load_jar(session: SparkSession) -> None:
    """Make the kernel's classes known to the driver and the executors of a live session."""
    require_classic(session)
    add_jars(session, (kernel_jar(),))


def add_jars(session: SparkSession, jars: Iterable[Path]) -> None:
    """Make the classes of jars known to the driver and the executors of a live session."""
    jvm: Any = session._jvm
    loader = class_of(session, "java.lang.Thread").currentThread().getContextClassLoader()
    urls = {str(url) for url in loader.getURLs()}
    known = _jars(session)
    for jar in jars:
        if not any(each.endswith(jar.name) for each in urls):
            loader.addURL(jvm.java.net.URI(jar.resolve().as_uri()).toURL())
        if not any(each.endswith(jar.name) for each in known):
            session.sparkContext._jsc.addJar(str(jar))


def _jars(session: SparkSession) -> list[str]:
    context: Any = session.sparkContext._jsc
    jars = context.sc().listJars()
    return [str(jars.apply(index)) for index in range(jars.size())]


def class_of(session: SparkSession, name: str) -> Any:
    """Return a class of the session's JVM."""
    # At once: each part of a name would be searched for as a class, in all jars.
    return getattr(session._jvm, name)


def made_beside_jars(session: SparkSession, name: str, argument: Any) -> Any:
    """Return an object of a class of the kernel's that uses jars added to the session.

    The kernel may be on the JVM's class path, from where what was added is not seen; here its jar
    is looked into before, by a loader of its own.
    """
    gateway: Any = session.sparkContext._gateway
    arguments = gateway.new_array(gateway.jvm.java.lang.Object, 1)
    arguments[0] = argument
    return _constructor(gateway, name).newInstance(arguments)


@cache  # The gateway remembers methods by the name of their class, so there is to be one of it.
def _constructor(gateway: Any, name: str) -> Any:
    jvm = gateway.jvm
    urls = gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = jvm.java.net.URI(kernel_jar().resolve().as_uri()).toURL()
    added = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader = jvm.org.apache.spark.util.ChildFirstURLClassLoader(urls, added)
    (constructor,) = loader.loadClass(name).getConstructors()
    return constructor


class Called:
    """A `Runnable` of the JVM that calls Python.

    Args:
        session: Of the JVM.
        call: What is called, by a thread of its own; what it raises reaches the JVM.
    """

    class Java:
        """What Python's gateway shows to the JVM."""

        implements: ClassVar = ["java.lang.Runnable"]

    def __init__(self, session: SparkSession, call: Callable[[], None]) -> None:
        from pyspark.java_gateway import ensure_callback_server_started

        # PySpark gives it no types.
        ensure_callback_server_started(session.sparkContext._gateway)  # type: ignore[no-untyped-call]
        self.run = call


def elements(collection: Any) -> list[Any]:
    """Return what a Java collection holds.

    To iterate over one ends with an exception, of which PySpark asks the JVM whether it is one of
    a dozen classes, found anew by their names each time.
    """
    return list(collection.toArray())


def strings(session: SparkSession, values: Sequence[str]) -> Any:
    """Return a Java array of `values`."""
    gateway: Any = session.sparkContext._gateway
    array = gateway.new_array(gateway.jvm.java.lang.String, len(values))
    for index, value in enumerate(values):
        array[index] = value
    return array
