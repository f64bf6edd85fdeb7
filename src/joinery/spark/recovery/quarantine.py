"""The records that made workers fail, by their places: they become dead letters unread.

Invariant: a place is noted before the batch that holds it runs again, and stays noted, so a
batch that runs again gives the same letters.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from joinery.files import write_whole
from joinery.spark.source.source import Topic

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

POISON = "poison"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoisonPlace:
    """Where a record stands.

    Attributes:
        source: The source's name.
        topics: The topics of relations that the record was read for.
        name: The topic's own name, where a pattern found it.
        partition: Of a Kafka record.
        file: Of a record in a file.
        number: Its offset, or its line.
    """

    source: str
    topics: tuple[str, ...]
    name: str | None
    partition: int | None
    file: str | None
    number: int


class Quarantine:
    """The poison of one query.

    Args:
        root: `run.checkpoint`.
        query: The query's name.
    """

    def __init__(self, root: Path, query: str) -> None:
        self._file = root / "_quarantine" / f"{query}.json"

    def places(self) -> tuple[PoisonPlace, ...]:
        """Return what is noted."""
        if not self._file.is_file():
            return ()
        noted = json.loads(self._file.read_text(encoding="utf-8"))
        return tuple(PoisonPlace(**{**each, "topics": tuple(each["topics"])}) for each in noted)

    def add(self, places: Sequence[PoisonPlace]) -> None:
        """Note more places, durably."""
        noted = dict.fromkeys((*self.places(), *places))
        write_whole(self._file, json.dumps([asdict(each) for each in noted], indent=1), synced=True)

    def apply(self, raw: DataFrame, topics: Sequence[Collection[Topic]]) -> DataFrame:
        """Return raw records in which the noted ones are told as poison, their bytes kept."""
        found = [each for place in self.places() if (each := _is_at(place, topics)) is not None]
        if not found:
            return raw
        poison = reduce(lambda one, other: one | other, found)
        error = F.when(poison, F.lit(POISON)).otherwise(F.col("error"))
        return raw.withColumn("error", error)


def _is_at(place: PoisonPlace, topics: Sequence[Collection[Topic]]) -> Column | None:
    """Return whether a raw record stands at `place`; None where nothing reads that any more."""
    wanted = {Topic(place.source, each) for each in place.topics}
    numbers = [number for number, each in enumerate(topics) if wanted & set(each)]
    if not numbers:
        return None
    at = F.col("topic").isin(numbers) & (F.col("minor") == place.number)
    if place.file is not None:
        at &= F.col("file").cast("string") == place.file
    else:
        at &= F.col("file").isNull() & (F.col("major") == place.partition)
    return at & (F.col("name").eqNullSafe(F.lit(place.name)))
