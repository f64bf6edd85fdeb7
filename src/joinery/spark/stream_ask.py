"""A lookup in a store, for all events of a batch: their distinct keys asked once, joined natively.

Keys come to the driver as a few JSON texts, and answers go back as such, so Python works a
key, never an event. The lookup's fields are computed here, once a key.

Invariant: every event leaves exactly once, with or without its row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from joinery.connect.lookup.asker import Asker
from joinery.connect.lookup.make import table_of
from joinery.connect.lookup.protocol import Answer, Key, Unfit
from joinery.connect.lookup.value import RowReader
from joinery.engine.lookup_fields import LookupFields
from joinery.engine.merge import RowMerge
from joinery.engine.render import document_json
from joinery.engine.scope import Findings
from joinery.model.type import STRING, Field, Struct, quoted
from joinery.plan.stream import Lookup

FOUND, UNFIT = "__found", "__unfit"
_GIVEN = "__given"
_ROWS_A_TEXT = 2_000
_MOST_BROADCAST = 500_000
_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}


class StoreLookup:
    """Adds the fields of one lookup to the events of a batch.

    Args:
        lookup: Reads a database.
        asker: Open, for as long as batches come.
    """

    def __init__(self, lookup: Lookup, asker: Asker) -> None:
        self._lookup = lookup
        self._asker = asker
        self._findings = Findings()
        self._merge = RowMerge(lookup.table, self._findings)
        self._fields = LookupFields(lookup, self._findings)
        self._columns = [each.name for each in table_of(lookup).columns]
        self._key = [Field(f"__k{at}", pair.type) for at, pair in enumerate(lookup.on)]
        self._keys = RowReader(self._key)
        self._given = Struct(
            tuple(Field(each.name, each.expression.type) for each in lookup.fields)
        )
        self._row = Struct((*self._key, Field(_GIVEN, self._given), Field(UNFIT, STRING)))

    @property
    def failures(self) -> int:
        """How many expressions failed so far, and gave null."""
        return self._findings.failures

    def join(self, events: DataFrame) -> DataFrame:
        """Return `events` with the lookup's fields, in the places of their names or last.

        Beside them stand `__found`, whether there is a row, and `__unfit`, why what the
        store holds is none. The events are evaluated twice: once for their keys.
        """
        keyed = events.withColumns(self._event_keys())
        keys = self._distinct(keyed)
        answers = self._frame(events.sparkSession, self._asker.ask(keys))
        names = [each.name for each in self._key]
        joined = keyed.join(
            F.broadcast(answers) if len(keys) <= _MOST_BROADCAST else answers, names, "left"
        )
        return joined.select(*self._shown(events.columns))

    def _event_keys(self) -> dict[str, Column]:
        return {
            each.name: F.col(quoted(pair.parent)).cast(pair.type.ddl)
            for each, pair in zip(self._key, self._lookup.on, strict=True)
        }

    def _distinct(self, keyed: DataFrame) -> list[Key]:
        names = [each.name for each in self._key]
        distinct = keyed.select(*names).dropna().distinct()
        packed = distinct.groupBy(F.spark_partition_id()).agg(
            F.to_json(F.collect_list(F.struct(*names)), _TIMES).alias("keys")
        )
        return [key for row in packed.collect() for key in self._read(row["keys"])]

    def _read(self, text: str) -> Iterator[Key]:
        for each in json.loads(text, parse_float=Decimal):
            key = self._keys.named(each)
            if isinstance(key, tuple):
                yield key

    def _frame(self, session: SparkSession, answers: Mapping[Key, Answer]) -> DataFrame:
        rows = [text for key, answer in answers.items() if (text := self._text(key, answer))]
        texts = [(f"[{','.join(some)}]",) for some in _chunks(rows, _ROWS_A_TEXT)]
        ddl = f"array<{self._row.ddl}>"
        packed = session.createDataFrame(texts, "rows string")
        return packed.select(F.inline(F.from_json("rows", ddl, {"mode": "FAILFAST"})))

    def _text(self, key: Key, answer: Answer) -> str | None:
        """Return an answer as JSON, None where there is no row that products see."""
        if answer is None:
            return None
        row: dict[str, Any] = {each.name: value for each, value in zip(self._key, key, strict=True)}
        if isinstance(answer, Unfit):
            return document_json(row | {_GIVEN: None, UNFIT: answer.detail}, self._row)
        whole = self._merge.derived(dict(zip(self._columns, answer, strict=True)))
        if not self._merge.visible(whole):
            return None
        return document_json(row | {_GIVEN: self._fields.of(whole), UNFIT: None}, self._row)

    def _shown(self, before: Sequence[str]) -> list[Column]:
        given = {
            each.name: F.col(f"{_GIVEN}.{quoted(each.name)}").alias(each.name)
            for each in self._given.fields
        }
        kept = [given.get(name, F.col(quoted(name))) for name in before]
        added = [column for name, column in given.items() if name not in before]
        return [
            *kept,
            *added,
            F.col(_GIVEN).isNotNull().alias(FOUND),
            F.col(UNFIT),
        ]


def _chunks(rows: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
