"""Java artifacts from Maven repositories, fetched with the Ivy that PySpark ships.

Used for what the PySpark wheel leaves out: Spark's own connectors, and the servers of the
development stack. All versions stand in `VERSIONS`; `JOINERY_VERSION_<NAME>` overrides one,
`JOINERY_MAVEN` names another repository than Maven Central.

Invariant: a folder that stands under its final name is complete (fetched aside, renamed).
"""

from __future__ import annotations

import fcntl
import importlib.util
import logging
import os
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from joinery.errors import RunError
from joinery.java import find_java
from joinery.place.cache import cache_folder

_log = logging.getLogger(__name__)

# Spark's Kafka connector is 4.2.0 on PySpark 4.3.0, with the token provider 4.0.0, on purpose: they
# are the newest that the Maven repository of our builds has, and every test with a broker passes
# on them. JOINERY_VERSION_SPARK_KAFKA and JOINERY_VERSION_SPARK_KAFKA_TOKEN take others; run
# `tests/services/test_kafka_*.py` with them before they are pinned here. Debezium's connectors
# are of three versions for the same reason.
VERSIONS = {
    "spark-kafka": "4.2.0",
    "spark-kafka-token": "4.0.0",
    "kafka-clients": "3.9.2",
    "commons-pool": "2.13.1",
    # That of the Hadoop in PySpark 4.3, and the SDK that it is built with.
    "hadoop-aws": "3.5.0",
    "aws-sdk": "2.35.5",
    "s3-accelerator": "1.3.1",
    "aws-eventstream": "1.0.1",
    "reactive-streams": "1.0.4",
    "kafka": "4.3.1",
    "slf4j": "1.7.36",
    "debezium": "3.7.0.Final",
    "debezium-mysql": "3.6.1.Final",
    "debezium-mariadb": "3.5.0.Final",
    "apicurio": "3.0.9",
    "dynamodb": "2.6.1",
    "opensearch": "2.19.1.0",
    "lucene": "9.12.3",
    "mariadb": "11.4.5",
}


class ArtifactError(RunError):
    """A Java artifact is not here and could not be fetched."""

    code = "RUN_ARTIFACT"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A Maven artifact.

    Attributes:
        group: Such as `org.apache.kafka`.
        name: Such as `kafka-clients`.
        version: Such as `3.9.2`.
        classifier: Such as `plugin`; mostly empty.
        extension: The file's, such as `jar` or `tar.gz`.
        transitive: Whether what it depends on comes too.
    """

    group: str
    name: str
    version: str
    classifier: str = ""
    extension: str = "jar"
    transitive: bool = False

    def __str__(self) -> str:
        return ":".join(
            part for part in (self.group, self.name, self.version, self.classifier) if part
        )


def version(name: str) -> str:
    """Return the version of one component: the environment's, else the one in `VERSIONS`."""
    return os.environ.get(f"JOINERY_VERSION_{name.upper().replace('-', '_')}", VERSIONS[name])


def fetch(name: str, *artifacts: Artifact) -> tuple[Path, ...]:
    """Return the files of some artifacts, fetched at first use.

    Args:
        name: What they are for; names the folder they are kept in.
        artifacts: What to fetch.

    Raises:
        ArtifactError: They are not here, and could not be fetched.
    """
    folder = _folder(name, artifacts)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.parent):
            if not folder.is_dir():  # else another process was first
                _fetch(folder, artifacts)
    return fetched(name, *artifacts)


def fetched(name: str, *artifacts: Artifact) -> tuple[Path, ...]:
    """Return the same as `fetch` where they are here; none where they are not."""
    folder = _folder(name, artifacts)
    listed = folder.iterdir() if folder.is_dir() else ()
    return tuple(sorted(each for each in listed if each.is_file()))


def _folder(name: str, artifacts: Sequence[Artifact]) -> Path:
    versions = "_".join(dict.fromkeys(each.version for each in artifacts))
    return cache_folder() / "artifacts" / f"{name}-{versions}"


def _fetch(folder: Path, artifacts: tuple[Artifact, ...]) -> None:
    _log.info("fetching %s, once", ", ".join(map(str, artifacts)))
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as scratch:
        aside = Path(scratch, "files")
        _retrieve(artifacts, aside)
        _put_in_place(aside, folder)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Fetch one after the other: two processes in one cache of Ivy spoil each other's files."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch_unpacked(name: str, archive: Artifact) -> Path:
    """Return the folder of what an archive (`tar.gz`, or a jar) holds, fetched at first use.

    Raises:
        ArtifactError: It is not here, and could not be fetched.
    """
    (packed,) = fetch(name, archive)
    folder = packed.parent.with_name(f"{packed.parent.name}-unpacked")
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpacking-") as scratch:
            aside = Path(scratch, "files")
            _unpack(packed, aside)
            _put_in_place(aside, folder)
    return folder


def _unpack(packed: Path, folder: Path) -> None:
    if packed.suffix == ".jar":
        with zipfile.ZipFile(packed) as jar:
            jar.extractall(folder)
        return
    with tarfile.open(packed) as tar:
        tar.extractall(folder, filter="data")


def _put_in_place(aside: Path, folder: Path) -> None:
    try:
        aside.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process was first
            raise


def _retrieve(artifacts: tuple[Artifact, ...], folder: Path) -> None:
    """Run Ivy in a Java process of its own."""
    folder.mkdir()
    wanted = folder.parent / "ivy.xml"
    wanted.write_text(_ivy_file(artifacts), encoding="utf-8")
    settings = wanted.with_name("ivysettings.xml")
    settings.write_text(_ivy_settings(artifacts), encoding="utf-8")
    done = subprocess.run(
        [java(), "-cp", str(_spark_jars() / "*"), "org.apache.ivy.Main"]
        + ["-settings", str(settings)]
        + ["-cache", str(cache_folder() / "ivy"), "-ivy", str(wanted), "-confs", "default"]
        + ["-types", *sorted({"jar", "bundle", *(each.extension for each in artifacts)})]
        + ["-retrieve", f"{folder}/[artifact]-[revision](-[classifier]).[ext]"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = {each.name for each in folder.iterdir()}
    missing = [str(each) for each in artifacts if not any(each.name in file for file in found)]
    if done.returncode or missing:
        names = ", ".join(missing or map(str, artifacts))
        raise ArtifactError(
            f"could not fetch {names}",
            detail="\n".join((done.stdout + done.stderr).strip().splitlines()[-12:]),
            hint="Check the network, or name another version: JOINERY_VERSION_<NAME>.",
        )


def _ivy_settings(artifacts: tuple[Artifact, ...]) -> str:
    """Return where Ivy looks; POMs are read only where they tell what else is needed."""
    from xml.sax.saxutils import quoteattr  # brings an HTTP client along

    poms = str(any(each.transitive for each in artifacts)).lower()
    chosen = os.environ.get("JOINERY_MAVEN")
    root = f" root={quoteattr(chosen)}" if chosen else ""
    return (
        '<ivysettings><settings defaultResolver="public"/><resolvers>'
        f'<ibiblio name="public" m2compatible="true" usepoms="{poms}"{root}/>'
        "</resolvers></ivysettings>"
    )


def _ivy_file(artifacts: tuple[Artifact, ...]) -> str:
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="dev.joinery" module="needs"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{''.join(map(_dependency, artifacts))}</dependencies></ivy-module>"
    )


def _dependency(artifact: Artifact) -> str:
    from xml.sax.saxutils import quoteattr

    classifier = f" m:classifier={quoteattr(artifact.classifier)}" if artifact.classifier else ""
    special = artifact.classifier or artifact.extension != "jar"
    file = (
        f"<artifact name={quoteattr(artifact.name)} type={quoteattr(artifact.extension)}"
        f" ext={quoteattr(artifact.extension)}{classifier}/>"
        if special
        else ""
    )
    return (
        f"<dependency org={quoteattr(artifact.group)} name={quoteattr(artifact.name)}"
        f' rev={quoteattr(artifact.version)} force="true" conf="default"'
        f' transitive="{str(artifact.transitive).lower()}">{file}</dependency>'
    )


def _spark_jars() -> Path:
    """Return the jars of the Spark that PySpark runs, without importing it."""
    if home := os.environ.get("SPARK_HOME"):
        return Path(home) / "jars"
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise ArtifactError(
            "pyspark is not installed",
            hint="Run `pip install 'pyspark>=4.3,<4.4'` in this environment.",
        )
    return Path(found.origin).parent / "jars"


def java() -> str:
    """Return the Java to start a process with.

    Raises:
        JavaMissingError: There is none.
    """
    return str(find_java().program)
