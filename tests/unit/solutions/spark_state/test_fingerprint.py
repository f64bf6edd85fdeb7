"""A checkpoint is used only by the plan that wrote it, and the refusal names what changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import joinery as jn
from joinery.errors import StateMismatchError
from joinery.solutions.spark_state.fingerprint import (
    FILE_NAME,
    NODE_FORMATS,
    STATE_FORMAT,
    claim_checkpoint,
    fingerprint,
    readable_formats,
)
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.lower_stream import lower_streams
from joinery.solutions.spark_state.program import KernelProgram

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string, age: int}}
  order: {key: [number], fields: {number: long, customer: string, item: string}}
products:
  profile:
    root: customer
    fields: [name]
    embed: {orders: {many: order, on: {customer: name}, fields: [item], limit: 5}}
    sink: {files: {path: out}}
"""
STREAM = """\
name: shop
relations:
  sale: {append: true, fields: {id: long, sku: string}}
  price: {key: [sku], fields: {sku: string, cents: long}}
streams:
  s: {from: sale, steps: [{lookup: price, on: [sku]}], sink: {files: {path: out}}}
"""
TO_ONE = """\
name: shop
relations:
  sale: {key: [id], fields: {id: long, sku: string}}
  price: {key: [sku], fields: {sku: string, cents: long}}
products:
  sale: {root: sale, embed: {price: {one: price, on: [sku]}}, sink: {files: {path: out}}}
"""


def program(tmp_path: Path, old: str = "", new: str = "", *, retention: int = 1) -> KernelProgram:
    """Return the program of the project with one text replaced."""
    assert old in PROJECT
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT.replace(old, new) if old else PROJECT)
    return lower(jn.load(file).plan.products, tombstone_retention_micros=retention)


def begin(folder: Path) -> None:
    """Leave what a first batch leaves."""
    (folder / "offsets").mkdir(parents=True)
    (folder / "offsets" / "0").touch()


def refusal(folder: Path, changed: KernelProgram) -> StateMismatchError:
    with pytest.raises(StateMismatchError) as refused:
        claim_checkpoint(folder, "profile", changed)
    return refused.value


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint that the project wrote."""
    folder = tmp_path / "checkpoint" / "profile"
    claim_checkpoint(folder, "profile", program(tmp_path))
    begin(folder)
    return folder


def test_the_same_plan_goes_on(checkpoint: Path, tmp_path: Path) -> None:
    before = (checkpoint / FILE_NAME).read_text()

    claim_checkpoint(checkpoint, "profile", program(tmp_path))

    assert before == (checkpoint / FILE_NAME).read_text()


def test_another_solution_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(StateMismatchError) as refused:
        claim_checkpoint(checkpoint, "profile", program(tmp_path), "kv")

    assert "Its state is kept by spark-state, not by kv." in refused.value.detail
    assert "--rebuild" in refused.value.hint


def test_other_statements_of_the_user_are_refused(tmp_path: Path) -> None:
    folder, ours = tmp_path / "checkpoint" / "profile", program(tmp_path)
    claim_checkpoint(folder, "profile", ours, "rdbms-trigger", statements="SELECT 1")
    begin(folder)
    claim_checkpoint(folder, "profile", ours, "rdbms-trigger", statements="SELECT 1")

    for changed in ("SELECT 2", ""):
        with pytest.raises(StateMismatchError) as refused:
            claim_checkpoint(folder, "profile", ours, "rdbms-trigger", statements=changed)
        assert 'The statements of its solution\'s option "sql" changed.' in refused.value.detail


@pytest.mark.parametrize("first", ["SELECT 1", ""])
def test_a_checkpoint_from_before_statements_were_noted_goes_on_with_them(
    first: str, tmp_path: Path
) -> None:
    folder, ours = tmp_path / "checkpoint" / "profile", program(tmp_path)
    claim_checkpoint(folder, "profile", ours, "rdbms-trigger")
    begin(folder)
    noted = json.loads((folder / FILE_NAME).read_text())
    del noted["statements"]
    (folder / FILE_NAME).write_text(json.dumps(noted))

    claim_checkpoint(folder, "profile", ours, "rdbms-trigger", statements=first)

    with pytest.raises(StateMismatchError):
        claim_checkpoint(folder, "profile", ours, "rdbms-trigger", statements="SELECT 2")


def test_a_relation_that_becomes_a_log_or_no_longer_is_one_is_refused(tmp_path: Path) -> None:
    plain = program(tmp_path)
    (first, *others) = plain.relations
    logged = replace(plain, relations=(replace(first, append=True), *others))

    for before, after, told in (
        (plain, logged, 'Relation "customer" is append, was not.'),
        (logged, plain, 'Relation "customer" is not append, was.'),
    ):
        folder = tmp_path / told / "profile"
        claim_checkpoint(folder, "profile", before)
        begin(folder)
        error = refusal(folder, after)
        assert told in error.detail
        assert "joinery run --rebuild" in error.hint


def test_a_checkpoint_from_before_logs_were_noted_goes_on_and_is_marked(
    checkpoint: Path, tmp_path: Path
) -> None:
    told = json.loads((checkpoint / FILE_NAME).read_text())
    former = {name: value for name, value in told.items() if name != "append"}
    (checkpoint / FILE_NAME).write_text(json.dumps(former))

    claim_checkpoint(checkpoint, "profile", program(tmp_path))

    assert told == json.loads((checkpoint / FILE_NAME).read_text())


def test_a_ledger_in_the_words_of_another_version_is_noted_anew(
    checkpoint: Path, tmp_path: Path
) -> None:
    file = checkpoint / FILE_NAME
    told = json.loads(file.read_text())
    other = {**told, "ledger": {"nodes": [["fold document", 3]], "relations": {}}}
    file.write_text(json.dumps(other))

    claim_checkpoint(checkpoint, "profile", program(tmp_path))

    assert told == json.loads(file.read_text())


def test_limits_and_sinks_change_freely(checkpoint: Path, tmp_path: Path) -> None:
    claim_checkpoint(checkpoint, "profile", program(tmp_path, retention=9))
    claim_checkpoint(checkpoint, "profile", program(tmp_path, "path: out", "path: elsewhere"))


def test_a_field_of_an_undecoded_column_adds_the_column(checkpoint: Path, tmp_path: Path) -> None:
    error = refusal(checkpoint, program(tmp_path, "fields: [name]", "fields: [name, age]"))

    assert 'the checkpoint of query "profile" holds state that another plan' in error.message
    assert 'elation "customer": column "age" was added (int)' in error.detail
    assert 'product "profile": field "age" was added (age int)' in error.detail
    assert "joinery run --rebuild" in error.hint
    assert str(checkpoint) in error.hint


def test_another_limit_is_told_with_the_old_one(checkpoint: Path, tmp_path: Path) -> None:
    error = refusal(checkpoint, program(tmp_path, "limit: 5", "limit: 7"))

    assert 'Product "profile": embed "orders": limit is 7, was 5' in error.detail


def test_another_type_is_told_with_the_old_one(checkpoint: Path, tmp_path: Path) -> None:
    error = refusal(checkpoint, program(tmp_path, "item: string", "item: binary"))

    assert 'elation "order": column "item" is binary, was string' in error.detail


def test_an_embed_that_went_is_told(checkpoint: Path, tmp_path: Path) -> None:
    embed = "    embed: {orders: {many: order, on: {customer: name}, fields: [item], limit: 5}}\n"

    error = refusal(checkpoint, program(tmp_path, embed, ""))

    assert 'elation "order": column "customer" was removed (string)' in error.detail
    assert "more. Nothing was read" in error.detail


def test_columns_in_another_order_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    swapped = program(
        tmp_path, "number: long, customer: string, item", "customer: string, number: long, item"
    )

    error = refusal(checkpoint, swapped)

    assert "The order of its products, embeds or columns changed" in error.detail


def test_state_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    begin(tmp_path / "old")

    error = refusal(tmp_path / "old", program(tmp_path))

    assert "It has no joinery.json" in error.detail


def test_another_state_format_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    told = json.loads((checkpoint / FILE_NAME).read_text())
    (checkpoint / FILE_NAME).write_text(json.dumps({**told, "format": 0}))

    error = refusal(checkpoint, program(tmp_path))

    assert f"Its state has format 0, this version uses {STATE_FORMAT}" in error.detail


def test_a_later_layout_of_one_kind_of_node_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    told = json.loads((checkpoint / FILE_NAME).read_text())
    later = {**told["kinds"], "fold": NODE_FORMATS["fold"] + 1}
    (checkpoint / FILE_NAME).write_text(json.dumps({**told, "kinds": later}))

    error = refusal(checkpoint, program(tmp_path))

    assert (
        f'The state of its "fold" nodes has format {later["fold"]}, '
        f"this version uses {NODE_FORMATS['fold']}" in error.detail
    )
    assert "joinery run --rebuild" in error.hint


def test_a_kind_of_node_that_a_program_does_not_have_concerns_it_not(
    checkpoint: Path, tmp_path: Path
) -> None:
    told = json.loads((checkpoint / FILE_NAME).read_text())
    (checkpoint / FILE_NAME).write_text(
        json.dumps({**told, "kinds": {**told["kinds"], "session": 99}})
    )

    claim_checkpoint(checkpoint, "profile", program(tmp_path))


def test_a_checkpoint_from_before_kinds_had_formats_goes_on_and_is_marked(
    checkpoint: Path, tmp_path: Path
) -> None:
    told = json.loads((checkpoint / FILE_NAME).read_text())
    assert told["kinds"] == {"fold": 2, "match": 1, "retract": 1}
    former = {name: value for name, value in told.items() if name != "kinds"}
    (checkpoint / FILE_NAME).write_text(json.dumps({**former, "format": 6}))

    claim_checkpoint(checkpoint, "profile", program(tmp_path))

    assert told == json.loads((checkpoint / FILE_NAME).read_text()), "an older version refuses it"


def test_the_state_of_streams_had_a_format_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(STREAM)
    stream = lower_streams(
        jn.load(file).plan.streams, tombstone_retention_micros=1, max_document_bytes=1
    )
    folder = tmp_path / "checkpoint"
    claim_checkpoint(folder, "s", stream.program)
    told = json.loads((folder / FILE_NAME).read_text())
    (folder / FILE_NAME).write_text(json.dumps({**told, "format": 6, "kinds": {}}))
    begin(folder)

    error = refusal(folder, stream.program)

    assert f"state has format 6, this version uses {STATE_FORMAT}" in error.detail
    assert "joinery run --rebuild" in error.hint
    (folder / FILE_NAME).write_text(json.dumps({**told, "format": 7, "kinds": {}}))
    claim_checkpoint(folder, "s", stream.program)


def test_a_checkpoint_of_an_earlier_version_goes_on_whatever_its_kinds_are_called_now(
    tmp_path: Path,
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(STREAM)
    stream = lower_streams(
        jn.load(file).plan.streams, tombstone_retention_micros=1, max_document_bytes=1
    )
    file.write_text(TO_ONE)
    product = lower(jn.load(file).plan.products)

    told = fingerprint(product), fingerprint(stream.program)

    assert ["f84bede9a7a5841d", "5e8fd265337cd99b"] == [each.program[:16] for each in told]
    assert "a Lookup at level 2" == told[0].parts['product "sale": embed "price": kept by']
    assert "Enrich s/price at level 1" == told[1].parts['stream node "s/price": kept by']


def test_a_broken_fingerprint_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / FILE_NAME).write_text("{")

    assert "cannot be read" in refusal(checkpoint, program(tmp_path)).detail


def test_a_checkpoint_without_a_batch_is_claimed_anew(tmp_path: Path) -> None:
    changed = program(tmp_path, "limit: 5", "limit: 7")
    claim_checkpoint(tmp_path / "fresh", "profile", program(tmp_path))

    claim_checkpoint(tmp_path / "fresh", "profile", changed)

    stored = json.loads((tmp_path / "fresh" / FILE_NAME).read_text())
    assert fingerprint(changed).program == stored["program"]
    assert [FILE_NAME] == [each.name for each in (tmp_path / "fresh").iterdir()]


def test_a_checkpoint_that_has_folds_of_roots_goes_on_with_them(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    conditional = "sale: {root: sale, where: price.cents > 0,"
    file.write_text(TO_ONE.replace("sale: {root: sale,", conditional))
    products = jn.load(file).plan.products
    ours, former = lower(products), lower(products, former=True)
    assert ours != former
    old, new = tmp_path / "old", tmp_path / "new"

    for folder, began in ((old, former), (new, ours)):
        claim_checkpoint(folder, "sale", began)
        begin(folder)
        assert began == claim_checkpoint(folder, "sale", ours, former=former)
    assert "assembled by a Fold at level 3" in refusal(new, former).detail
    assert ours == claim_checkpoint(tmp_path / "fresh", "sale", ours, former=former)


def test_state_of_every_format_that_its_nodes_read_is_read(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(TO_ONE.replace("sale: {key", "sale: {append: true, key"))

    told = readable_formats(lower(jn.load(file).plan.products))

    assert (f"format {STATE_FORMAT} (root 2)", f"format {STATE_FORMAT}", "format 6") == told
