"""Asks the targets of a product what they hold, so that what the product has no more goes there.

A document under a key of other columns, as the product had it before it changed, goes from the
target that holds it alone: one that is laid out by the columns of the key has no place for that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from joinery.delivery.hold import write_rows
from joinery.delivery.outlet import SinkResult
from joinery.model.warning import RunWarning
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import Sink, StagedBatch, listing_of


class Sweep:
    """What the targets of a product hold.

    Args:
        sinks: All of the product.
        warn: Takes what someone should look at.
    """

    def __init__(self, sinks: Sequence[Sink], warn: Callable[[RunWarning], None]) -> None:
        self._sinks = tuple(sinks)
        self._warn = warn
        self._foreign: list[list[str]] = [[] for _ in sinks]

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        """Yield the keys of all documents that targets hold, as far as they can tell.

        Those of other columns are not among them; `send_foreign` takes their documents back.

        Args:
            batch: Names the product and its key's columns.
        """
        columns = {each.name for each in batch.key.fields}
        self._foreign = [[] for _ in self._sinks]
        for sink, foreign in zip(self._sinks, self._foreign, strict=True):
            if (listing := listing_of(sink)) is None:
                self._warn(_unswept(batch.product, sink.target))
                continue
            for key in listing.keys(batch):
                if json.loads(key).keys() == columns:
                    yield key
                else:
                    foreign.append(key)

    def send_foreign(self, batch: StagedBatch, folder: Path, version: int) -> Sequence[SinkResult]:
        """Send tombstones of the documents under keys of other columns that `keys` came upon.

        Args:
            batch: Sent after its batch; its files are left out.
            folder: Where the tombstones may be staged.
            version: Theirs.
        """
        results = []
        for sink, foreign in zip(self._sinks, self._foreign, strict=True):
            if foreign:
                part = folder / "part-foreign.jsonl"
                write_rows(part, (StagedRow(key, None, version) for key in sorted({*foreign})))
                batch.check()
                sent = sink.write(replace(batch, files=(part,), apart=()))
                results.append(SinkResult(sink.target, sent))
        return results


def _unswept(product: str, target: str) -> RunWarning:
    about = f'product "{product}"'
    return RunWarning(
        code="WARN_NOT_SWEPT",
        about=f"{about} in {target}",
        message=f"{about}: {target} cannot list what it holds, so documents whose root is gone"
        " stay there",
        hint="Delete there what was not sent now, or start with an empty target.",
    )
