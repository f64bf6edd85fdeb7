"""Tells the user what a run noticed that someone should look at; each thing once a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from joinery.model.progress import BatchProgress
from joinery.spec.product import ProjectSpec, RelationSpec
from joinery.spec.stream import UnionSpec

_LIKE_CHANGES = (".json", ".ndjson", ".json.gz", ".jsonl.gz", ".avro", ".csv")
_TOLD = {
    "lost": "its log lost records before they were read; the documents may lack them. Raise the"
    " topic's retention, and read the table again (an incremental snapshot does)",
    "truncates": "its table was truncated at the source, which a change stream cannot replay;"
    " its rows stay in the documents. Delete them there one by one, or start on a fresh"
    " checkpoint",
    "unavailable_values": "a change of key left out large values, which are null now."
    " Run ALTER TABLE … REPLICA IDENTITY FULL at the source, then update these rows",
}


class Warnings:
    """Writes the warnings of a run's batches to standard error."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def begin(self, spec: ProjectSpec) -> None:
        """Write what is missing, or not read, before anything is read."""
        for what in _without_sink(spec):
            sys.stderr.write(f"warning: {what} has no sink, so what it gives is kept nowhere.\n")
        for source in spec.sources:
            if source.kind != "files" or "path" not in dict(source.options):
                continue
            folder = spec.path_of(str(dict(source.options)["path"]))
            if not folder.exists():
                sys.stderr.write(
                    f'warning: source "{source.name}": there is no folder {folder} yet;'
                    " it is read once it is there.\n"
                )
            for relation in spec.relations:
                if source.name in (relation.source, *_defaults(spec, relation)):
                    _tell_unread(relation, folder / (relation.topic or relation.name))

    def note(self, batch: BatchProgress) -> None:
        """Write what this batch is the first to show."""
        for line in self._fresh(batch):
            sys.stderr.write(f"{line}\n")

    def _fresh(self, batch: BatchProgress) -> Iterator[str]:
        for relation, counts in batch.relations.items():
            for counter, text in _TOLD.items():
                if counts.get(counter) and (relation, counter) not in self._told:
                    self._told.add((relation, counter))
                    yield f'warning: relation "{relation}": {text}.'


def _without_sink(spec: ProjectSpec) -> Iterator[str]:
    """Yield the products, and the streams that no other one goes on from, that go nowhere."""
    yield from (f'product "{each.name}"' for each in spec.products if not each.sinks)
    steps = [step for each in spec.streams for step in each.steps]
    read = {each.origin for each in spec.streams} | {
        step.stream for step in steps if isinstance(step, UnionSpec)
    }
    for each in spec.streams:
        if not each.sinks and each.name not in read:
            yield f'stream "{each.name}"'


def _defaults(spec: ProjectSpec, relation: RelationSpec) -> tuple[str, ...]:
    """Return the source of a relation that names none."""
    if relation.source is not None:
        return ()
    only = spec.sources[0].name if len(spec.sources) == 1 else ""
    return (spec.defaults.source or only,)


def _tell_unread(relation: RelationSpec, folder: Path) -> None:
    """Write how many files look like changes, and are not read for their names."""
    names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    unread = [name for name in names if name.endswith(_LIKE_CHANGES) and name[0] not in "._"]
    if unread:
        sys.stderr.write(
            f'warning: relation "{relation.name}": files of other names than *.jsonl are not'
            f" read: {len(unread)} in {folder}, such as {min(unread)}.\n"
        )
