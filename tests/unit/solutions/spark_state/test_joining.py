"""Programs of several parts: nothing of one hears of another, and each keeps what it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import joinery as jn
from bench.fleet.shape import declared, make_fleet
from joinery.plan.product import Product
from joinery.project.run import RunSpec
from joinery.solutions.spark_state.addition import read_again
from joinery.solutions.spark_state.ledger import Ledger, stand
from joinery.solutions.spark_state.level import targets_of
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.program import ROLE_PRIMARY, KernelProgram
from joinery.solutions.spark_state.stream_program import StreamNode
from joinery.spark.batch.query_kernel import lower_products


def fleet(tmp_path: Path, seed: int) -> list[Product]:
    made = make_fleet(seed, relations=12, products=12)
    (tmp_path / "joinery.yaml").write_text(declared(made, out="out"))
    return list(jn.load(tmp_path / "joinery.yaml").plan.products)


def ledger_of(program: KernelProgram) -> Ledger:
    found = Ledger.of(program)
    assert found is not None
    return Ledger.from_plain(json.loads(json.dumps(found.to_plain())))


@pytest.mark.parametrize("seed", range(5))
def test_what_cannot_be_told_is_a_part_of_its_own_beside_what_stood(
    tmp_path: Path, seed: int
) -> None:
    run, every = RunSpec(), fleet(tmp_path, seed)
    order = Random(seed).sample(every, 12)
    members, left = order[:9], order[9:]
    ledger, built = ledger_of(lower(members)), 0

    for one in left:
        part = ledger.next_part
        program, *_ = lower_products([*members, one], run, ledger, {one.name: part})
        found = read_again(program, ledger, [one.name])
        if found.program is None:
            assert all("needs more levels" in each for each in found.why)
            continue
        built, members = built + 1, [*members, one]
        nodes = [each for each in found.program.nodes if not isinstance(each, StreamNode)]
        new = {*range(len(ledger.nodes), len(nodes))}
        assert new
        assert all({*targets_of(nodes[each])} <= new for each in new)
        assert all(not {*targets_of(each)} & new for i, each in enumerate(nodes) if i not in new)
        relations = found.program.relations
        for route in found.program.routes:
            assert (relations[route.relation].part == part) == (route.node in new)
        counted = [
            relations[each.relation].name
            for each in found.program.routes
            if each.role & ROLE_PRIMARY
        ]
        assert len(counted) == len({*counted}), "a record is counted once"
        ledger = ledger_of(found.program)
        assert part == ledger.parts[one.name]
        again, *_ = lower_products(members[::-1], run, ledger)
        stood = stand(again, ledger).program
        assert stood is not None
        assert ledger == replace(ledger_of(stood), relations=ledger.relations)

    assert built
    gone, *_ = lower_products(members[3:8], run, ledger)
    assert stand(gone, ledger).program is not None, "any of them can leave"
