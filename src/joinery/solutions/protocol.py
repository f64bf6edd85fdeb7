"""What every solution takes and gives: changes in, emissions out.

Invariant: after each batch the emissions are exactly the documents whose content the batch
changed, each once, each showing all changes up to the batch's end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from joinery.model.change import Change, DocumentChange, Row


@dataclass(frozen=True, slots=True)
class DeadDocument:
    """A document that a sink cannot be given; the sink keeps the last good one.

    Attributes:
        product: The product's name.
        key: The root key.
        reason: A stable word: `overflow` or `document_too_large`.
        detail: A sentence of facts.
    """

    product: str
    key: Row
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Emissions:
    """What one batch sends: at most one document per key and product.

    Attributes:
        counters: Over all relations and products.
        found: `expression_errors` and `multiple_matches` by relation and by product.
    """

    documents: tuple[DocumentChange, ...] = ()
    dead_letters: tuple[DeadDocument, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    found: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sent:
    """What one batch sent, as a sink and the dead letters hold it.

    Attributes:
        lines: By product, the files sink's lines: `{"key":…,"value":…,"version":…}`.
        dead: By product, the JSON text of the keys of documents that became dead letters.
        found: `expression_errors` and `multiple_matches` by relation and by product; None where
            nobody can tell, as after a crash.
    """

    lines: Mapping[str, Sequence[str]]
    dead: Mapping[str, Sequence[str]]
    found: Mapping[str, Mapping[str, int]] | None = None


class Solution(Protocol):
    """Keeps the documents of one or more products, a batch at a time, from one thread."""

    def apply(self, batch: Sequence[Change], timestamp_us: int) -> Emissions:
        """Apply `batch`, whose changes are in log order, and return what it changed.

        Args:
            batch: Changes of any relations; those that no product reads change nothing.
            timestamp_us: The batch's time in microseconds since 1970.
        """
