"""`joinery plan` and `joinery apply` where the next run is to build what was added or changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.cli.checkpoints import PROJECT, SUMS, TOTALS, declare, has_read, has_run
from tests.unit.cli.command import joinery

from joinery.app.project import load
from joinery.delivery.held_row import HeldRow
from joinery.delivery.hold import Hold
from joinery.errors import StateMismatchError
from joinery.sinks.line import StagedRow
from joinery.spark.batch.run import Run, RunOptions

VISIT = ("products:", "  visit: {key: [id], fields: {id: long, customer: long}}\nproducts:")
SEEN = "{root: customer, embed: {visits: {many: visit, on: {customer: id}}}"
COUNTED = ("[city], values: {n:", "[city], values: {m:")
AT = "customer: long, at: timestamp}, time: at"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    declare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("change", "product", "why"),
    [
        (
            ("[city], values: {n:", "[city], values: {m:"),
            "cities",
            'field "m" was added (__agg_0 long)',
        ),
        (("city: string", "city: string, age: int"), "profile", 'column "age" was added (int)'),
    ],
)
def test_what_was_changed_is_named_and_built_anew_from_the_log(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: tuple[str, str],
    product: str,
    why: str,
) -> None:
    has_run(folder)
    has_read(folder, customer=2100, order=7)
    declare(folder, change)

    assert 3 == joinery(monkeypatch, "plan")

    said = capsys.readouterr().out
    assert f"core: 2 unchanged, 1 changed\n  changed   {product}\n" in said
    assert why in said
    assert f"apply: keeps the state; the next run builds {product} anew first, and reads" in said
    assert 0 == joinery(monkeypatch, "apply", "--product", "card")
    capsys.readouterr()
    assert 0 == joinery(monkeypatch, "apply", *selected("profile", "cities", "totals"))
    assert f" again, and builds {product} anew\n" in capsys.readouterr().out
    noted = json.loads((folder / ".joinery/checkpoint/core/joinery.json").read_text())
    assert [product] == noted["telling"]["anew"]


def selected(*names: str) -> list[str]:
    return [each for name in names for each in ("--product", name)]


def test_what_leaves_nothing_of_a_state_is_rebuilt(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(folder)
    where = ("key: [id], fields: {id: long, ", "key: [id], where: id > 5, fields: {id: long, ")
    declare(folder, where)

    assert 3 == joinery(monkeypatch, "plan")

    said = capsys.readouterr().out
    assert "core: 3 changed\n" in said
    assert "nothing of the state would be kept" in said
    assert "run --rebuild: reads customer, order again" in said
    assert 1 == joinery(monkeypatch, "apply", *selected("profile", "cities", "totals"))
    assert 'error: the state of query "core" cannot be kept' in capsys.readouterr().err


def test_a_product_that_changed_and_whose_documents_wait_is_refused_for_now(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settled = ("group: core, by: [city]", "group: core, emit: {settle: 9s}, by: [city]")
    declare(folder, settled)
    has_run(folder)
    hold = Hold(folder / ".joinery/checkpoint/core/joinery-held/settle-cities.sqlite")
    hold.open()
    hold.hold([HeldRow(StagedRow("{}", "{}", 1), None, None)], "q", 0, 0.0, again=False)
    hold.close()
    declare(folder, settled, ("values: {n: count(*)}", "values: {m: count(*)}"))

    assert 1 == joinery(monkeypatch, "apply")

    told = capsys.readouterr().err
    assert 'query "core" still holds documents of products that have changed' in told


def test_an_added_product_is_built_by_the_next_run_before_another_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(folder)
    declare(folder, (TOTALS, SUMS + TOTALS))

    assert 3 == joinery(monkeypatch, "plan")

    said = capsys.readouterr().out
    assert "core: 3 unchanged, 1 added\n  added     sums\n  run:" in said
    assert "apply: keeps the state; the next run builds sums from it, and reads nothing" in said
    assert 0 == joinery(monkeypatch, "apply")
    assert "the next run continues from it, and builds sums\n" in capsys.readouterr().out
    noted = json.loads((folder / ".joinery/checkpoint/core/joinery.json").read_text())
    assert 1 == noted["telling"]["batch"]
    assert 0 == joinery(monkeypatch, "plan")
    assert "run: builds sums first, and continues from its state\n" in capsys.readouterr().out
    declare(folder, (TOTALS, SUMS))
    partitions = '{"conf": {"spark.sql.shuffle.partitions": "2"}}'
    (folder / ".joinery/checkpoint/core/offsets/0").write_text(f"v1\n{partitions}\n-")
    assert 1 == joinery(monkeypatch, "rescale", "--partitions", "3")
    assert 'added to query "core" are not built yet' in capsys.readouterr().err
    begin(folder)
    assert 1 == joinery(monkeypatch, "apply")
    assert 'added to query "core" are not built yet' in capsys.readouterr().err
    built(folder)
    assert 0 == joinery(monkeypatch, "apply")


@pytest.mark.parametrize("begun", [False, True])
def test_an_added_product_that_is_not_built_yet_is_taken_out_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    """Also where the batch that was to build it has begun, and fails."""
    has_run(folder)
    declare(folder, (TOTALS, SUMS + TOTALS))
    assert 0 == joinery(monkeypatch, "apply")
    checkpoint = folder / ".joinery/checkpoint/core"
    if begun:
        (checkpoint / "offsets/1").write_text("v1\n{}\n-")
    declare(folder)

    assert 0 == joinery(monkeypatch, "apply")

    assert json.loads((checkpoint / "joinery.json").read_text())["telling"] is None
    assert 0 == joinery(monkeypatch, "plan")


def test_a_product_that_comes_back_takes_back_what_it_lost_meanwhile_and_is_not_told_as_sent(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at a sink that is another by now: all is sent there, so none is missing."""
    has_run(folder)
    checkpoint = folder / ".joinery/checkpoint/core"
    (checkpoint / "joinery.sent").mkdir()
    (checkpoint / "joinery.sent/totals").write_text(json.dumps(["files out/totals"]))
    declare(folder, (TOTALS, ""))
    assert 0 == joinery(monkeypatch, "apply")
    declare(folder, (TOTALS, TOTALS.replace("path: out", "path: elsewhere") + SUMS))

    assert 0 == joinery(monkeypatch, "apply")

    noted = json.loads((checkpoint / "joinery.json").read_text())
    assert ["totals"] == noted["telling"]["anew"]
    project = load(folder / "joinery.yaml")
    following = Run(project.spec, project.plan, RunOptions(once=True))
    following.prepare()
    following.abandon()
    assert "WARN_SINK_NEW" not in [each.code for each in following.progress.warnings]


def adding(body: str) -> tuple[str, str]:
    product = f"  seen: {body}, group: core, sink: {{files: {{path: out}}}}}}\n"
    return TOTALS, TOTALS + product


def test_an_added_product_whose_rows_nobody_kept_is_built_from_the_log(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(folder, VISIT)
    has_run(folder)
    has_read(folder, customer=1200, order=7)
    declare(folder, VISIT, adding(SEEN))

    assert 3 == joinery(monkeypatch, "plan")

    told = "builds seen first, and reads customer, visit (1 file, 1.2 kB) again for it"
    assert f"  apply: keeps the state; the next run {told}\n" in capsys.readouterr().out
    assert 3 == joinery(monkeypatch, "plan", "--json")
    assert ["customer", "visit"] == json.loads(capsys.readouterr().out)[0]["reads_again"]
    assert 0 == joinery(monkeypatch, "apply")
    told = "the next run continues from it, reads customer, visit (1 file, 1.2 kB) again"
    assert f"{told}, and builds seen\n" in capsys.readouterr().out
    assert 0 == joinery(monkeypatch, "plan")
    assert "run: builds seen first, and continues" in capsys.readouterr().out
    begin(folder)
    declare(folder, VISIT)
    assert 0 == joinery(monkeypatch, "apply"), "it is taken out again"
    built(folder)
    declare(folder, VISIT, adding(SEEN))
    assert 0 == joinery(monkeypatch, "apply"), "and comes back, under a number of its own"
    noted = json.loads((folder / ".joinery/checkpoint/core/joinery.json").read_text())
    assert ({"seen": 2}, 2) == (noted["ledger"]["parts"], noted["telling"]["part"])


def begin(folder: Path) -> None:
    """Leave what a run notes that begins the batch which builds products."""
    log = folder / ".joinery/checkpoint/core/offsets"
    (log / "1").write_text((log / "0").read_text())


def built(folder: Path) -> None:
    """Leave what a run notes of the batch that builds products."""
    begin(folder)
    log = folder / ".joinery/checkpoint/core/commits"
    (log / "1").write_text((log / "0").read_text())


def test_what_was_applied_to_a_product_is_taken_back_where_nothing_is_built_of_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(folder)
    has_read(folder, customer=1200, order=7)
    noted = folder / ".joinery/checkpoint/core/joinery.json"
    before = noted.read_text()
    declare(folder, COUNTED)
    assert 0 == joinery(monkeypatch, "apply")
    declare(folder)
    project = load(folder / "joinery.yaml")
    with pytest.raises(StateMismatchError, match=r"^.*another plan wrote") as refused:
        Run(project.spec, project.plan, RunOptions(once=True)).prepare()
    told = "The project is as it was before the last joinery apply, which is not built yet."
    assert refused.value.detail.startswith(told)
    capsys.readouterr()

    assert 3 == joinery(monkeypatch, "plan")

    said = capsys.readouterr().out
    assert "core: 3 unchanged\n  run: refuses" in said
    told = "  apply: takes back what was applied of cities and is not built yet; keeps the state;"
    assert f"{told} nothing is read again, nothing is sent\n" in said
    assert 0 == joinery(monkeypatch, "apply")
    assert "core: takes back what was applied of cities" in capsys.readouterr().out
    assert before == noted.read_text()
    assert 0 == joinery(monkeypatch, "plan")


def test_a_product_that_is_changed_twice_before_a_run_is_compared_with_what_is_built(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(folder)
    has_read(folder, customer=1200, order=7)
    declare(folder, COUNTED)
    assert 0 == joinery(monkeypatch, "apply")
    declare(folder, (COUNTED[0], "[city], values: {k:"), (TOTALS, ""))
    capsys.readouterr()

    assert 3 == joinery(monkeypatch, "plan", "--json")

    core = json.loads(capsys.readouterr().out)[0]
    wanted = {"profile": "unchanged", "cities": "changed", "totals": "removed"}
    assert (wanted, [], True) == (core["products"], core["taken_back"], core["apply"])
    assert core["why"]
    assert all(each.startswith('product "cities": field "') for each in core["why"])
    assert 0 == joinery(monkeypatch, "apply")
    noted = json.loads((folder / ".joinery/checkpoint/core/joinery.json").read_text())
    assert {"cities": 1} == noted["ledger"]["parts"]
    assert [None, None] == [noted["before"][each] for each in ("telling", "before")]


def test_what_was_applied_is_not_taken_back_once_its_batch_has_begun(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sinks may have some of its documents, which nobody would take back."""
    has_run(folder)
    has_read(folder, customer=1200, order=7)
    declare(folder, COUNTED)
    assert 0 == joinery(monkeypatch, "apply")
    begin(folder)
    declare(folder)

    assert 1 == joinery(monkeypatch, "apply")

    assert 'added to query "core" are not built yet' in capsys.readouterr().err


@pytest.mark.parametrize("also", ["", "totals"])
def test_a_product_that_reads_one_which_was_built_from_the_log_is_refused_in_words(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], also: str
) -> None:
    """Its own part of the program has no documents of others."""
    embed = "embed: {totals: {many: totals, on: {customer: id}}}, " if also else ""
    declare(folder, VISIT)
    has_run(folder)
    has_read(folder, customer=1200, order=7)
    declare(folder, VISIT, adding(SEEN))
    assert 0 == joinery(monkeypatch, "apply")
    built(folder)
    top = f"  top: {{root: seen, {embed}group: core, sink: {{files: {{path: out}}}}}}\n"
    before, after = adding(SEEN)
    declare(folder, VISIT, (before, after + top))

    assert 3 == joinery(monkeypatch, "plan")

    told = capsys.readouterr().out
    assert '"seen" is a product that was there, whose documents are in no log' in told
    project = load(folder / "joinery.yaml")
    with pytest.raises(StateMismatchError):
        Run(project.spec, project.plan, RunOptions(once=True)).prepare()


@pytest.mark.parametrize(
    ("visit", "body", "why"),
    [
        ("customer: long}", SEEN, "data/customer/0.jsonl was read, and is gone"),
        (
            AT,
            "{aggregate: visit, window: {tumbling: 1m}, values: {n: count(*)}",
            "goes by the order or the times of its log",
        ),
        (f"{AT}, watermark: {{delay: 1m}}", "{root: visit", 'relation "visit" has a watermark'),
        (
            "customer: long}",
            "{root: order, embed: {a: {one: customer, on: {id: customer}, embed: {b:"
            " {many: order, on: {customer: id}, embed: {c: {many: visit, on: {customer: id}}}}}}}",
            '"seen" needs 5 levels of joins, and the state was made for 2: an embed below another',
        ),
    ],
)
def test_a_product_that_cannot_be_built_from_the_log_either_is_refused(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    visit: str,
    body: str,
    why: str,
) -> None:
    head = (VISIT[0], VISIT[1].replace("customer: long}", visit))
    declare(folder, head)
    has_run(folder)
    has_read(folder, customer=1200)
    (folder / "data/customer/0.jsonl").unlink()
    declare(folder, head, adding(body))

    assert 3 == joinery(monkeypatch, "plan")

    said = capsys.readouterr().out
    assert '    "seen" cannot be built from the state of the others\n' in said
    assert why in said
    assert 1 == joinery(monkeypatch, "apply")
    assert 'Or give "seen" a group of its own' in capsys.readouterr().err


def test_only_what_changed_is_told_of_a_product_beside_one_that_was_built_from_the_log(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(folder, VISIT)
    has_run(folder)
    has_read(folder, customer=1200, order=7)
    declare(folder, VISIT, adding(SEEN))
    assert 0 == joinery(monkeypatch, "apply")
    built(folder)
    declare(folder, VISIT, adding(SEEN), COUNTED)
    capsys.readouterr()

    assert 3 == joinery(monkeypatch, "plan", "--json")

    why = json.loads(capsys.readouterr().out)[0]["why"]
    assert why
    assert all(each.startswith('product "cities": field "') for each in why)


def test_a_list_that_gets_a_limit_is_told_to_need_a_level_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has_run(folder)
    has_read(folder, customer=1200, order=7)
    declare(
        folder, ("{many: order, on: {customer: id}}", "{many: order, on: {customer: id}, limit: 2}")
    )

    assert 3 == joinery(monkeypatch, "plan", "--json")

    (why,) = json.loads(capsys.readouterr().out)[0]["why"]
    assert why.startswith(
        '"profile" needs 3 levels of joins, and the state was made for 2: an embed'
    )
    assert why.endswith("and so does a list with a limit")


def test_products_that_cannot_be_built_from_the_log_may_have_a_group_of_their_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(folder, VISIT)
    has_run(folder)
    has_read(folder, customer=1200)
    (folder / "data/customer/0.jsonl").unlink()
    before, after = adding(SEEN)
    declare(folder, VISIT, (before, after + after.removeprefix(before).replace("seen:", "met:")))

    assert 1 == joinery(monkeypatch, "apply")

    assert 'Or give "seen", "met" a group of their own' in capsys.readouterr().err


def test_a_relation_that_a_changed_product_reads_again_is_not_told_as_gone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cities = next(line for line in PROJECT.splitlines(keepends=True) if "cities:" in line)
    declare(folder, (cities, ""))
    has_run(folder)
    has_read(folder, customer=1200, order=100)
    declare(folder, (cities, ""), ("embed: {orders", "fields: [name], embed: {orders"))

    assert 3 == joinery(monkeypatch, "plan")

    said = capsys.readouterr().out
    assert "  changed   profile\n" in said
    assert "is not read any more" not in said
