"""What a sink promises, in code: the conformance suite holds it to that, the docs tell it.

Invariant: a sink that does not keep a promise names it as a gap, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class Promise(StrEnum):
    """One thing that a sink can promise."""

    REPLAY = "replay"
    """A batch written twice leaves what writing it once leaves."""
    NEWEST = "newest"
    """An older version never replaces a newer one."""
    DELETES = "deletes"
    """A delete is remembered: an older document cannot come back."""
    FENCE = "fence"
    """The target itself refuses a run that was replaced, whatever that run believes."""
    ATOMIC = "atomic"
    """A reader of the target sees a batch whole, or nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What a sink promises.

    Attributes:
        summary: A sentence for users: what the target holds after any crash.
        keeps: `current` for the newest document of each key; `log` for every emission in
            order, of which a reader takes the highest version of each key.
        gaps: The promises that are not kept, each with the reason.
    """

    summary: str
    keeps: Literal["current", "log"] = "current"
    gaps: Mapping[Promise, str] = field(default_factory=dict)

    def promises(self, promise: Promise) -> bool:
        """Return whether `promise` is kept."""
        return promise not in self.gaps
