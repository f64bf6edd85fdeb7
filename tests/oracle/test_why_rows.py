"""What `why` tells of a row without a root is what the reference does with the same records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.oracle import event_logs, groups, histories, patterns, searches
from tests.oracle.compare import chosen_seeds, each_seed

from joinery.model.change import Change, Key, KeyObject
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.plan.search import SearchForm
from joinery.provenance import row_log
from joinery.provenance.grouping import identity_of, records
from joinery.provenance.match_log import MatchLog
from joinery.provenance.row_answer import RowAnswering
from joinery.provenance.row_log import RowLog, ToldRow
from joinery.provenance.row_maker import RowForm
from joinery.provenance.told import Naming
from joinery.semantics.reference import ReferenceSolution
from joinery.semantics.render import document_json, map_key_text
from joinery.testing.changes import RowChange
from joinery.testing.conformance.joined import joined
from joinery.testing.conformance.project import load_text

SEEDS = chosen_seeds(25)
KEYS = 3


def told(project: str, made: Sequence[RowChange]) -> tuple[Product, list[Change]]:
    """Return a product, and changes with a place each in the partition of their log."""
    own = project.replace("sources: {c: {files: {path: data}}}\n", "")
    own = own.replace(", sink: {files: {path: out}}", "")
    product = build_plan(joined([load_text(own)])).products[0]
    relations = {each.name: each for each in product.relations}
    changes = [each.change(relations[each.relation]) for each in made]
    return product, [
        replace(each, place=(each.partition, number)) for number, each in enumerate(changes)
    ]


def rows_of(
    product: Product, changes: Sequence[Change]
) -> dict[Key, tuple[str | None, Change | None]]:
    """Return each row that was ever sent, and the record after which it was sent last."""
    solution = ReferenceSolution(product)
    found: dict[Key, tuple[str | None, Change | None]] = {}
    for record in records(changes):
        for each in solution.apply(record, 0).documents:
            text = None if each.value is None else document_json(each.value, product.output)
            found[tuple(each.key.values())] = text, record[-1]
    return found


def followed(product: Product, changes: Sequence[Change], key: Key) -> ToldRow:
    assert isinstance(product.form, RowForm)
    text = map_key_text(key, [each.type for each in product.key.fields])
    found = RowLog(product, product.form, max_document_bytes=None).tell(changes, text)
    assert found is not None
    assert key == found.key
    return found


def agree(product: Product, changes: Sequence[Change], *, last: bool = True) -> None:
    """Compare some rows, all the same whether records are looked at one by one or not."""
    sent = rows_of(product, changes)
    for key in random.Random(len(changes)).sample([*sent], min(KEYS, len(sent))):
        found = followed(product, changes, key)

        assert sent[key][0] == found.text
        if last:
            assert found.last is not None
            assert sent[key] == (found.last.after, found.last.change)
        assert (found.text is None) == (not found.parts)
        answer = RowAnswering(product, found, Naming()).answer(
            ordered="time", read={}, left={}, gone={}
        )
        assert answer.to_json()["altered"] == found.altered
        assert list(answer.lines())


def remade(product: Product, changes: Sequence[Change], key: Key) -> str | None:
    """Return the row that follows from the records of the rows that are told of it alone."""
    relation = product.form.relation
    rows = {identity_of(relation, each.change) for each in followed(product, changes, key).parts}
    alone = [each for each in changes if identity_of(relation, each) in rows]
    return rows_of(product, alone).get(key, (None, None))[0]


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
def test_groups(seed: int) -> None:
    log = groups.random_log(seed)
    product, changes = told(log.project, log.changes)

    agree(product, changes, last=not log.closed)
    if not log.closed and log.late == "correct":
        for key, (text, _) in [*rows_of(product, changes).items()][:KEYS]:
            assert text == remade(product, changes, key)


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
def test_states(seed: int) -> None:
    log = event_logs.random_log(seed)
    product, changes = told(log.project, log.changes)

    # By the watermark a gap may be given up when a record of another state comes.
    agree(product, changes, last=log.wait_s == 0 or not log.timed)


@pytest.mark.parametrize("known", [False, True], ids=["valid", "known"])
@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
def test_versions(seed: int, known: bool) -> None:
    log = histories.random_log(seed, known=known)
    product, changes = told(log.project, log.changes)

    agree(product, changes)


@pytest.mark.parametrize("ruled", [False, True], ids=["alone", "ruled"])
@pytest.mark.parametrize("append", [False, True], ids=["table", "log"])
@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
def test_matches(seed: int, append: bool, ruled: bool) -> None:
    pick = random.Random(seed)
    project = patterns.random_project(pick, append=append, ruled=ruled)
    made = patterns.random_changes(pick, append=append, number=30)
    made = patterns.with_rules(pick, made) if ruled else made
    product, changes = told(project, made)
    waits = getattr(product.form, "waits", False)

    agree(product, changes, last=not waits)


@pytest.mark.parametrize("text", [False, True], ids=["condition", "text"])
@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
def test_matches_of_stored_queries(seed: int, text: bool) -> None:
    log = searches.random_text_search(seed) if text else searches.random_search(seed)
    product, changes = told(log.project, log.changes)
    assert isinstance(product.form, SearchForm)
    sent, pick = rows_of(product, changes), random.Random(seed)
    queries, documents = (
        sorted({each.key["id"] for each in changes if each.relation == name})
        for name in ("saved", "listing")
    )
    sought = [(pick.choice(queries), pick.choice(documents)) for _ in range(2 * KEYS)]
    matched = [(key[0]["id"], key[1]["id"]) for key in sent]

    for query, document in [*sought, *pick.sample(matched, min(KEYS, len(matched)))]:
        key = (KeyObject(id=query), KeyObject(id=document))
        found = MatchLog(product, product.form, Naming(), max_document_bytes=None).tell(
            changes, f"{query},{document}"
        )
        assert found is not None
        assert key == found.key
        standing, last = sent.get(key, (None, None))
        assert standing == found.text
        assert (None if found.last is None else found.last.change) is last
        assert (found.text is None) == bool(found.notes)


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_a_group_of_very_many_records_is_told_by_its_last(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_log, "_EACH", 3)
    monkeypatch.setattr(row_log, "_TESTS", 1)
    log = groups.random_log(seed)
    product, changes = told(log.project, log.changes)

    agree(product, changes, last=not log.closed)
