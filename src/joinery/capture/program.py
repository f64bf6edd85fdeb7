"""The program that captures a log: Debezium's connectors, and the command that runs one of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, assert_never

from joinery.artifact import Artifact, fetch, fetch_unpacked, java, version

_MAIN = "dev.joinery.capture.Capture"
_JVM = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:+ExitOnOutOfMemoryError",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
Plugin = Literal["postgres", "mysql", "mariadb"]


def libraries(plugin: Plugin = "postgres") -> tuple[Path, ...]:
    """Return the jars of one of Debezium's connectors and what it needs, fetched at first use.

    Raises:
        ArtifactError: They are not here, and could not be fetched.
    """
    match plugin:
        case "postgres":
            folder, given = "debezium", version("debezium")
        case "mysql":
            folder, given = "debezium-mysql", version("debezium-mysql")
        case "mariadb":
            folder, given = "debezium-mariadb", version("debezium-mariadb")
        case _:
            assert_never(plugin)
    archive = Artifact("io.debezium", f"debezium-connector-{plugin}", given, "plugin", "tar.gz")
    jars = sorted(fetch_unpacked(folder, archive).rglob("*.jar"))
    connect = fetch(
        "capture",
        Artifact("org.apache.kafka", "connect-json", version("kafka"), transitive=True),
        Artifact("org.slf4j", "slf4j-simple", version("slf4j")),
    )
    return (*jars, *connect)


def command(ours: Path, plugin: Plugin) -> list[str]:
    """Return what runs a capture.

    Args:
        ours: Our jar.
        plugin: Which connector reads the log.
    """
    jars = os.pathsep.join(map(str, (ours, *libraries(plugin))))
    return [java(), *_JVM, "-cp", jars, _MAIN]
