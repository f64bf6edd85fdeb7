"""What a project is warned of before anything is read, by `joinery check` as by a run.

Finds the topics that look like one that is not there: a slip of the pen, or another plural.

Looks whether the folders of files sources fit what the project declares to be in them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from pathlib import Path

from joinery.errors import Location
from joinery.model.warning import RunWarning
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.project.relation import RelationSpec

_ALIKE = 0.7
_MOST = 3


def near_topics(wanted: str, there: Collection[str]) -> tuple[str, ...]:
    """Return the topics of `there` that look like `wanted`, the nearest first, at most three.

    A prefix that ends in a dot, such as a connector's name and schema, makes no likeness.

    Example:
        >>> near_topics("shop.public.customer", ["shop.public.customers", "shop.public.item"])
        ('shop.public.customers',)
    """
    rated = sorted((-_likeness(wanted, each), each) for each in there)
    return tuple(name for rate, name in rated if -rate >= _ALIKE)[:_MOST]


def _likeness(one: str, other: str) -> float:
    left, right = one.casefold().split("."), other.casefold().split(".")
    shared = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    )
    return SequenceMatcher(None, ".".join(left[shared:]), ".".join(right[shared:])).ratio()


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
            relations = spec.changelogs_of(source)
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
        hint=f'If that is intended, write topic: {near[0]} under relation "{relation}".',
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


def spec_warnings(spec: ProjectSpec, names: Collection[str] | None = None) -> Iterator[RunWarning]:
    """Yield what goes nowhere of the products and streams named, and what folders of sources lack.

    Args:
        spec: The project.
        names: Left out for all.
    """
    yield from _without_sink(spec, names)
    yield from source_warnings(spec)


def _without_sink(spec: ProjectSpec, names: Collection[str] | None) -> Iterator[RunWarning]:
    """Yield the products and streams that go nowhere, and that no other one goes on from."""
    for product in spec.products:
        if (
            _is_among(product.name, names)
            and not product.sinks
            and product.name not in spec.read_products
        ):
            location = spec.locate(("products", product.name), key=True)
            yield _nowhere(f'product "{product.name}"', location)
    for stream in spec.running_streams:
        if _is_among(stream.name, names) and not stream.sinks:
            location = spec.locate(("streams", stream.name), key=True)
            yield _nowhere(f'stream "{stream.name}"', location)


def _is_among(name: str, names: Collection[str] | None) -> bool:
    return names is None or name in names


def _nowhere(about: str, location: Location | None) -> RunWarning:
    return RunWarning(
        code="WARN_NO_SINK",
        about=about,
        message=f"{about} has no sink, so what it gives is kept nowhere",
        hint="Give it one, such as sink: {files: {path: out}}; in Python .sink(…).",
        location=location,
    )
