"""What a JVM of its own is told to read, without a Spark session: change files of some relations.

Files are listed and read, and records decoded, by the classes of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joinery.errors import RunError
from joinery.observe.frontier import SeenSizes
from joinery.plan.relation import Relation
from joinery.project.captured import CAPTURED, as_files
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.spark.reading import formats_json
from joinery.spark.source.feed import feed_program
from joinery.spark.source.file_watch import changed_sizes
from joinery.spark.source.log_jvm import OUT_OF_MEMORY


class FileFeedError(RunError):
    """Change files, or topics, could not be read outside a run."""

    code = "RUN_FILE_FEED"

    @classmethod
    def of(cls, log: str, what: str = "the change files") -> FileFeedError:
        """Return the error that a JVM told of when it ended, which was to read something."""
        if OUT_OF_MEMORY in log:
            return cls(
                f"could not read {what}",
                detail="They have more records than fit into the memory of their reader.",
                hint="Read fewer of them.",
            )
        reason = next((line for line in log.splitlines() if "rror" in line), log)
        return cls(
            f"could not read {what}",
            detail=reason.rpartition("Error: ")[2].strip()[:300],
            hint="Make sure that they can be read and do not change.",
        )


@dataclass(frozen=True, slots=True)
class FileRequest:
    """The topics of some relations, and what is asked of them.

    Attributes:
        topics: Source and topic of each: first those in change files, then those in Kafka.
        brokers: The sources that are in Kafka.
        readers: By topic, the places of its relations.
        data: What the JVM takes, as JSON has it.
    """

    topics: Sequence[tuple[str, str]]
    brokers: Collection[str]
    readers: Sequence[Sequence[int]]
    data: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        spec: ProjectSpec,
        relations: Sequence[Relation],
        *,
        most: int,
        told: Mapping[str, Collection[str]],
        seen: SeenSizes,
    ) -> FileRequest:
        """Return what to ask for; the arguments are those of `read_files`."""
        listed = _topics(relations)
        brokers = [each for each in listed if source_of(spec, each).kind == "kafka"]
        folders = [each for each in listed if each not in brokers]
        topics = [(name, each) for name in (*folders, *brokers) for each in listed[name]]
        readers = [_readers(relations, *each) for each in topics]
        program = feed_program(relations)
        data = {
            "program": program.to_json(),
            "relations": formats_json(program, relations, told),
            "sources": [each.source for each in relations],
            "topics": [each.topic for each in relations],
            "folders": [
                {
                    "path": str(folder_of(spec, name)),
                    "topics": listed[name],
                    "sizes": _bounds(folder_of(spec, name), listed[name], seen.get(name, {})),
                }
                for name in folders
            ],
            "read": readers,
            "maxRecords": most,
            "maxRecordBytes": spec.run.max_record_bytes,
        }
        return cls(topics, brokers, readers, data)

    def files(
        self,
        spec: ProjectSpec,
        relations: Sequence[Relation],
        named: Sequence[Mapping[str, str]],
    ) -> dict[str, dict[int, Path]]:
        """Return, by relation in change files, its files by the first part of a change's place.

        Args:
            spec: The project.
            relations: Those that were asked for.
            named: The names of the files, by topic.
        """
        return {
            relations[place].name: {
                int(number): folder_of(spec, source) / topic / file
                for number, file in named[at].items()
            }
            for at, (source, topic) in enumerate(self.topics)
            if source not in self.brokers
            for place in self.readers[at]
        }


def source_of(spec: ProjectSpec, name: str) -> SourceSpec:
    """Return a source; a database's as the folder that its spool is."""
    found = next(each for each in spec.sources if each.name == name)
    return as_files(spec, found) if found.kind in CAPTURED else found


def folder_of(spec: ProjectSpec, name: str) -> Path:
    """Return the folder that holds a folder a topic of a source."""
    return spec.path_of(str(dict(source_of(spec, name).options)["path"]))


def _topics(relations: Sequence[Relation]) -> dict[str, list[str]]:
    """Return the topics that are read, by source."""
    found: dict[str, list[str]] = {}
    for each in relations:
        listed = found.setdefault(each.source, [])
        if each.topic not in listed:
            listed.append(each.topic)
    return found


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


def _readers(relations: Sequence[Relation], source: str, topic: str) -> list[int]:
    read = enumerate(relations)
    return [place for place, each in read if (each.source, each.topic) == (source, topic)]
