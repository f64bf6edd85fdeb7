"""Remembers where a product's documents were sent; a mark a product, beside the checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from joinery.files import write_whole
from joinery.model.warning import RunWarning
from joinery.place.place import Place
from joinery.plan.product import Product
from joinery.plan.stream import Stream
from joinery.sinks.protocol import Sink, StagedBatch, StandingSink, notes_of

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

    def lost(self, product: Product, sink: Sink, batch: StagedBatch) -> RunWarning | None:
        """Return the warning of a target that got a product's documents and is not there any more.

        Args:
            product: The product.
            sink: Of it, open; nothing was written to it yet.
            batch: Names the product.

        Raises:
            SinkUnavailableError: It cannot be reached now.
        """
        standing: object = notes_of(sink)
        if not isinstance(standing, StandingSink) or not self.has(product.name, sink.target):
            return None
        return None if standing.stands(batch) else gone_warning(described(product), sink.target)

    def knows(self, product: str) -> bool:
        """Return whether documents of a product were sent since the checkpoint began."""
        return (self._marks / product).is_file()

    def _keep(self, product: str, targets: Sequence[str]) -> None:
        write_whole(self._marks / product, json.dumps(targets), synced=False)

    def _relative(self, target: str) -> str:
        return target.replace(f"{self._folder}{os.sep}", "")


def described(product: Product) -> str:
    """Return what a product or a stream is called in a warning."""
    kind = "stream" if isinstance(product.form, Stream) else "product"
    return f'{kind} "{product.name}"'


def gone_warning(about: str, target: str) -> RunWarning:
    """Return the warning of a target elsewhere that was sent documents and is not there."""
    return _lost_warning(f"{about}, {target}", f"{about}: {target} is not there any more")


def emptied_warning(about: str, place: Path) -> RunWarning:
    """Return the warning of a target that has lost the documents of a product or stream."""
    return _lost_warning(about, f"{about}: {place} is empty")


def _lost_warning(about: str, what: str) -> RunWarning:
    return RunWarning(
        code="WARN_SINK_EMPTIED",
        about=about,
        message=f"{what}, although documents were sent there",
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
