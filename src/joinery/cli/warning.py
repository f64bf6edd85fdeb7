"""Tells the user what a run noticed that someone should look at; each thing once a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from joinery.model.progress import BatchProgress
from joinery.spec.product import ProjectSpec

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
        """Write what is missing before anything is read."""
        for source in spec.sources:
            folder = dict(source.options).get("path") if source.kind == "files" else None
            if folder is not None and not spec.path_of(str(folder)).exists():
                where = spec.path_of(str(folder))
                sys.stderr.write(
                    f'warning: source "{source.name}": there is no folder {where} yet;'
                    " it is read once it is there.\n"
                )

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
