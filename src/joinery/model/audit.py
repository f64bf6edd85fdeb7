"""What a run has found by comparing its documents with what they should be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditProgress:
    """The comparisons of one product's documents in one sink.

    Attributes:
        product: The product.
        target: The sink.
        compared: Documents, over the whole run; those of a comparison that goes on are counted.
        differences: How many were found wrong over the whole run, again in each comparison.
        ended_at: When the last comparison of all documents ended, in seconds since 1970; None
            before the first.
        differing: How many documents that one found wrong.
    """

    product: str
    target: str
    compared: int = 0
    differences: int = 0
    ended_at: float | None = None
    differing: int = 0
