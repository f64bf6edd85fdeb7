"""Reading downward: the rows below some roots, one request an edge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from joinery.engine.rows import JoinValue, join_value
from joinery.model.change import Row
from joinery.plan.nodes import Node
from joinery.solutions.store import JoinState, Key


class Fetched:
    """Rows read from a store, found by the join values they were read by."""

    def __init__(self, state: JoinState) -> None:
        self._state = state
        self._indexes: dict[tuple[str, tuple[str, ...]], dict[JoinValue, list[Row]]] = {}

    def matching(
        self, relation: str, columns: tuple[str, ...], value: JoinValue | None
    ) -> Sequence[Row]:
        """Return the rows that were read of `relation` under this value of `columns`."""
        return () if value is None else self._indexes[relation, columns][value]

    def read(self, relation: str, columns: tuple[str, ...], values: set[JoinValue]) -> list[Row]:
        """Read what is not read yet under `values`, and return the rows under all of them."""
        index = self._indexes.setdefault((relation, columns), {})
        missing = values - index.keys()
        if missing:
            index.update((value, []) for value in missing)
            for row in self._state.matching(relation, columns, missing):
                value = join_value(row, columns)
                if value is not None:
                    index[value].append(row)
        return [row for value in values for row in index[value]]

    def read_below(self, node: Node, rows: Iterable[Row]) -> None:
        """Read all that the objects of a node's `rows` show."""
        above = list(rows)
        for embed in node.embeds:
            parents = tuple(pair.parent for pair in embed.on)
            values = {join_value(row, parents) for row in above}
            known = {each for each in values if each is not None}
            columns = tuple(pair.child for pair in embed.on)
            self.read_below(embed, self.read(embed.relation.name, columns, known))


def fetch(state: JoinState, root: Node, keys: Iterable[Key]) -> tuple[Sequence[Row], Fetched]:
    """Return the root rows under `keys`, and all rows below them."""
    fetched = Fetched(state)
    rows = fetched.read(root.relation.name, root.relation.key, set(keys))
    fetched.read_below(root, rows)
    return rows, fetched
