"""`joinery plan` and `joinery apply` over checkpoints that only have their fingerprint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.cli.checkpoints import PROJECT, SUMS, TOTALS, declare, has_read, has_run
from tests.unit.cli.command import joinery

from joinery.delivery.held_row import HeldRow
from joinery.delivery.hold import Hold
from joinery.delivery.lease import Lease
from joinery.sinks.line import StagedRow


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    declare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_was_never_run_begins_and_what_ran_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 0 == joinery(monkeypatch, "plan")
    assert "card: 1 added\n" in (said := capsys.readouterr().out)
    assert "  run: reads customer, order from the beginning\n" in said
    has_run(folder)

    assert 0 == joinery(monkeypatch, "plan")

    assert "core: 3 unchanged\n  run: continues from its state\n" in capsys.readouterr().out


def test_a_removed_product_leaves_the_state_of_the_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(folder)
    declare(folder, (TOTALS, ""))

    assert 3 == joinery(monkeypatch, "plan")

    said = capsys.readouterr().out
    assert "core: 2 unchanged, 1 removed\n  removed   totals\n" in said
    assert "  apply: keeps the state; nothing is read again, nothing is sent\n" in said
    assert 0 == joinery(monkeypatch, "apply")
    assert "core: its state is kept" in (said := capsys.readouterr().out)
    assert "card: nothing to do\n" in said
    assert 0 == joinery(monkeypatch, "plan")
    capsys.readouterr()
    declare(folder)
    assert 3 == joinery(monkeypatch, "plan", "--json")
    core = json.loads(capsys.readouterr().out)[0]
    assert ("carried", True) == (core["outcome"], core["apply"])
    assert {"profile": "unchanged", "cities": "unchanged", "totals": "added"} == core["products"]
    assert [] == core["reads_again"]


def test_only_what_changed_is_told_beside_products_that_are_removed_and_added(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(folder)
    has_read(folder, customer=2100, order=7)
    seen = SUMS.replace("[customer]", "[id]")
    declare(folder, (TOTALS, seen), ("[city], values: {n:", "[city], values: {m:"))

    assert 3 == joinery(monkeypatch, "plan", "--json")

    core = json.loads(capsys.readouterr().out)[0]
    wanted = {"profile": "unchanged", "cities": "changed", "sums": "added", "totals": "removed"}
    assert wanted == core["products"]
    assert core["why"]
    assert all('product "cities"' in each for each in core["why"])


def test_nothing_is_told_of_columns_that_added_products_alone_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    column, product = ("total: long", "total: long, item: string"), SUMS.replace("total)", "id)")
    declare(folder, column)
    has_run(folder)
    has_read(folder, customer=2100, order=7)
    declare(folder, column, (TOTALS, TOTALS + product.replace("[customer]", "[item]")))

    assert 3 == joinery(monkeypatch, "plan", "--json")

    core = json.loads(capsys.readouterr().out)[0]
    assert ("carried", "added", []) == (core["outcome"], core["products"]["sums"], core["why"])


def test_a_changed_fold_is_told_once_by_its_state(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = "  paid: {append: true, fields: {id: long, n: long, type: string}}\nproducts:"
    fold = (
        "  paying: {fold: paid, group: core, by: [id], sequence: n, wait: 0s,"
        " state: {moves: int = 0}, when: {Put: {moves: moves + 1}}, sink: {files: {path: out}}}\n"
    )
    declare(folder, ("products:", log), (TOTALS, TOTALS + fold))
    has_run(folder)
    has_read(folder, paid=7)
    later = fold.replace("int = 0", "int = 9")
    declare(folder, ("products:", log), (TOTALS, TOTALS + later))

    assert 3 == joinery(monkeypatch, "plan", "--json")

    core = json.loads(capsys.readouterr().out)[0]
    told = 'product "paying": at first is moves int = 9 int, was moves int = 0 int'
    assert ("carried", [told]) == (core["outcome"], core["why"])


def test_a_changed_relation_is_named_where_a_product_of_its_name_is_removed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alike = ("totals:", "customer:")
    declare(folder, alike)
    has_run(folder)
    declare(folder, (TOTALS, ""), ("customer: {key: [id],", "customer: {key: [id], where: id > 5,"))

    assert 1 == joinery(monkeypatch, "apply")

    assert 'relation "customer": where' in capsys.readouterr().err.lower()


@pytest.mark.parametrize(("read", "code"), [("customer", 0), ("order", 1)])
def test_only_topics_that_were_read_are_missed(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    read: str,
    code: int,
) -> None:
    """A topic that a product was to read, and has not, is none that Spark would miss."""
    kafka = ("{files: {path: data}}", "{kafka: {bootstrap: localhost:1}}")
    declare(folder, kafka)
    text = (folder / "joinery.yaml").read_text()
    kept = "\n".join(each for each in text.splitlines() if "profile:" not in each)
    (folder / "joinery.yaml").write_text(kept)
    has_run(folder)
    offsets = folder / ".joinery/checkpoint/core/offsets/0"
    offsets.write_text(f'v1\n{{}}\n{{"customer":{{"0":5}},"{read}":{{"0":5}}}}')
    (folder / "joinery.yaml").write_text(kept.replace(TOTALS.rstrip("\n"), ""))

    assert code == joinery(monkeypatch, "apply")

    said = capsys.readouterr()
    told = "topics in kafka would not be read any more: order" in said.err.lower()
    assert told == bool(code)


def test_other_sources_are_told_though_the_products_are_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(folder)
    declare(folder, ("{changes: {files", "{others: {files"), ("source: changes", "source: others"))

    assert 3 == joinery(monkeypatch, "plan")

    said = capsys.readouterr().out
    assert "core: 3 unchanged\n" in said
    assert 'the checkpoint of query "core" holds positions of other sources\n' in said


def test_a_solution_whose_state_is_never_kept_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = ("group: core", "group: core, solution: rdbms-store")
    declare(folder, stored)
    has_run(folder)
    declare(folder, stored, (TOTALS.replace(*stored), ""))

    assert 1 == joinery(monkeypatch, "apply")

    said = capsys.readouterr().err
    assert "the state of solution rdbms-store cannot be carried over" in said


def test_a_new_sink_of_a_product_that_stays_is_told_to_lack_what_was_sent(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not where nothing was sent yet, as of the card."""
    has_run(folder)
    sent = folder / ".joinery/checkpoint/core/joinery.sent"
    sent.mkdir()
    for each in ("profile", "totals"):
        (sent / each).write_text(json.dumps([f"files out/{each}"]))
    declare(folder, (TOTALS, TOTALS.replace("path: out", "path: new")))

    assert 0 == joinery(monkeypatch, "plan")

    target = f"files {folder / 'new/totals'}"
    told = [each for each in capsys.readouterr().out.splitlines() if "new sink" in each]
    assert [f"  {target} is a new sink of totals: without run --rebuild"] == [
        each.partition(" it gets")[0] for each in told
    ]
    assert 0 == joinery(monkeypatch, "plan", "--json")
    core, card = json.loads(capsys.readouterr().out)
    assert [{"product": "totals", "sink": target}] == core["new_sinks"]
    assert [] == card["new_sinks"]


def test_a_query_that_the_project_has_no_more_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(folder)
    declare(folder, ("  card: {root: customer,", "  name: {root: customer,"))

    assert 3 == joinery(monkeypatch, "plan")

    assert "card: 1 removed\n  removed   card\n  no query" in capsys.readouterr().out


def test_nothing_is_applied_beside_a_run_or_between_its_batches(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(folder)
    declare(folder, (TOTALS, ""))
    lease = Lease(folder / ".joinery/checkpoint/_leases/core.lease", "core")

    lease.take()
    try:
        assert 1 == joinery(monkeypatch, "apply")
    finally:
        lease.release()
    assert "[RUN_LEASE" in capsys.readouterr().err
    (folder / ".joinery/checkpoint/core/offsets/1").write_text("v1\n{}\n-")
    assert 1 == joinery(monkeypatch, "apply")
    assert "the last batch of query" in capsys.readouterr().err
    assert 3 == joinery(monkeypatch, "plan")
    said = capsys.readouterr().out
    assert 'refuses for now: the last batch of query "core" is not finished. Finish it' in said
    assert 3 == joinery(monkeypatch, "plan", "--json")
    core = json.loads(capsys.readouterr().out)[0]
    assert ("carried", False) == (core["outcome"], core["apply"])
    assert core["first"].startswith("Finish it first")


def test_documents_that_wait_are_told_by_plan_as_by_apply(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settled = TOTALS.replace("group: core", "group: core, emit: {settle: 9s}")
    declare(folder, (TOTALS, settled))
    has_run(folder)
    hold = Hold(folder / ".joinery/checkpoint/core/joinery-held/settle-totals.sqlite")
    hold.open()
    hold.hold([HeldRow(StagedRow("{}", "{}", 1), None, None)], "q", 0, 0.0, again=False)
    hold.close()
    declare(folder, (TOTALS, ""))

    assert 3 == joinery(monkeypatch, "plan")

    told = 'product "totals" has no "emit: {settle: …}" any more, and documents still wait'
    assert told in capsys.readouterr().out
    assert 1 == joinery(monkeypatch, "apply")
    assert told in capsys.readouterr().err


def test_all_queries_are_judged_before_one_is_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(folder)
    declare(folder, (TOTALS, ""), ("fields: [name]", "fields: [name, city]"))

    assert 1 == joinery(monkeypatch, "apply")

    assert 'the state of query "card" cannot be kept' in capsys.readouterr().err
    assert 3 == joinery(monkeypatch, "plan")
    assert "apply: keeps the state" in capsys.readouterr().out
    both = ("key: [id], fields: {id: long, ", "key: [id], where: id > 5, fields: {id: long, ")
    declare(folder, (TOTALS, ""), ("fields: [name]", "fields: [name, city]"), both)
    assert 1 == joinery(monkeypatch, "apply")
    said = capsys.readouterr().err
    assert 'the state of queries "core", "card" cannot be kept' in said
    assert 'Of core: relation "customer": where id > 5 was added' in said
    assert ' Of card: relation "customer": column "city" was added (string)' in said


def test_a_relation_that_is_not_read_any_more_is_told_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = next(line for line in PROJECT.splitlines(keepends=True) if "profile:" in line)
    has_run(folder)
    declare(folder, (TOTALS, ""), (profile, ""))

    assert 3 == joinery(monkeypatch, "plan")

    said = capsys.readouterr().out
    assert 1 == said.count('relation "order"')
    assert '    relation "order" is not read any more\n' in said
