"""Looks whether the folders of files sources fit what the project declares to be in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from joinery.connect.near_topic import near_topics
from joinery.errors import Location
from joinery.model.warning import RunWarning
from joinery.spec.product import ProjectSpec, RelationSpec, SourceSpec

_LIKE_CHANGES = (".json", ".ndjson", ".json.gz", ".jsonl.gz", ".avro", ".csv")


def source_warnings(
    spec: ProjectSpec, among: Collection[str] | None = None
) -> Iterator[RunWarning]:
    """Yield what files sources lack, and what they have that nobody reads.

    Args:
        spec: The project.
        among: The names of the relations that are looked at; None for all.
    """
    for source in spec.sources:
        if source.kind == "files" and "path" in dict(source.options):
            folder = spec.path_of(str(dict(source.options)["path"]))
            relations = [each for each in spec.relations if spec.source_of(each) == source.name]
            chosen = [each for each in relations if among is None or each.name in among]
            if chosen or among is None:
                yield from _folder_warnings(spec, source, folder, relations, chosen)


def _folder_warnings(
    spec: ProjectSpec,
    source: SourceSpec,
    folder: Path,
    relations: Sequence[RelationSpec],
    chosen: Sequence[RelationSpec],
) -> Iterator[RunWarning]:
    if not folder.exists():
        yield _no_folder(spec, source, folder)
        return
    read = {each.topic or each.name for each in relations}
    unread = [each.name for each in _folders(folder) if each.name not in read]
    for relation in chosen:
        topic = relation.topic or relation.name
        if (folder / topic).is_dir():
            yield from _unread_files(spec, relation, folder / topic)
        elif near := near_topics(topic, unread):
            location = spec.locate(("relations", relation.name), key=True)
            yield misnamed(relation.name, f"folder {folder / topic}", near, location)


def misnamed(
    relation: str, missing: str, near: Sequence[str], location: Location | None = None
) -> RunWarning:
    """Return the warning of a topic that is not there while one like it is not read."""
    return RunWarning(
        code="WARN_TOPIC_MISNAMED",
        about=f'relation "{relation}"',
        message=f'relation "{relation}" reads nothing: there is no {missing} yet',
        detail=f"Near it: {', '.join(near)}, which no relation reads.",
        hint=f'If that is meant, write topic: {near[0]} under relation "{relation}".',
        location=location,
    )


def _no_folder(spec: ProjectSpec, source: SourceSpec, folder: Path) -> RunWarning:
    return RunWarning(
        code="WARN_SOURCE_FOLDER",
        about=f'source "{source.name}"',
        message=f'source "{source.name}": there is no folder {folder} yet',
        hint="It is read once it is there; if it is elsewhere, change the path of the source.",
        location=spec.locate(("sources", source.name), key=True),
    )


def _unread_files(spec: ProjectSpec, relation: RelationSpec, folder: Path) -> Iterator[RunWarning]:
    """Yield how many files look like changes, and are not read for their names."""
    names = [each.name for each in folder.iterdir()]
    unread = [name for name in names if name.endswith(_LIKE_CHANGES) and name[0] not in "._"]
    if unread:
        yield RunWarning(
            code="WARN_FILE_NAMES",
            about=f'relation "{relation.name}"',
            message=f'relation "{relation.name}": files of other names than *.jsonl are not read:'
            f" {len(unread)} in {folder}, such as {min(unread)}",
            hint="Rename them, or turn them into lines of JSON, uncompressed.",
            location=spec.locate(("relations", relation.name), key=True),
        )


def _folders(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (each for each in folder.iterdir() if each.is_dir() and each.name[0] not in "._")
