"""Remembers where a product's documents were sent; a mark a product, beside the checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from joinery.files import write_whole
from joinery.model.warning import RunWarning
from joinery.place.place import Place

_FOLDER = "joinery.sent"


class SentMark:
    """Which targets have the documents that a query's products sent since its checkpoint began.

    Args:
        checkpoint: The query's.
        folder: The project's; below it, targets are remembered by their relative paths.
    """

    def __init__(self, checkpoint: Place, folder: Path) -> None:
        self._marks = checkpoint / _FOLDER
        self._folder = folder
        self._noted: set[str] = set()

    def note(
        self,
        documents: Mapping[str, Mapping[str, int]],
        targets: Mapping[str, Sequence[str]],
    ) -> None:
        """Take the documents of a batch, by product, and the targets of its sinks, which have them.

        Targets of earlier batches that are not among these are forgotten: they lack documents.
        """
        for product, counts in documents.items():
            if counts.get("upserts") and product not in self._noted:
                self._keep(product, [self._relative(each) for each in targets[product]])
                self._noted.add(product)

    def has(self, product: str, target: str) -> bool | None:
        """Return whether a target got a product's latest documents.

        None where nothing was sent, or by a version that did not remember where.
        """
        mark = self._marks / product
        known = mark.read_text(encoding="utf-8") if mark.is_file() else ""
        return self._relative(target) in json.loads(known) if known else None

    def knows(self, product: str) -> bool:
        """Return whether documents of a product were sent since the checkpoint began."""
        return (self._marks / product).is_file()

    def _keep(self, product: str, targets: Sequence[str]) -> None:
        write_whole(self._marks / product, json.dumps(targets), synced=False)

    def _relative(self, target: str) -> str:
        return target.replace(f"{self._folder}{os.sep}", "")


def emptied_warning(about: str, place: Path) -> RunWarning:
    """Return the warning of a target that has lost the documents of a product or stream."""
    return RunWarning(
        code="WARN_SINK_EMPTIED",
        about=about,
        message=f"{about}: {place} is empty, although documents were sent there",
        detail="The checkpoint is kept, so only documents that change from now on are sent.",
        hint="joinery run --rebuild sends all of them again.",
    )


def new_warning(about: str, target: str) -> RunWarning:
    """Return the warning of a target that was not there when documents were sent."""
    return RunWarning(
        code="WARN_SINK_NEW",
        about=f"{about}, {target}",
        message=f"{about}: the sink {target} is new, but documents were sent before",
        detail="The checkpoint is kept, so only documents that change from now on are written"
        " there.",
        hint="joinery run --rebuild writes them all.",
    )
