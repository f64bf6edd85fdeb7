"""The answer to why a row of a product without a root looks as it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from joinery.model.change import Change
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.provenance.answer import Last, Part, Why, last_of
from joinery.provenance.document_log import Difference, differences
from joinery.provenance.logs import Ordered
from joinery.provenance.row_log import RowAlteration, ToldRow
from joinery.provenance.told import Naming, asked_text, key_text
from joinery.semantics.json_text import read_json
from joinery.semantics.personal import masked


@dataclass(frozen=True, slots=True)
class RowAnswering:
    """Makes the answer of one row whose log was told."""

    product: Product
    row: ToldRow
    naming: Naming

    def answer(
        self,
        *,
        ordered: Ordered,
        read: Mapping[str, int],
        left: Mapping[str, int],
        gone: Mapping[str, str],
    ) -> Why:
        """Return it.

        Args:
            ordered: What orders records of different logs.
            read: How many records were read, by relation.
            left: How many were not.
            gone: What of their logs is gone.
        """
        row = self.row
        return Why(
            product=self.product.name,
            key=asked_text(row.key, [each.type for each in self.product.key.fields]),
            document=row.text and masked(row.text),
            refused=row.refused,
            parts=[self._part(each.role, each.change) for each in row.parts],
            notes=list(self._notes()),
            absent=[],
            altered=row.altered,
            last=None if row.last is None else self._last(row.last),
            ordered=ordered,
            read=read,
            left=left,
            gone=gone,
            values=row.key,
        )

    def _part(self, role: str, change: Change) -> Part:
        relation = self._relation(change)
        return Part(
            role,
            relation.name,
            key_text(relation, tuple(change.key.values())),
            self.naming.place(change),
            change.position,
            hidden=False,
            last=self.row.last is not None and self.row.last.change is change,
        )

    def _notes(self) -> Iterator[str]:
        yield from self.row.notes
        if self.row.since:
            yield f"what altered it is shown for all but its first {self.row.since:,} records"

    def _last(self, last: RowAlteration) -> Last:
        return last_of(self._relation(last.change), last.change, self.naming, _altered(last))

    def _relation(self, change: Change) -> Relation:
        return next(each for each in self.product.form.relations if each.name == change.relation)


def _altered(last: RowAlteration) -> list[Difference]:
    """Return what a record altered; one with an empty path where the row came or went."""
    before, after = (text and read_json(masked(text)) for text in (last.before, last.after))
    if last.before is None or last.after is None:
        return [Difference("", before, after)]
    return list(differences(before, after))
