"""What a query reads of a source: one topic, or all topics that match a pattern."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a source, as its relations name it.

    Attributes:
        source: The source's name.
        name: The topic, or `pattern:` and a regular expression.
    """

    source: str
    name: str
