"""Views over the tables of relations, under names that the user chose.

    solution:
      rdbms-trigger:
        views:
          star: stars                                                  # all columns
          user: {name: people, columns: {mail: email, login: username}}

A view shows the rows that products see. In PostgreSQL it can be written through, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from joinery.clients.sql import quoted
from joinery.errors import SpecError
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.solutions.trigger.statement.dialect import Dialect
from joinery.solutions.trigger.statement.layout import QueryLayout


@dataclass(frozen=True, slots=True)
class View:
    """A view of one relation.

    Attributes:
        relation: Whose rows it shows.
        name: Its own.
        columns: Its columns and those of the relation.
    """

    relation: Relation
    name: str
    columns: tuple[tuple[str, str], ...]

    def statements(self, layout: QueryLayout, dialect: Dialect) -> Sequence[str]:
        """Return the statements that put the view in place of the one before."""
        place = layout.named(self.name)
        shown = ", ".join(
            f"kept.{quoted(column)} AS {quoted(name)}" for name, column in self.columns
        )
        select = (
            f"SELECT {shown} FROM {layout.table(self.relation)} AS kept"
            f" WHERE {layout.exists('kept')}"
        )
        return dialect.view(place, select)


def views_of(products: Sequence[Product], declared: object) -> tuple[View, ...]:
    """Return the views that the option `views` declares.

    Raises:
        SpecError: It names what the products do not have, or has another shape.
    """
    relations = {each.name: each for product in products for each in product.relations}
    return tuple(_view(relations, name, told) for name, told in _pairs(declared).items())


def _view(relations: Mapping[str, Relation], name: str, told: object) -> View:
    if name not in relations:
        raise _refused(f'The products read no relation "{name}".')
    relation = relations[name]
    known = [each.name for each in relation.row.fields]
    if isinstance(told, str):
        return View(relation, told, tuple((each, each) for each in known))
    parts = _pairs(told)
    columns = {shown: str(column) for shown, column in _pairs(parts.get("columns", {})).items()}
    for column in columns.values():
        if column not in known:
            raise _refused(f'The relation "{name}" has no column "{column}".')
    if not isinstance(parts.get("name"), str) or set(parts) - {"name", "columns"}:
        raise _refused(f'The view of "{name}" needs a name, and may have columns.')
    chosen = tuple(columns.items()) or tuple((each, each) for each in known)
    return View(relation, str(parts["name"]), chosen)


def _pairs(told: object) -> dict[str, object]:
    if isinstance(told, Mapping):
        return dict(told)
    if told is None or told == []:  # as a spec holds an empty map
        return {}
    raise _refused(f"It holds {str(told)[:40]!r} instead of a map.")


def _refused(detail: str) -> SpecError:
    return SpecError(
        'option "views" of "rdbms-trigger" cannot be used',
        detail=detail,
        hint="Write views: {relation: name}, or {relation: {name: …, columns: {new: column}}}.",
        code="SPEC_VALUE",
    )
