"""A table of an app: rows kept current from their topic, which events look up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from joinery.project.product import RelationSpec


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a key, as a lookup finds them.

    Attributes:
        spec: What it declares.
        stored: Whether the app keeps it in its database.
    """

    spec: RelationSpec
    stored: bool = False

    @property
    def name(self) -> str:
        """The table's name."""
        return self.spec.name

    def pairs(self, on: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
        """Return table column and event column, from how Python tells them.

        Args:
            on: Table column to event column, as everywhere; a list of names that agree; or
                one name, of the event's column that is compared with the only column of the
                key.

        Example:
            >>> orders = Table(RelationSpec("customers", ("id",), (("id", "long"),)))
            >>> orders.pairs("customer_id"), orders.pairs({"id": "customer_id"})
            ({'id': 'customer_id'}, {'id': 'customer_id'})
        """
        if isinstance(on, Mapping):
            return dict(on)
        if not isinstance(on, str):
            return {name: name for name in on}
        return {self.spec.key[0] if len(self.spec.key) == 1 else on: on}

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}: {kind}" for name, kind in self.spec.fields)
        return f"<table {self.name} by {', '.join(self.spec.key)}: {columns}>"

    def _repr_html_(self) -> str:
        """Return the columns as a notebook shows them."""
        rows = "".join(
            f"<tr><td>{'<b>' * (name in self.spec.key)}{escape(name)}</td>"
            f"<td>{escape(kind)}</td></tr>"
            for name, kind in self.spec.fields
        )
        stored = ", kept in the database" if self.stored else ""
        return f"<table><caption>{escape(self.name)}{stored}</caption>{rows}</table>"
