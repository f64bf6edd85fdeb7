"""The command of a JVM that reads logs without a Spark session: a second, not twenty.

An archive of the classes of a run, where there is one, lets it have them as soon as that.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from joinery.artifact import java
from joinery.spark.launch import archive_option, class_path

OUT_OF_MEMORY = "OutOfMemoryError"
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx1g", "-Dlog4j2.level=OFF")
_OPENED = ("java.lang", "java.nio", "java.util", "sun.nio.ch")


def log_jvm(door: str, *jars: Path, scratch: Path | None = None) -> list[str]:
    """Return the command of a JVM that opens a door of the kernel.

    Args:
        door: The class.
        jars: What it needs beside Spark's and the kernel's.
        scratch: Where it leaves what it needs for itself alone; None for the system's folder.
    """
    opened = [f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in _OPENED]
    path = os.pathsep.join((class_path(), *map(str, jars)))
    own = [] if scratch is None else [f"-Djava.io.tmpdir={scratch}"]
    return [java(), *shlex.split(archive_option()), *_JVM, *own, *opened, "-cp", path, door]
