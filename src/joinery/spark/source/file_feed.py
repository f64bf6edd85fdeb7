"""Change files and topics, decoded in a JVM of its own, without a Spark session."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joinery.dead_letters.open import source_brokers
from joinery.model.batch import Counts, split_columns
from joinery.observe.frontier import BegunOffsets, SeenSizes
from joinery.place.place import local
from joinery.plan.build import build_plan
from joinery.plan.relation import Relation
from joinery.project.captured import CAPTURED
from joinery.project.product import ProjectSpec
from joinery.spark.reading import sealing_json
from joinery.spark.source.change_log import ChangeLog
from joinery.spark.source.feed import feed_program
from joinery.spark.source.file_request import FileFeedError, FileRequest, source_of
from joinery.spark.source.hand_over import HandedOver, log_records
from joinery.spark.source.log_jvm import log_jvm
from joinery.vault.claim import check_vault
from joinery.vault.door import LookingDoor, VaultAddress
from joinery.vault.erasure import keep_erased
from joinery.vault.tables import open_vault

NOTHING_SEEN: SeenSizes = {}
NOTHING_BEGUN: BegunOffsets = {}
_FEED = "dev.joinery.kernel.door.FileFeed"


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
    asked = FileRequest.of(spec, relations, most=most, told=told, seen=seen)
    opened = _vault_of(spec, relations)
    with tempfile.TemporaryDirectory(prefix="joinery-") as output, opened as vault:
        handed = HandedOver(Path(output, "records"))
        for place, (name, topic) in enumerate(asked.topics):
            if name in asked.brokers:
                at = source_brokers(source_of(spec, name))
                records = log_records(at, topic, begun.get(name, {}))
                handed.take(records, place, most=most)
        answer = _ask(
            {
                **asked.data,
                "records": str(handed.file) if handed.logged_s else None,
                "sealing": "" if vault is None else _sealing(spec, vault, relations, asked.topics),
                "output": output,
            }
        )
        changes = ChangeLog.of(_parts(Path(output, ".changes")), relations)
        letters = [json.loads(each) for each in _lines(Path(output, "dead_letters"))]
    counts, columns = split_columns(answer["counts"].get("relations", {}))
    left, logged_s = {}, {}
    for topic_place, places in enumerate(asked.readers):
        for each in (relations[place].name for place in places):
            if more := answer["left"][topic_place] + handed.left.get(topic_place, 0):
                left[each] = more
            if asked.topics[topic_place][0] in asked.brokers:
                logged_s[each] = handed.logged_s[topic_place]
    files = asked.files(spec, relations, answer["files"])
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


def _ask(request: Mapping[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        log_jvm(_FEED), input=json.dumps(request), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise FileFeedError.of(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _parts(folder: Path) -> Sequence[Path]:
    return sorted(folder.glob("*"))


def _lines(folder: Path) -> Iterator[bytes]:
    for part in _parts(folder):
        with part.open("rb") as lines:
            yield from lines
