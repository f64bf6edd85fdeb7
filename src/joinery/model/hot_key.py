"""Keys of the joins that get most of their node's messages: of one batch, and of the last ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NAMED_SHARE = 0.2
"""A key with this part of its node's messages is named where products are listed."""
NAMED_MESSAGES = 1_000
"""Of fewer messages none is: in a small table, every key has a large part."""


@dataclass(frozen=True, slots=True)
class CountedKey:
    """A key, and how many messages it had in one batch.

    Attributes:
        code: Tells it from others; never shown.
        text: As a user writes it; cut where it is long, and nothing of what is personal.
        messages: Those that came to it, and those that were sent for it; exact.
    """

    code: str
    text: str
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKeys:
    """The keys of one node that had the most messages in one batch.

    Attributes:
        node: Its kind and name, as `joinery explain --kernel` has them.
        by: The columns that its keys are made of.
        products: Whose it is.
        messages: Of all its keys.
        left_out: No other key had more than this.
        keys: At most a few.
    """

    node: str
    by: str
    products: tuple[str, ...]
    messages: int
    left_out: int
    keys: tuple[CountedKey, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HotKey:
    """A key that got much of its node's messages in the last batches.

    Attributes:
        node: As of `NodeKeys`, like `by`.
        key: As a user writes it.
        messages: How many it had at least.
        error: How many more they may have been.
        of: How many all keys of the node had.
        batches: In how many batches they were counted.
    """

    node: str
    by: str
    key: str
    messages: int
    error: int
    of: int
    batches: int

    @property
    def share(self) -> float:
        """Its part of the node's messages, from 0 to 1: so much at least."""
        return self.messages / self.of

    @property
    def most(self) -> float:
        """The same: so much at most."""
        return min(1.0, (self.messages + self.error) / self.of)

    @property
    def named(self) -> bool:
        """Whether it is so hot that it is named where products are listed."""
        return self.share >= NAMED_SHARE and self.messages >= NAMED_MESSAGES

    def to_json(self) -> dict[str, object]:
        """Return the key as one JSON object."""
        return {
            "node": self.node,
            "by": self.by,
            "key": self.key,
            "share": round(self.share, 4),
            "messages": self.messages,
            "error": self.error,
            "of": self.of,
            "batches": self.batches,
        }

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> HotKey:
        """Return the key that `to_json` told."""
        return cls(**{name: value for name, value in told.items() if name != "share"})
