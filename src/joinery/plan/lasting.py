"""How far behind the rows of documents with intervals may come, and how long they are kept.

A row above is over once the watermark is past its time, plus `to`, `allowed` and `retention`; a row
of an interval once the last row above is over that it could be near. What comes for either after
that is too late. A row that is both lasts as one of an interval.

For one interval more a change of a row of an interval that moves it on is as any other. After that
the row is forgotten to its changes, as soon as the watermark before one is so far, whatever others
are and whether or not its state is still there. Rows above are kept until nothing is left that such
a change may take from them, and rows of an interval until no row above is left that has them.

Bounds are those of all intervals of a product together, from the least `from` to the greatest `to`,
with the row's own time inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from joinery.plan.node import Node
from joinery.plan.product import DocumentForm
from joinery.plan.relation import Relation


@dataclass(frozen=True, slots=True)
class Lasting:
    """How long rows of one relation last, in microseconds after their time.

    Attributes:
        counts_us: A change of a row is too late once the watermark is past this.
        forgotten_us: A row is forgotten to a change of it once the watermark is past this.
        kept_us: A row leaves the state once all watermarks are past this.
    """

    counts_us: int
    forgotten_us: int
    kept_us: int


def judged_relations(form: DocumentForm) -> tuple[Relation, ...]:
    """Return the relations of a product that its intervals compare in time, each once.

    They are those whose rows may come late; there is none where one of them is a product, whose
    rows never do, or is also read in another way than by its current rows.
    """
    found = tuple(dict.fromkeys(_compared(form.root)))
    nodes = [each for each in form.root.walk() if each.relation in found]
    plain = all(each.as_of is None and each.through is None for each in nodes)
    return found if plain and all(each.product is None for each in found) else ()


def lasting_of(form: DocumentForm) -> Mapping[Relation, Lasting]:
    """Return how long the rows of each relation last; nothing where some are kept forever.

    They are where a product embeds anything else than intervals of its root: what other embeds
    hold has no time after which nothing asks for it.
    """
    embeds = form.root.embeds
    judged = judged_relations(form)
    if not judged or unlasting(form) is not None:
        return {}
    intervals = [each.within for each in embeds if each.within is not None]
    before_us = -min(0, *(each.from_us for each in intervals))
    after_us = max(0, *(each.to_us for each in intervals))
    span_us, more_us = before_us + after_us, form.emit.allowed_us + form.emit.retention_us
    left_us = after_us + 2 * span_us + more_us
    above = Lasting(after_us + more_us, left_us, left_us)
    below = Lasting(span_us + more_us, 2 * span_us + more_us, before_us + left_us)
    near = {each.relation for each in embeds}
    return {each: below if each in near else above for each in judged}


def held_us(form: DocumentForm) -> int:
    """Return how long after its time a root may still be kept that has a row of an interval.

    Where roots are rows of an interval themselves, that is longer than such a row is kept. Nothing
    can alter such a root any more, but who makes documents again needs what they have.
    """
    lasting = lasting_of(form)
    if not lasting:
        return 0
    intervals = [each.within for each in form.root.embeds if each.within is not None]
    return lasting[form.relation].kept_us - min(0, *(each.from_us for each in intervals))


def unlasting(form: DocumentForm) -> tuple[Node, str] | None:
    """Return the first node for which a product with intervals keeps all rows, and why it does.

    None where its rows are forgotten, and where it has no intervals.
    """
    root = form.root
    if all(each.within is None for each in root.walk()):
        return None
    for each in root.embeds:
        if each.within is None:
            return each, f'embed "{each.name}" has no "within"'
        if each.embeds:
            return each, f'interval "{each.name}" has embeds of its own'
    for each in root.walk():
        if each.relation.product is not None:
            return each, f'rows of product "{each.relation.name}" are never late'
        if each.through is not None:
            return each, f'interval "{each.name}" is reached through another relation'
    return None


def time_columns(relation: Relation) -> frozenset[str]:
    """Return the declared columns that the time of a row is made of."""
    names = frozenset({relation.time} if relation.time else ())
    for each in reversed(relation.derived):
        if each.name in names:
            names = names - {each.name} | each.expression.references
    return names & {each.name for each in relation.columns}


def meeting_us(form: DocumentForm, relation: Relation) -> tuple[int, int]:
    """Return how long before and after its time a row may be waited for, in microseconds."""
    before = after = 0
    for parent in form.root.walk():
        for child in parent.embeds:
            if child.within is None:
                continue
            if parent.relation == relation:
                after = max(after, child.within.to_us)
            if child.relation == relation:
                before = max(before, child.within.to_us)
                after = max(after, child.within.to_us - child.within.from_us)
    return before, after


def _compared(node: Node) -> Iterator[Relation]:
    for each in node.embeds:
        if each.within is not None:
            yield node.relation
            yield each.relation
        yield from _compared(each)
