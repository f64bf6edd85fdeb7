"""What requests to DynamoDB were made, what capacity they took, and what that costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from joinery.solutions.price import Prices


@dataclass(slots=True)
class Usage:
    """Counts of one connection; safe to use from several threads.

    Attributes:
        requests: By operation: `BatchGetItem`, `BatchWriteItem`, `Query`, `PutItem`.
        retried: Requests made for what an earlier one left undone.
        read_units: Taken by reading.
        write_units: Taken by writing, in the table and in its indexes.
    """

    requests: Counter[str] = field(default_factory=Counter)
    retried: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def count(self, operation: str, consumed: object, *, again: bool = False) -> None:
        """Count one request and the capacity that its answer tells."""
        told = consumed if isinstance(consumed, list) else [consumed]
        units = sum(float(each["CapacityUnits"]) for each in told if isinstance(each, Mapping))
        with self._lock:
            self.requests[operation] += 1
            self.retried += again
            if operation in ("BatchGetItem", "Query"):
                self.read_units += units
            else:
                self.write_units += units

    def dollars(self, prices: Prices) -> float:
        """Return what all of it costs.

        Example:
            >>> Usage(read_units=8e6, write_units=2e6).dollars(Prices())
            2.25
        """
        return (
            self.read_units * prices.read_million + self.write_units * prices.write_million
        ) / 1e6

    def since(self, earlier: Mapping[str, Any]) -> dict[str, float]:
        """Return what was added to a `snapshot`."""
        return {name: value - earlier.get(name, 0) for name, value in self.snapshot().items()}

    def snapshot(self) -> dict[str, float]:
        """Return all counts by name."""
        queries = self.requests["Query"]
        return {
            "dynamodb_requests": self.requests.total() - queries,
            "dynamodb_queries": queries,
            "dynamodb_retried": self.retried,
            "dynamodb_read_units": self.read_units,
            "dynamodb_write_units": self.write_units,
        }
