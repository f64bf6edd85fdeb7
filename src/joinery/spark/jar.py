"""The jars that a session needs: the kernel's, compiled here, and Spark's Kafka connector.

Beside them that of the capture, a process of its own, which is built the same way.

An installed wheel carries the kernel's jar. A source checkout builds it at first use with the
machine's JDK against Spark's own jars and Kafka's client, in `kernel/build`, under a name that
holds the hash of its sources, of the Spark version and of this recipe, so a jar is never stale
and never changes under a running session. The connector, which the PySpark wheel leaves out, is
given to sessions that Joinery opens; a user's session is never given jars that its owner did not
choose.

Invariant: a jar that stands under its final name is complete (built aside, renamed).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.artifact import Artifact, fetch, fetched, version
from joinery.capture.program import libraries
from joinery.errors import RunError
from joinery.place.s3 import S3Options
from joinery.project.product import ProjectSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = _PACKAGE / "_kernel" / "joinery-kernel.jar"
_CHECKOUT = _PACKAGE.parents[1] / "kernel"
_RECIPE = "1"
_KEPT_JARS = 5
_OPENED = (
    "java.lang",
    "java.lang.invoke",
    "java.nio",
    "java.util",
    "sun.nio.ch",
    "sun.util.calendar",
)
_JUNIT = ("org.junit.platform", "junit-platform-console-standalone", "1.11.4")
# As a session is started: half of a short run is just-in-time compilation.
_JUNIT_JVM = (
    *("-Xmx1g", "-XX:+UseParallelGC"),
    *("-XX:MaxInlineLevel=6", "-XX:FreqInlineSize=120", "-XX:InlineSmallCode=1000"),
)
_PROVIDER = "org/apache/spark/sql/kafka010/KafkaSourceProvider.class"
_S3A = "org/apache/hadoop/fs/s3a/S3AFileSystem.class"
_SPARK = "org.apache.spark"
_ACCELERATOR = "software.amazon.s3.analyticsaccelerator"
_AWS = "software.amazon.awssdk"
_AWS_MODULES = """
annotations apache-client arns auth aws-core aws-query-protocol aws-xml-protocol checksums
checksums-spi crt-core endpoints-spi http-auth http-auth-aws http-auth-aws-eventstream
http-auth-spi http-client-spi identity-spi json-utils metrics-spi netty-nio-client profiles
protocol-core regions retries retries-spi s3 s3-transfer-manager sdk-core sts
third-party-jackson-core utils utils-lite
""".split()
_CONNECTOR_NAME = "spark-kafka"
_CONNECTOR = "spark-sql-kafka-0-10_2.13"
_CLASSES_AT_ONCE = (
    "--config=junit.jupiter.execution.parallel.enabled=true",
    "--config=junit.jupiter.execution.parallel.mode.classes.default=concurrent",
)


class KernelBuildError(RunError):
    """The kernel's jar is not there and cannot be built."""

    code = "RUN_KERNEL_BUILD"


@cache
def kernel_jar() -> Path:
    """Return the kernel's jar, built if need be.

    Raises:
        KernelBuildError: There is no shipped jar, and no JDK 17 or newer to build one, or
            the sources do not compile.
    """
    if not (_CHECKOUT / "src" / "main" / "java").is_dir():
        if _SHIPPED.is_file():
            return _SHIPPED
        raise KernelBuildError(
            "the kernel's jar is missing from this installation",
            detail=f"It should be in {_SHIPPED}.",
            hint="Install joinery again from its wheel.",
        )
    jar = _build_folder() / f"joinery-kernel-{_fingerprint()}.jar"
    if not jar.is_file():
        _build(jar, "main", [spark_home() / "jars" / "*", *kafka_client()])
    return jar


@cache
def capture_jar() -> Path:
    """Return the jar of the capture's program, built if need be, which is in no Spark session.

    Raises:
        KernelBuildError: As `kernel_jar`.
        ArtifactError: The libraries that it is compiled against could not be fetched.
    """
    shipped = _SHIPPED.with_name("joinery-capture.jar")
    if not (_CHECKOUT / "src" / "capture" / "java").is_dir():
        if shipped.is_file():
            return shipped
        raise KernelBuildError(
            "the jar of the capture is missing from this installation",
            detail=f"It should be in {shipped}.",
            hint="Install joinery again from its wheel.",
        )
    told = hashlib.sha256(f"{_RECIPE} {version('debezium')} {version('kafka')}".encode())
    for path in _sources("capture"):
        told.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    jar = _build_folder() / f"joinery-capture-{told.hexdigest()[:16]}.jar"
    if not jar.is_file():
        _build(jar, "capture", libraries())
    return jar


def spark_home() -> Path:
    """Return the folder of the Spark that PySpark runs: `SPARK_HOME`, else its own.

    Raises:
        KernelBuildError: PySpark is not installed.
    """
    if home := os.environ.get("SPARK_HOME"):
        return Path(home)
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise KernelBuildError(
            "pyspark is not installed",
            hint="Run `pip install 'pyspark>=4.3,<4.4'` in this environment.",
        )
    return Path(found.origin).parent


def _sources(kind: str) -> list[Path]:
    return sorted((_CHECKOUT / "src" / kind / "java").rglob("*.java"))


def _fingerprint() -> str:
    told = hashlib.sha256(f"{_RECIPE} {_spark_version()}".encode())
    for path in _sources("main"):
        told.update(str(path.relative_to(_CHECKOUT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return told.hexdigest()[:16]


def _spark_version() -> str:
    """Name the Spark to build against: its core jar tells, whoever installed it."""
    cores = sorted(each.name for each in (spark_home() / "jars").glob("spark-core_*.jar"))
    if cores:
        return cores[0]
    import importlib.metadata  # brings an e-mail parser along

    return importlib.metadata.version("pyspark")


def _build_folder() -> Path:
    folder = _CHECKOUT / "build"
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        folder = Path.home() / ".cache" / "joinery"
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _build(jar: Path, kind: str, class_path: Sequence[Path]) -> None:
    named = "kernel" if kind == "main" else kind
    sys.stderr.write(f"building the {named}, once after a change of its sources (about a minute)\n")
    with tempfile.TemporaryDirectory(dir=jar.parent, prefix=".building-") as scratch:
        classes = Path(scratch, "classes")
        _compile(_sources(kind), classes, class_path)
        _pack(classes, Path(scratch, jar.name))
        Path(scratch, jar.name).replace(jar)
    newest_first = sorted(
        jar.parent.glob(f"{jar.stem.rpartition('-')[0]}-*.jar"),
        key=lambda each: each.stat().st_mtime,
        reverse=True,
    )
    for old in newest_first[_KEPT_JARS:]:
        old.unlink(missing_ok=True)


def _compile(sources: Iterable[Path], classes: Path, class_path: Sequence[Path]) -> None:
    classes.mkdir(parents=True)
    # Java's second compiler costs a javac that runs once more than half of its time.
    arguments = ["-J-XX:TieredStopAtLevel=1", "--release", "17", "-encoding", "UTF-8"]
    arguments += ["-proc:none", "-d", str(classes)]
    path = os.pathsep.join(map(str, class_path))
    listing = classes.parent / f"{classes.name}.sources"
    listing.write_text("".join(f'"{each.as_posix()}"\n' for each in sources), encoding="utf-8")
    done = subprocess.run(
        [jdk_tool("javac"), *arguments, "-cp", path, f"@{listing}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise KernelBuildError(
            "the kernel does not compile",
            detail=(done.stderr or done.stdout).strip(),
            hint="A JDK 17 or newer is needed; `javac -version` shows which one is used.",
        )


def _pack(classes: Path, jar: Path) -> None:
    """Write a jar whose bytes depend on its classes alone."""
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), "Manifest-Version: 1.0\n")
        for path in sorted(each for each in classes.rglob("*") if each.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(classes).as_posix())
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())


def jdk_tool(name: str) -> str:
    """Return the JDK's own tool: from `JAVA_HOME`, as Spark does, else from the path.

    Raises:
        KernelBuildError: There is no JDK.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home, "bin"))) if home else None
    found = found or shutil.which(name)
    if found is None:
        raise KernelBuildError(
            f"no JDK: `{name}` is neither in JAVA_HOME nor on the PATH",
            detail="A source checkout compiles its kernel at first use.",
            hint="Install a JDK 17 or newer (not only a JRE), or install joinery from its wheel.",
        )
    return found


def run_java_tests(arguments: Sequence[str] = ()) -> int:
    """Compile and run all JUnit tests, a class per core; return JUnit's exit code.

    Args:
        arguments: Passed to JUnit's console, such as `-c dev.joinery.kernel.SomeTest`;
            without any, all tests run.
    """
    libraries = [kernel_jar(), capture_jar(), spark_home() / "jars" / "*", _junit(), *_lucene()]
    with tempfile.TemporaryDirectory(dir=_build_folder(), prefix=".testing-") as scratch:
        classes = Path(scratch, "classes")
        _compile(_sources("test"), classes, libraries)
        path = os.pathsep.join(
            map(str, [classes, _CHECKOUT / "src" / "test" / "resources", *libraries])
        )
        selected = list(arguments) or ["--scan-class-path", str(classes)]
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
        return subprocess.run(
            [jdk_tool("java"), *_JUNIT_JVM, *opened, "-cp", path]
            + ["org.junit.platform.console.ConsoleLauncher", "execute"]
            + ["--disable-banner", "--details=summary", "--fail-if-no-tests"]
            + [*_CLASSES_AT_ONCE, *selected],
            check=False,
        ).returncode


def _junit() -> Path:
    """Return JUnit's console jar, fetched with the Ivy that Spark ships."""
    group, artifact, version = _JUNIT
    folder = _build_folder() / "lib"
    jar = folder / f"{artifact}-{version}.jar"
    if jar.is_file():
        return jar
    done = subprocess.run(
        [jdk_tool("java"), "-cp", str(spark_home() / "jars" / "*"), "org.apache.ivy.Main"]
        + ["-cache", str(folder / "ivy"), "-dependency", group, artifact, version]
        + ["-confs", "default", "-types", "jar"]
        + ["-retrieve", f"{folder}/[artifact]-[revision].[ext]"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not jar.is_file():
        raise KernelBuildError(
            "could not fetch JUnit for the kernel's tests",
            detail=(done.stdout + done.stderr).strip()[-2000:],
            hint=f"Put {jar.name} from Maven Central into {folder} by hand.",
        )
    return jar


def _lucene() -> tuple[Path, ...]:
    """Return Lucene's jars, the oracle of text queries; no session is given them."""
    parts = ("core", "analysis-common", "memory", "queryparser", "queries", "sandbox")
    made = [Artifact("org.apache.lucene", f"lucene-{part}", version("lucene")) for part in parts]
    return fetch("lucene", *made)


class ConnectorMissingError(RunError):
    """A session lacks Spark's Kafka connector, or Hadoop's client of object stores."""

    code = "RUN_CONNECTOR"


def _went_live(spec: ProjectSpec) -> bool:
    """Return whether a query ran in real time, so that what it sent is read back from Kafka."""
    return isinstance(spec.checkpoint, Path) and any(spec.checkpoint.glob("*/real_time.json"))


def needs_s3a(spec: ProjectSpec) -> bool:
    """Return whether a project's checkpoint is in an object store."""
    checkpoint = spec.checkpoint
    return not isinstance(checkpoint, Path) and checkpoint.options.scheme == S3Options.scheme


def connector_jars(spec: ProjectSpec) -> tuple[Path, ...]:
    """Return the jars that a project's sources, sinks and checkpoint need, fetched at first use."""
    reads = any(each.kind == "kafka" for each in spec.sources)
    sends = spec.run.real_time or _went_live(spec)
    kafka = kafka_jars() if reads or sends else ()
    return (*kafka, *s3_jars()) if needs_s3a(spec) else kafka


def s3_jars() -> tuple[Path, ...]:
    """Return the jars of S3A, Hadoop's client of object stores, fetched at first use.

    Of the AWS SDK these are the modules that S3A calls. Its bundle has all services of AWS in
    one jar of more than half a gigabyte.

    Raises:
        ArtifactError: They are not here, and could not be fetched.
    """
    sdk = [Artifact(_AWS, each, version("aws-sdk")) for each in _AWS_MODULES]
    return fetch(
        "s3a",
        Artifact("org.apache.hadoop", "hadoop-aws", version("hadoop-aws")),
        Artifact(_ACCELERATOR, "analyticsaccelerator-s3", version("s3-accelerator")),
        Artifact("software.amazon.eventstream", "eventstream", version("aws-eventstream")),
        Artifact("org.reactivestreams", "reactive-streams", version("reactive-streams")),
        *sdk,
    )


def kafka_jars() -> tuple[Path, ...]:
    """Return the jars of the Kafka connector, fetched at first use.

    Raises:
        ArtifactError: They are not here, and could not be fetched.
    """
    return fetch(_CONNECTOR_NAME, *_connector())


def _connector() -> Sequence[Artifact]:
    return (
        Artifact(_SPARK, _CONNECTOR, version("spark-kafka")),
        Artifact(_SPARK, "spark-token-provider-kafka-0-10_2.13", version("spark-kafka-token")),
        Artifact("org.apache.kafka", "kafka-clients", version("kafka-clients")),
        Artifact("org.apache.commons", "commons-pool2", version("commons-pool")),
    )


def kafka_client() -> tuple[Path, ...]:
    """Return the jar of Kafka's client, which reads topics without Spark, fetched at first use.

    Raises:
        ArtifactError: It is not here, and could not be fetched.
    """
    return known_kafka_client() or _clients(kafka_jars())


def known_kafka_client() -> tuple[Path, ...]:
    """Return the same where it is here; none where it would have to be fetched."""
    return _clients((spark_home() / "jars").glob("kafka-clients-*.jar")) or _clients(
        fetched(_CONNECTOR_NAME, *_connector())
    )


def _clients(jars: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(each for each in jars if each.name.startswith("kafka-clients-"))


def require_s3a(session: SparkSession) -> None:
    """Refuse a session without Hadoop's client of object stores.

    Raises:
        ConnectorMissingError: Naming the jars that it needs.
    """
    if not _has(session, _S3A):
        raise ConnectorMissingError(
            "this Spark session has no S3A, the client of object stores",
            hint="Start it with --jars $(python -m joinery.spark.jar --s3a)",
        )


def _has(session: SparkSession, name: str) -> bool:
    jvm: Any = session._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return loader.getResource(name) is not None


def require_connector(session: SparkSession) -> None:
    """Refuse a session without the Kafka connector.

    Raises:
        ConnectorMissingError: Naming the package it needs.
    """
    if _has(session, _PROVIDER):
        return
    package = f"{_SPARK}:{_CONNECTOR}:{version('spark-kafka')}"
    raise ConnectorMissingError(
        "this Spark session has no Kafka connector",
        hint=f"Start it with spark.jars.packages={package} (or --packages).",
    )


def main(arguments: Sequence[str]) -> int:
    """Build the jar and print its path; `--s3a`, `--test [JUnit arguments]`, `--into FOLDER`."""
    try:
        match list(arguments):
            case []:
                sys.stdout.write(f"{kernel_jar()}\n")
            case ["--s3a"]:
                sys.stdout.write(f"{','.join(map(str, s3_jars()))}\n")
            case ["--into", folder]:
                Path(folder).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(kernel_jar(), Path(folder, "joinery-kernel.jar"))
                shutil.copyfile(capture_jar(), Path(folder, "joinery-capture.jar"))
            case ["--test", *selected]:
                return run_java_tests(selected)
            case _:
                sys.stderr.write(
                    "usage: python -m joinery.spark.jar [--s3a | --into FOLDER | --test [JUNIT…]]\n"
                )
                return 2
    except KernelBuildError as error:
        sys.stderr.write(
            "\n".join(part for part in (str(error), error.detail, error.hint) if part) + "\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
