"""Change files and topics, decoded in a JVM of its own, without a Spark session.

A second, not twenty. Files are listed and read, and records decoded, by the classes of a run,
which an archive of them, where there is one, lets this JVM have as soon as a run's.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joinery.artifact import java
from joinery.dead_letters.open import source_brokers
from joinery.errors import RunError
from joinery.model.progress import Counts, split_columns
from joinery.observe.frontier import BegunOffsets, SeenSizes
from joinery.place.place import local
from joinery.plan.build import build_plan
from joinery.plan.relation import Relation
from joinery.project.captured import CAPTURED, as_files
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.spark.launch import archive_option, class_path
from joinery.spark.reading import formats_json, sealing_json
from joinery.spark.source.change_log import ChangeLog
from joinery.spark.source.feed import feed_program
from joinery.spark.source.files import changed_sizes
from joinery.spark.source.hand_over import HandedOver, log_records
from joinery.vault.claim import check_vault
from joinery.vault.door import LookingDoor, VaultAddress
from joinery.vault.erasure import keep_erased
from joinery.vault.tables import open_vault

NOTHING_SEEN: SeenSizes = {}
NOTHING_BEGUN: BegunOffsets = {}
_FEED = "dev.joinery.kernel.door.FileFeed"
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx1g", "-Dlog4j2.level=OFF")
_OPENED = ("java.lang", "java.nio", "java.util", "sun.nio.ch")


class FileFeedError(RunError):
    """Change files could not be read outside a run."""

    code = "RUN_FILE_FEED"


@dataclass(frozen=True, slots=True)
class FileChanges:
    """What change files, or topics in Kafka, tell.

    Attributes:
        changes: In log order.
        letters: The dead letters, as a run keeps them.
        counts: By relation: `read`, `dead`, and what a format counts.
        left: By relation, how many records of its topic were not read.
        columns: By relation, what its rows had, as `column_warnings` takes it.
        files: By relation, the files of its topic by the first part of a change's place.
        logged_s: By relation of a topic in Kafka, when that took each record, by its place, in
            seconds since 1970.
    """

    changes: ChangeLog
    letters: Sequence[Mapping[str, Any]]
    counts: Mapping[str, Mapping[str, int]]
    left: Mapping[str, int]
    columns: Mapping[str, Counts]
    files: Mapping[str, Mapping[int, Path]]
    logged_s: Mapping[str, Mapping[tuple[int, int], float]]


def read_files(
    spec: ProjectSpec,
    relations: Sequence[Relation],
    *,
    most: int,
    told: Mapping[str, Collection[str]],
    seen: SeenSizes = NOTHING_SEEN,
    begun: BegunOffsets = NOTHING_BEGUN,
) -> FileChanges:
    """Return what the change files, or the topics in Kafka, of some relations tell.

    Args:
        spec: The project, which names the folders and the brokers.
        relations: Their sources are folders, databases whose spool is one, or in Kafka.
        most: How many records of a topic are read.
        told: By relation, what a delete tells beside its key (`told_by_deletes`).
        seen: Of these files no more is read, as a query that saw them so reads no more.
        begun: Of these topics nothing before is read, as a query that began there does not.

    Raises:
        RunError: Java is missing, or the records cannot be read.
    """
    listed = _topics(relations)
    brokers = {name: each for name, each in listed.items() if _source(spec, name).kind == "kafka"}
    folders = {name: each for name, each in listed.items() if name not in brokers}
    topics = [(name, each) for part in (folders, brokers) for name in part for each in part[name]]
    readers = [_readers(relations, *each) for each in topics]
    opened = _vault_of(spec, relations)
    with tempfile.TemporaryDirectory(prefix="joinery-") as output, opened as vault:
        handed = HandedOver(Path(output, "records"))
        for place, (name, topic) in enumerate(topics):
            if name in brokers:
                at = source_brokers(_source(spec, name))
                records = log_records(at, topic, begun.get(name, {}))
                handed.take(records, place, most=most)
        program = feed_program(relations)
        answer = _ask(
            {
                "program": program.to_json(),
                "relations": formats_json(program, relations, told),
                "sources": [each.source for each in relations],
                "topics": [each.topic for each in relations],
                "folders": [
                    {
                        "path": str(_path(spec, name)),
                        "topics": named,
                        "sizes": _bounds(_path(spec, name), named, seen.get(name, {})),
                    }
                    for name, named in folders.items()
                ],
                "records": str(handed.file) if handed.logged_s else None,
                "read": readers,
                "maxRecords": most,
                "maxRecordBytes": spec.run.max_record_bytes,
                "sealing": "" if vault is None else _sealing(spec, vault, relations, topics),
                "output": output,
            }
        )
        changes = ChangeLog.of(_parts(Path(output, ".changes")), relations)
        letters = [json.loads(each) for each in _lines(Path(output, "dead_letters"))]
    counts, columns = split_columns(answer["counts"].get("relations", {}))
    left, files, logged_s = {}, {}, {}
    for topic_place, places in enumerate(readers):
        source, topic = topics[topic_place]
        for each in (relations[place].name for place in places):
            if more := answer["left"][topic_place] + handed.left.get(topic_place, 0):
                left[each] = more
            if source in folders:
                named = answer["files"][topic_place].items()
                root = _path(spec, source) / topic
                files[each] = {int(number): root / file for number, file in named}
            else:
                logged_s[each] = handed.logged_s[topic_place]
    return FileChanges(changes, letters, counts, left, columns, files, logged_s)


@contextmanager
def _vault_of(spec: ProjectSpec, relations: Sequence[Relation]) -> Iterator[VaultAddress | None]:
    """Give the door to the vault, where something personal is read; None where nothing is."""
    if all(each.personal is None for each in relations):
        yield None
        return
    vault = open_vault(spec)
    root = local(spec.checkpoint, "erasure")
    check_vault(root, build_plan(spec), vault)
    keep_erased(root, vault)
    door = LookingDoor(vault)
    try:
        yield door.address
    finally:
        door.close()
        vault.close()


def _sealing(
    spec: ProjectSpec,
    vault: VaultAddress,
    relations: Sequence[Relation],
    topics: Sequence[tuple[str, str]],
) -> str:
    """Return how personal columns are sealed before anything of them is written."""
    captured = {each.name for each in spec.sources if each.kind in CAPTURED}
    decoded = feed_program(relations).decoded
    spools = [name in captured for name, _ in topics]
    return sealing_json(vault, decoded, relations, erasures=len(topics), spools=spools)


def _topics(relations: Sequence[Relation]) -> dict[str, list[str]]:
    """Return the topics that are read, by source."""
    found: dict[str, list[str]] = {}
    for each in relations:
        listed = found.setdefault(each.source, [])
        if each.topic not in listed:
            listed.append(each.topic)
    return found


def _path(spec: ProjectSpec, name: str) -> Path:
    return spec.path_of(str(dict(_source(spec, name).options)["path"]))


def _bounds(
    folder: Path, topics: Sequence[str], seen: Mapping[tuple[str, str], int]
) -> dict[str, dict[str, int]]:
    """Return how much is read of the files that changed since they were seen, by topic and name."""
    found = {}
    for topic in topics:
        known = {name: size for (of, name), size in seen.items() if of == topic}
        if changed := changed_sizes(folder / topic, known):
            found[topic] = {name: known[name] for name in changed}
    return found


def _source(spec: ProjectSpec, name: str) -> SourceSpec:
    found = next(each for each in spec.sources if each.name == name)
    return as_files(spec, found) if found.kind in CAPTURED else found


def _readers(relations: Sequence[Relation], source: str, topic: str) -> list[int]:
    read = enumerate(relations)
    return [place for place, each in read if (each.source, each.topic) == (source, topic)]


def _ask(request: Mapping[str, Any]) -> dict[str, Any]:
    opened = [f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in _OPENED]
    done = subprocess.run(
        [java(), *shlex.split(archive_option()), *_JVM, *opened, "-cp", class_path(), _FEED],
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
            hint="Make sure that they can be read and do not change.",
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _parts(folder: Path) -> Sequence[Path]:
    return sorted(folder.glob("*"))


def _lines(folder: Path) -> Iterator[bytes]:
    for part in _parts(folder):
        with part.open("rb") as lines:
            yield from lines
