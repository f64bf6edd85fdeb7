"""What `why` tells of a document is what the reference does with the same records, one by one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pytest
from tests.oracle.compare import chosen_seeds, each_seed
from tests.oracle.history import make_history
from tests.oracle.shape import make_shape

from joinery.model.change import Change, Key
from joinery.plan.build import build_plan
from joinery.plan.product import DocumentForm, Product
from joinery.plan.relation import Relation
from joinery.provenance.absence import Absence
from joinery.provenance.answer import Answering, Why
from joinery.provenance.document_log import DocumentLog
from joinery.provenance.roots import reach_of
from joinery.provenance.sought import Sought, can_seek
from joinery.provenance.told import Naming, key_text
from joinery.semantics.reference import ReferenceSolution
from joinery.semantics.render import document_json
from joinery.semantics.rows import JoinValue

SEEDS = chosen_seeds(40)
ROOTS = 4


@pytest.mark.parametrize("through", [False, True], ids=["embeds", "through"])
@pytest.mark.parametrize("seed", each_seed(SEEDS, few=15))
def test_why_tells_what_the_reference_does(seed: int, through: bool) -> None:
    plan = build_plan(make_shape(seed, through=through).project)
    changes = make_history(seed, plan)
    for product in plan.products:
        if isinstance(product.form, DocumentForm):
            told = [each for each in changes if each.relation in _read(product)]
            sent = _sent(product, told)
            for key in [*sent][:ROOTS]:
                _compare(product, key, told, sent[key])


def _read(product: Product) -> set[str]:
    return {each.name for each in product.relations}


def _sent(product: Product, changes: list[Change]) -> dict[Key, tuple[str | None, Change] | None]:
    """Return what was sent last of each key and by which change; None where one was refused."""
    solution = ReferenceSolution(product)
    found: dict[Key, tuple[str | None, Change] | None] = {}
    for time, change in enumerate(changes, 1):
        emitted = solution.apply([change], time)
        for each in emitted.documents:
            key = tuple(each.key.values())
            text = None if each.value is None else document_json(each.value, product.output)
            found[key] = (text, change) if found.get(key, ()) is not None else None
        for letter in emitted.dead_letters:
            found[tuple(letter.key.values())] = None
    return found


def _compare(
    product: Product, key: Key, changes: list[Change], sent: tuple[str | None, Change] | None
) -> None:
    log = DocumentLog(product, key, max_document_bytes=None)
    log.tell(changes)
    why = Answering(product, log, Naming()).answer(None, ordered="time", read={}, left={}, gone={})
    if sent is not None:
        assert log.last is not None
        assert (why.document, log.last.change) == sent
    _tells_each_row(product, log, why)
    if can_seek(product):
        _tells_the_same_of_what_is_sought(product, log, why, changes)


def _tells_each_row(product: Product, log: DocumentLog, why: Why) -> None:
    """Each row is told to be in the document, or why it is not; and where it goes from there."""
    shown = {(each.relation, each.key) for each in why.parts}
    root = key_text(product.root.relation, log.key)
    for relation in product.relations:
        for key in log.rows.keys(relation.name):
            text = key_text(relation, key)
            told = list(Absence(product, log, Naming()).told(relation, text))
            inside = [each for each in told if " is in the document" in each]
            assert told
            assert ((relation.name, text) in shown) == bool(inside)
            known = log.rows.known(relation.name, key)
            if inside and known is not None and known.seen is not None:
                reached = reach_of(product, relation.name, known.seen, log.rows)
                assert root in [each for one in reached for each in one.roots]


@dataclass(frozen=True, slots=True)
class Listed:
    """Finds changes of a list by their places in it."""

    listed: list[Change]

    def holding(
        self, relation: Relation, columns: Sequence[str], values: Collection[JoinValue]
    ) -> set[int]:
        return {
            number
            for number, each in enumerate(self.listed)
            if each.relation == relation.name
            and tuple({**(each.after or {}), **each.key}.get(name) for name in columns) in values
        }

    def changes(self, numbers: Collection[int]) -> Mapping[int, Change]:
        return {each: self.listed[each] for each in numbers}


def _tells_the_same_of_what_is_sought(
    product: Product, log: DocumentLog, why: Why, changes: list[Change]
) -> None:
    """The changes that are sought for a document, and for a row beside it, tell what all do."""
    sought = Sought(product, Listed(changes))
    sought.document(log.key)
    few = _log_of(product, log.key, changes, sought)
    assert why == Answering(product, few, Naming()).answer(
        None, ordered="time", read={}, left={}, gone={}
    )
    for relation in product.relations:
        for key in [*log.rows.keys(relation.name)][:ROOTS]:
            beside = Sought(product, Listed(changes))
            beside.document(log.key)
            beside.row(relation, key)
            few, text = _log_of(product, log.key, changes, beside), key_text(relation, key)
            _reaches_the_same(product, relation, log, key, changes)
            assert [*Absence(product, log, Naming()).told(relation, text)] == [
                *Absence(product, few, Naming()).told(relation, text)
            ]


def _reaches_the_same(
    product: Product, relation: Relation, log: DocumentLog, key: Key, changes: list[Change]
) -> None:
    known = log.rows.known(relation.name, key)
    if known is None or known.seen is None:
        return
    sought = Sought(product, Listed(changes))
    sought.roots(relation, key)
    few = _log_of(product, log.key, changes, sought)
    assert [*reach_of(product, relation.name, known.seen, log.rows)] == [
        *reach_of(product, relation.name, known.seen, few.rows)
    ]


def _log_of(product: Product, key: Key, changes: list[Change], sought: Sought) -> DocumentLog:
    log = DocumentLog(product, key, max_document_bytes=None)
    log.tell(changes[each] for each in sorted(sought.found))
    return log


def test_most_documents_can_be_sought() -> None:
    products = [each for seed in SEEDS for each in build_plan(make_shape(seed).project).products]
    documents = [each for each in products if isinstance(each.form, DocumentForm)]

    assert sum(map(can_seek, documents)) > len(documents) / 2
