"""What the three products have sent: the matches that stand, and the last that came and went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from examples.fraud.search import Found
from examples.sent import Sent, Standing


class Troubles:
    """The matches of each product.

    Args:
        sent: What each product's sink was sent.
    """

    def __init__(self, sent: Mapping[str, Sent]) -> None:
        self._standing = {name: Standing(each) for name, each in sent.items()}

    def matches(self) -> dict[str, Found]:
        """Return the matches that stand, each by its first row and the time of its last."""
        return {
            name: {
                (key["start"]["id"], datetime.fromisoformat(value["at"]))
                for key, value in each.rows()
            }
            for name, each in self._standing.items()
        }

    def counts(self) -> Counter[str]:
        """Return how many matches entered, changed and left."""
        return sum((each.counts for each in self._standing.values()), Counter[str]())

    def shown(self) -> dict[str, Any]:
        """Return what the page shows of each product."""
        return {
            name: {"standing": len(each.rows()), "news": list(each.last)}
            for name, each in self._standing.items()
        }
