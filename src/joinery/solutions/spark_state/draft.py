"""What a program of the kernel is made of while it is lowered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from joinery.plan.product import DocumentForm, Product
from joinery.plan.relation import Relation
from joinery.solutions.spark_state.assembler import (
    Assembler,
    Slot,
    slots_of,
)
from joinery.solutions.spark_state.ledger import Ledger, Way
from joinery.solutions.spark_state.needed import needed_columns
from joinery.solutions.spark_state.places import RelationUses
from joinery.solutions.spark_state.program import (
    DocumentNode,
    ProductProgram,
    Retract,
)
from joinery.solutions.spark_state.relation_view import view_of
from joinery.solutions.spark_state.versioning import (
    lasting_row,
)


class Draft:
    """Collects the nodes and assemblers of a program, and what wants the rows of its relations.

    Args:
        products: Those of the program.
        former: Whether the program is to be one that older checkpoints have.
        keeps_judged: Whether rows of logs in intervals are to be kept, as in all of those.
        keeps_gathers: Whether Folds are to gather nothing themselves, as in all of these and those.
        keeps_closings: Whether deadlines are to stand before Folds, as in all of the above.
        keeps_searched: Whether rows that are searched have a Retract, as in all of the above.
        ledger: What a checkpoint holds that the program is to go on from; None for nothing.
    """

    def __init__(
        self,
        products: Sequence[Product],
        *,
        former: bool = False,
        keeps_judged: bool = False,
        keeps_gathers: bool = False,
        keeps_closings: bool = False,
        keeps_searched: bool = False,
        ledger: Ledger | None = None,
    ) -> None:
        self.former, self.keeps_judged = former, former or keeps_judged
        self.keeps_gathers = self.keeps_judged or keeps_gathers
        self.keeps_closings = self.keeps_gathers or keeps_closings
        # Others may join a group later, and are told the rows that a Retract has.
        grouped = any(each.group is not None for each in products)
        self.keeps_searched = grouped or self.keeps_closings or keeps_searched
        self._ledger = ledger
        self.nodes: list[DocumentNode] = []
        self.assemblers: list[Assembler] = []
        self.products: list[ProductProgram] = []
        self.reasons: list[str] = []
        self.relations: dict[str, RelationUses] = {}
        self.views: dict[str, int] = {}
        self.versions: dict[str, RelationUses] = {}
        self.judged: list[RelationUses] = []
        kept = {} if ledger is None else ledger.relations
        for name, (relation, needed) in needed_columns(products, kept).items():
            self._add_relation(name, relation, needed)
        forms = [each.form for each in products if isinstance(each.form, DocumentForm)]
        for node in (one for each in forms for one in each.root.walk()):
            if node.as_of is not None and node.relation.name not in self.versions:
                self._add_versions(node.relation)

    def _add_relation(self, name: str, relation: Relation, needed: frozenset[str]) -> None:
        view = view_of(name, relation, needed)
        self.views[name] = self.assembler(view)
        row = slots_of(view.type)
        self.relations[name] = RelationUses(relation, len(self.relations), row, view.own)

    def _add_versions(self, relation: Relation) -> None:
        """Add the versions of a relation's rows, as one more relation."""
        lasting = lasting_row(relation, self.relations[relation.name].row)
        columns = tuple(Slot(each.name, each.type) for each in lasting.type.fields)
        self.views[versions_name(relation)] = self.assembler(lasting)
        index = len(self.relations) + len(self.versions)
        self.versions[relation.name] = RelationUses(relation, index, columns, columns)

    def assembler(self, assembler: Assembler) -> int:
        """Add an assembler and return its place."""
        self.assemblers.append(assembler)
        return len(self.assemblers) - 1

    def reserve(self) -> int:
        """Return the place of a node that is set later."""
        self.nodes.append(Retract("", 0, 0, ()))
        return len(self.nodes) - 1

    def way_kept(self, relation: Relation) -> Way | None:
        """Return by what a checkpoint has rows of a relation sent, which then stays."""
        return None if self._ledger is None else self._ledger.ways.get(relation.name)

    def all_rows(self) -> Iterator[tuple[str, RelationUses]]:
        """Yield the relations by their names, after them the versions of some."""
        yield from self.relations.items()
        for uses in self.versions.values():
            yield versions_name(uses.relation), uses


def versions_name(relation: Relation) -> str:
    """Return the name under which the versions of a relation's rows are one more relation."""
    return f"versions of {relation.name}"
