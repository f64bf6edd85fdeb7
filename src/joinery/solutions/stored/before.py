"""The rows of a store as they stood before a batch that it has written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from joinery.model.change import Row
from joinery.plan.relation import Relation
from joinery.semantics.row_key import key_reader
from joinery.semantics.rows import JoinValue, join_reader
from joinery.solutions.stored.state import (
    JoinState,
)
from joinery.solutions.stored.tactic import Image


class RowsBefore:
    """Finds rows as `JoinState.matching`, with the rows that a batch changed as they were.

    Args:
        state: The store, after the batch was written.
        relations: Those that it holds.
        images: Of the rows that the batch changed, by relation.
    """

    def __init__(
        self,
        state: JoinState,
        relations: Collection[Relation],
        images: Mapping[str, Sequence[Image]],
    ) -> None:
        self._state = state
        self._relations = {each.name: each for each in relations}
        self._images = images

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the rows that were visible before, whose `columns` equal one of `values`."""
        now = self._state.matching(relation, columns, values)
        images = self._images.get(relation, ())
        if not images:
            return now
        of = self._relations[relation]
        key_of, value_of = key_reader(of), join_reader(of, columns)
        changed = {key_of(after) for _, after in images if after is not None}
        wanted = set(values)
        return [
            *(row for row in now if key_of(row) not in changed),
            *(before for before, _ in images if before and value_of(before) in wanted),
        ]
