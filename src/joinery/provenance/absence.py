"""Why a row is not in a document: each place where it could be, and what keeps it out there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from joinery.model.change import Key, Row
from joinery.plan.node import Node
from joinery.plan.product import Product
from joinery.plan.relation import JoinPair, OrderKey, Relation
from joinery.project.quantity import offset_text
from joinery.provenance.document_log import DocumentLog
from joinery.provenance.live_rows import Known, LiveRows
from joinery.provenance.parts import Level, key_of, levels
from joinery.provenance.told import Naming, keys_named
from joinery.semantics.assemble import Assembler
from joinery.semantics.rows import Findings, join_value, time_of
from joinery.semantics.through import Reached


def unseen(rows: LiveRows, naming: Naming, relation: Relation, key: Key) -> str:
    """Return why products do not see a row that the logs tell of."""
    name, known = naming.row(relation, key), rows.known(relation.name, key)
    assert known is not None
    row = rows.whole(relation.name, known)
    if row is None:
        by = "" if known.by is None else f" at {naming.place(known.by)}"
        return f"{name} was deleted{by}"
    assert relation.where is not None
    values = naming.columns(relation, row, relation.where.references)
    where = f"`{relation.where.sql}`, {values}"
    return f"the where of relation {relation.name} leaves out {name}: {where}"


@dataclass(frozen=True, slots=True)
class Absence:
    """Asks one document for one row.

    Attributes:
        log: The document, with all rows.
        naming: How rows and places are told.
    """

    product: Product
    log: DocumentLog
    naming: Naming

    def told(self, relation: Relation, text: str) -> Iterator[str]:
        """Yield what keeps a row out, or where it is.

        Args:
            relation: One that the product reads.
            text: Its key, as commands take it.
        """
        keys = keys_named(relation, self.log.rows.keys(relation.name), text)
        if not keys:
            yield f"no record in the logs is about {relation.name} {text}"
        for key in keys:
            yield from self._of_key(relation, key)

    def _of_key(self, relation: Relation, key: Key) -> Iterator[str]:
        name, known = self.naming.row(relation, key), self.log.rows.known(relation.name, key)
        assert known is not None
        yield from self._newer(known)
        if known.seen is None:
            yield unseen(self.log.rows, self.naming, relation, key)
            return
        root = self.log.root
        if root is None or self.log.document is None:
            yield from self.no_root()
            return
        assembler = Assembler(self.product.root, Findings())
        found = list(levels(assembler, root, self.log.rows))
        told = [
            one
            for node in self._nodes(relation)
            for one in self._at(node, relation, found, known.seen)
        ]
        yield from (f"{name} {each}" for each in told)
        if relation == self.product.root.relation:
            yield from self._as_root(name, key)

    def no_root(self) -> Iterator[str]:
        """Yield why there is no document, where there is none."""
        relation = self.product.root.relation
        name = self.naming.row(relation, self.log.key)
        known = self.log.rows.known(relation.name, self.log.key)
        if known is None:
            yield f"there is no document: no record in the logs is about {name}"
        elif known.seen is None:
            why = unseen(self.log.rows, self.naming, relation, self.log.key)
            yield f"there is no document: {why}"
        elif self.log.document is None:
            where = self.product.root.where
            assert where is not None
            values = self.naming.columns(relation, known.seen, where.references)
            told = f"`{where.sql}`, is not true for {name}{values and f' with {values}'}"
            yield f"there is no document: the product's where, {told}"

    def _nodes(self, relation: Relation) -> Iterator[Node]:
        for node in self.product.root.walk():
            if node.cardinality != "root" and relation in node.relations:
                yield node

    def _newer(self, known: Known) -> Iterator[str]:
        if (late := known.refused) is not None and known.by is not None:
            yield (
                f"its newest record, at {self.naming.place(late)}, changed nothing: it is older"
                f" than that at {self.naming.place(known.by)}, which the row has"
            )

    def _as_root(self, name: str, key: Key) -> Iterator[str]:
        if key != self.log.key:
            yield f"{name} is the root of another document"
        else:
            yield f"{name} is in the document: it is its root"

    def _at(
        self, node: Node, relation: Relation, found: Sequence[Level], row: Row
    ) -> Iterator[str]:
        """Yield what becomes of a row at one embed, or of one that leads to its rows."""
        here = [each for each in found if each.node is node]
        path = node.path.partition("/")[2].replace("/", ".")
        if not here:
            above = path.rpartition(".")[0]
            yield f"cannot be in {path}: there is nothing in {above}"
            return
        if relation != node.relation:
            yield self._leading(here, row, path)
            return
        joined = [cause for cause in (self._in(each, row) for each in here) if cause is not None]
        yield from joined or [self._unjoined(here, row, path)]

    def _in(self, level: Level, row: Row) -> str | None:
        """Return what becomes of a row at one place that it joins; None where it does not join."""
        node = level.node
        if row not in self._joining(level):
            return None
        if node.within is not None:
            above = time_of(level.parent, self._above(level).time)
            own = time_of(row, node.relation.time)
            if above is None or own is None:
                return f"is not in {level.path}: within needs times, and there is none"
            if own - above not in node.within:
                return (
                    f"is not in {level.path}: its time is {offset_text(own - above)} from that of"
                    f" the row above, and within needs {offset_text(node.within.from_us)} to"
                    f" {offset_text(node.within.to_us)}"
                )
        for place, (path, each, shown) in enumerate(level.objects(), 1):
            if each.row is row or key_of(node, each.row) == key_of(node, row):
                return self._ranked(level, path, place, shown=shown)
        assert node.where is not None
        values = self.naming.columns(node.relation, row, node.where.references)
        told = f"its where, `{node.where.sql}`, is not true{values and f' with {values}'}"
        return f"is not in {level.path}: {told}"

    def _ranked(self, level: Level, path: str, place: int, *, shown: bool) -> str:
        node = level.node
        if shown:
            return f"is in the document, at {path}{' (hidden)' if node.hidden else ''}"
        if not level.shown:
            return f"is not shown: the row above it, at {level.above}, is kept back"
        by = _order(node.order)
        if node.cardinality == "one":
            first = next(iter(level.gathered.objects))
            other = self.naming.row(node.relation, key_of(node, first.row))
            return f"is not in {level.path}: one row is shown, and {other} comes first by {by}"
        return (
            f"is not in {level.path}: it comes {_nth(place)} by {by}, and the limit is {node.limit}"
        )

    def _joining(self, level: Level) -> Sequence[Row]:
        node, rows = level.node, self.log.rows
        place = node.relation.name, tuple(pair.child for pair in node.on)
        if node.through is None:
            return rows.matching(*place, level.joins_on)
        listed, _ = Reached(node, node.through).by(level.joins_on, rows)
        return [row for each in listed for row in rows.matching(*place, each)]

    def _above(self, level: Level) -> Relation:
        for node in self.product.root.walk():
            if level.node in node.embeds:
                return node.relation
        raise AssertionError(level.path)

    def _unjoined(self, here: Sequence[Level], row: Row, path: str) -> str:
        """Tell that a row joins none of the rows above, and what they ask for instead."""
        node = here[0].node
        child = self.naming.pairs(node.relation, row, [pair.child for pair in node.on])
        if join_value(row, [pair.child for pair in node.on]) is None:
            return f"is not in {path}: {child}, and null joins nothing"
        if node.through is not None:
            return self._not_reached(here, row, path, child)
        above = self._above(here[0])
        asked = dict.fromkeys(
            self.naming.pairs(above, each.parent, [pair.parent for pair in node.on])
            for each in here
        )
        told = " or ".join([*asked][:3]) + (f" or {len(asked) - 3} more" if len(asked) > 3 else "")
        return f"is not in {path}: it has {child}, and the row above has {told} ({_on(node.on)})"

    def _leading(self, here: Sequence[Level], row: Row, path: str) -> str:
        """Tell whether a row leads to rows of an embed."""
        through = here[0].node.through
        assert through is not None
        own = join_value(row, [pair.child for pair in through.on])
        to = self.naming.pairs(through.relation, row, [pair.parent for pair in here[0].node.on])
        if own is not None and own in [each.joins_on for each in here]:
            return f"is used for {path}, and not shown itself: it leads to {to}"
        told = self.naming.pairs(through.relation, row, [pair.child for pair in through.on])
        return f"does not lead to {path}: it has {told}, which is of another document"

    def _not_reached(self, here: Sequence[Level], row: Row, path: str, child: str) -> str:
        node = here[0].node
        assert node.through is not None
        value = join_value(row, [pair.child for pair in node.on])
        columns = tuple(pair.parent for pair in node.on)
        leading = self.log.rows.matching(node.through.relation.name, columns, value)
        bound = node.through.hot_above
        if bound is not None and len(leading) > bound:
            return (
                f"is not in {path}: {len(leading):,} rows of {node.through.relation.name} lead to"
                f" {child}, which is above hot, {bound:,}"
            )
        return (
            f"is not in {path}: no row of {node.through.relation.name} leads to {child} from here"
        )


def _order(order: Sequence[OrderKey]) -> str:
    named = [f"{'-' if each.descending else ''}{each.expression.sql}" for each in order]
    return f"{', '.join(named)}, then its key" if named else "its key"


def _on(pairs: Sequence[JoinPair]) -> str:
    return ", ".join(f"{pair.child} = {pair.parent}" for pair in pairs)


def _nth(place: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{place:,}{'th' if place % 100 in (11, 12, 13) else ends.get(place % 10, 'th')}"
