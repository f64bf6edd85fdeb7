"""What a query reads of a source, and the raw stream that comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from joinery.model.warning import RunWarning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a source, as its relations name it.

    Attributes:
        source: The source's name.
        name: The topic, or `pattern:` and a regular expression.
    """

    source: str
    name: str


@dataclass(frozen=True, slots=True)
class RawStream:
    """The raw records of one source.

    Attributes:
        frame: Columns topic (a number), major and minor (the place in the log), file, key,
            value, error (why the record is a dead letter, else null) and name (the topic's
            own, where the number does not tell it).
        topics: For each number, the topics it stands for, as relations name them.
        lost: By topic, the records that the log lost before they were read.
        warnings: What someone should look at.
    """

    frame: DataFrame
    topics: tuple[tuple[str, ...], ...]
    lost: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[RunWarning, ...] = ()
