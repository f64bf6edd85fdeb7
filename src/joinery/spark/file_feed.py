"""Decodes change files in a JVM of its own, without a Spark session: a second, not twenty.

Files are listed and read, and records decoded, by the classes that a run uses.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joinery.engine.read_change import read_changes
from joinery.errors import RunError
from joinery.model.change import Change
from joinery.model.progress import Counts, split_columns
from joinery.plan.nodes import Relation
from joinery.spark.change_feed import feed_program
from joinery.spark.jar import jdk_tool, kernel_jar, spark_home
from joinery.spark.kernel import formats_json
from joinery.spark.session import check_java
from joinery.spec.product import ProjectSpec, SourceSpec

_FEED = "dev.joinery.kernel.door.FileFeed"
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx1g", "-Dlog4j2.level=OFF")
_OPENED = ("java.lang", "java.nio", "java.util", "sun.nio.ch")


class FileFeedError(RunError):
    """Change files could not be read outside a run."""

    code = "RUN_FILE_FEED"


@dataclass(frozen=True, slots=True)
class FileChanges:
    """What change files tell.

    Attributes:
        changes: In log order.
        letters: The dead letters, as a run keeps them.
        counts: By relation: `read`, `dead`, and what a format counts.
        left: By relation, how many records of its topic were not read.
        columns: By relation, what its rows had, as `column_warnings` takes it.
    """

    changes: Sequence[Change]
    letters: Sequence[Mapping[str, Any]]
    counts: Mapping[str, Mapping[str, int]]
    left: Mapping[str, int]
    columns: Mapping[str, Counts]


def read_files(spec: ProjectSpec, relations: Sequence[Relation], *, most: int) -> FileChanges:
    """Return what the change files of some relations tell.

    Args:
        spec: The project, which names the folders.
        relations: Their sources are of kind `files`.
        most: How many records of a topic are read.

    Raises:
        RunError: Java is missing, or the files cannot be read.
    """
    check_java()
    folders = _folders(spec, relations)
    topics = [(name, topic) for name, listed in folders.items() for topic in listed]
    readers = [_readers(relations, *each) for each in topics]
    with tempfile.TemporaryDirectory(prefix="joinery-") as output:
        told = _ask(
            {
                "program": feed_program(relations).to_json(),
                "relations": formats_json(feed_program(relations), relations),
                "sources": [each.source for each in relations],
                "topics": [each.topic for each in relations],
                "folders": [
                    {"path": str(_path(spec, name)), "topics": listed}
                    for name, listed in folders.items()
                ],
                "read": readers,
                "maxRecords": most,
                "maxRecordBytes": spec.run.max_record_bytes,
                "output": output,
            }
        )
        changes = read_changes(_lines(Path(output, ".changes")), relations)
        letters = [json.loads(each) for each in _lines(Path(output, "dead_letters"))]
    left = {
        relations[place].name: count
        for places, count in zip(readers, told["left"], strict=True)
        for place in places
        if count
    }
    counts, columns = split_columns(told["counts"].get("relations", {}))
    return FileChanges(changes, letters, counts, left, columns)


def _folders(spec: ProjectSpec, relations: Sequence[Relation]) -> dict[str, list[str]]:
    """Return the topics that are read, by source."""
    found: dict[str, list[str]] = {}
    for each in relations:
        listed = found.setdefault(each.source, [])
        if each.topic not in listed:
            listed.append(each.topic)
    return found


def _path(spec: ProjectSpec, name: str) -> Path:
    source: SourceSpec = next(each for each in spec.sources if each.name == name)
    return spec.path_of(str(dict(source.options)["path"]))


def _readers(relations: Sequence[Relation], source: str, topic: str) -> list[int]:
    read = enumerate(relations)
    return [place for place, each in read if (each.source, each.topic) == (source, topic)]


def _ask(request: Mapping[str, Any]) -> dict[str, Any]:
    jars = os.pathsep.join((str(kernel_jar()), str(spark_home() / "jars" / "*")))
    opened = [f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in _OPENED]
    done = subprocess.run(
        [jdk_tool("java"), *_JVM, *opened, "-cp", jars, _FEED],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "rror" in line), done.stderr)
        raise FileFeedError(
            "could not read the change files",
            detail=reason.rpartition("Error: ")[2].strip()[:300],
            hint="See that they stand still and can be read.",
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _lines(folder: Path) -> list[bytes]:
    return [line for part in sorted(folder.glob("*")) for line in part.read_bytes().splitlines()]
