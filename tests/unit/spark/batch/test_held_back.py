"""Documents that wait for `ready` or `emit` are not left behind when the key is taken away."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import joinery as jn
from joinery.delivery.held_row import HeldRow
from joinery.delivery.hold import Hold
from joinery.delivery.outlet import Delaying, Outlet
from joinery.errors import RunError
from joinery.sinks.files import FilesSink
from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.protocol import Sink, StagedBatch, Written
from joinery.solutions.spark_state.addition import Telling
from joinery.solutions.spark_state.fingerprint import FILE_NAME, fingerprint
from joinery.solutions.spark_state.lower import lower
from joinery.spark.batch.mode import HeldBackError, KeepCurrent, check_held
from joinery.spark.batch.ready import Ends
from joinery.spark.batch.run import Run, RunOptions
from joinery.spark.recovery.replacement import mark_done

PROJECT = """\
sources: {changes: {files: {path: data}}}
relations: {customer: {format: json, key: [id], fields: {id: long, name: string}}}
products:
  card: {root: customer, KEYSsink: {files: {path: out}}}
"""


def project_of(folder: Path, keys: str = "") -> Any:
    (folder / "joinery.yaml").write_text(PROJECT.replace("KEYS", keys))
    return jn.load(folder / "joinery.yaml")


def hold_of(folder: Path, kind: str) -> Hold:
    """Return the hold of the product, with one document that came with batch 3."""
    (product,) = project_of(folder).plan.products
    part = folder / "part-00000.jsonl"
    part.write_text(StagedRow('{"id":1}', '{"id":1}', 1).line())
    hold = Hold(checkpoint(folder) / f"joinery-held/{kind}-card.sqlite")
    hold.open()
    batch = StagedBatch(
        product="card",
        query="card",
        query_id="q",
        batch_id=3,
        files=(part,),
        key=product.key,
        value=product.output,
    )
    hold.put(batch, 0.0)
    return hold


def checkpoint(folder: Path) -> Path:
    return folder / ".joinery/checkpoint/card"


def begin(folder: Path, batch: int, *, committed: bool) -> None:
    for log in ("offsets", "commits") if committed else ("offsets",):
        (checkpoint(folder) / log).mkdir(parents=True)
        (checkpoint(folder) / log / str(batch)).touch()


@pytest.mark.parametrize(
    ("kind", "key"), [("settle", "emit: {settle: 2s}, "), ("ready", "ready: [customer], ")]
)
def test_a_key_that_is_taken_away_too_early_is_one_line_with_what_to_do(
    tmp_path: Path, kind: str, key: str
) -> None:
    hold_of(tmp_path, kind).close()

    with pytest.raises(HeldBackError, match=f'product "card" has no "{key[:4]}.*" any') as refused:
        check_held(checkpoint(tmp_path), project_of(tmp_path).plan.products)

    assert refused.value.detail.endswith(f"joinery-held/{kind}-card.sqlite holds 1 of them.")
    assert "joinery run --rebuild" in refused.value.hint
    assert refused.value.code == "RUN_HELD" == pickle.loads(pickle.dumps(refused.value)).code
    check_held(checkpoint(tmp_path), project_of(tmp_path, key).plan.products)


def test_a_flush_that_was_under_way_waits_too(tmp_path: Path) -> None:
    hold = hold_of(tmp_path, "settle")
    assert hold.leave(1.0, quiet=1.0, old=1.0)
    hold.close()

    with pytest.raises(HeldBackError):
        check_held(checkpoint(tmp_path), project_of(tmp_path).plan.products)


def test_a_hold_that_was_drained_keeps_nothing_back(tmp_path: Path) -> None:
    hold = hold_of(tmp_path, "settle")
    hold.leave(1.0, quiet=1.0, old=1.0)
    hold.forget_leaving()
    hold.close()

    check_held(checkpoint(tmp_path), project_of(tmp_path).plan.products)


def test_what_a_gate_has_sent_waits_no_more_once_its_batch_is_committed(tmp_path: Path) -> None:
    hold = hold_of(tmp_path, "ready")
    hold.remember("opened_by_batch", 3)
    hold.close()
    begin(tmp_path, 3, committed=True)

    check_held(checkpoint(tmp_path), project_of(tmp_path).plan.products)


def test_what_a_gate_sends_waits_while_its_batch_may_run_again(tmp_path: Path) -> None:
    hold = hold_of(tmp_path, "ready")
    hold.remember("opened_by_batch", 3)
    hold.close()
    begin(tmp_path, 3, committed=False)

    with pytest.raises(HeldBackError):
        check_held(checkpoint(tmp_path), project_of(tmp_path).plan.products)


def test_a_run_asks_before_it_opens_a_sink(tmp_path: Path) -> None:
    hold_of(tmp_path, "settle").close()
    project = project_of(tmp_path)

    with pytest.raises(HeldBackError):
        Run(project.spec, project.plan, RunOptions(once=True)).prepare()

    assert not (tmp_path / "out").exists()


def test_a_rebuild_does_not_ask_nor_a_run_that_it_takes_the_place_for(tmp_path: Path) -> None:
    hold_of(tmp_path, "settle").close()
    project = project_of(tmp_path)
    rebuild = Run(project.spec, project.plan, RunOptions(once=True, rebuild=True))
    rebuild.prepare()
    rebuild.abandon()
    mark_done(tmp_path / ".joinery/checkpoint/_rebuild/card")
    following = Run(project.spec, project.plan, RunOptions(once=True))

    following.prepare()

    following.abandon()
    assert [] == list((checkpoint(tmp_path) / "joinery-held").iterdir())


@dataclass
class BuiltAnew:
    """A product that settles and that batch 4 builds anew; its sink has what it was."""

    folder: Path
    settle: str

    def __post_init__(self) -> None:
        emit = f"emit: {{settle: {self.settle}}}, "
        (self.product,) = project_of(self.folder, emit).plan.products
        begin(self.folder, 3, committed=True)
        telling = Telling(4, (), 0, 1, ("card",))
        noted = replace(fingerprint(lower([self.product])), telling=telling)
        (checkpoint(self.folder) / FILE_NAME).write_text(noted.to_json())
        sink = FilesSink(self.folder / "out")
        sink.open()
        sink.write(self.staged(3, HeldRow(StagedRow('{"id":1}', '{"name":"as it was"}', 1))))
        sink.close()

    def outlet(self, sink: Sink, on_error: Callable[[Exception], None]) -> Outlet:
        """Return the way to a sink of a run that begins."""
        root = self.folder / ".joinery/checkpoint"
        ends = Ends(checkpoint(self.folder), ())
        delaying = Delaying(self.made, lambda outcomes: None, on_error)
        outlet = KeepCurrent(root, root).outlets("card", [self.product], ends)(
            self.product, [sink], delaying
        )
        outlet.open()
        told = json.dumps({"batchTimestampMs": 5})
        (checkpoint(self.folder) / "offsets/4").write_text(f"v1\n{told}\n-")
        return outlet

    def staged(self, number: int, *rows: HeldRow) -> StagedBatch:
        part = self.folder / f"{number}.jsonl"
        part.write_text("".join(each.line() for each in rows))
        return self.made(query_id="q", batch_id=number, files=(part,))

    def made(self, *, query_id: str, batch_id: int, files: tuple[Path, ...]) -> StagedBatch:
        return StagedBatch(
            product="card",
            query="card",
            query_id=query_id,
            batch_id=batch_id,
            files=files,
            key=self.product.key,
            value=self.product.output,
        )


def test_a_product_that_is_built_anew_takes_back_what_came_and_went_while_it_settled(
    tmp_path: Path,
) -> None:
    """Its lines say that nothing was there before; sinks hold what it was then."""
    card = BuiltAnew(tmp_path, "1h")
    outlet = card.outlet(FilesSink(tmp_path / "out"), lambda error: None)

    outlet.write(card.staged(4, HeldRow(StagedRow('{"id":1}', '{"name":"anew"}', 5000), "", "9f")))
    outlet.write(card.staged(5, HeldRow(StagedRow('{"id":1}', None, 6000), "9f", "")))
    outlet.drain()
    outlet.close()

    last = sorted((tmp_path / "out").glob("*.jsonl"))[-1]
    assert [('{"id":1}', None)] == [(each.key, each.value) for each in read_rows([last])]


def test_a_run_tells_which_products_it_builds_first(tmp_path: Path) -> None:
    BuiltAnew(tmp_path, "1h")
    project = project_of(tmp_path, "emit: {settle: 1h}, ")
    run = Run(project.spec, project.plan, RunOptions(once=True))

    run.prepare()

    assert {"card": ("card",)} == run.progress.building
    run.abandon()


@pytest.mark.parametrize(
    ("failure", "state"), [(None, "ended"), (RunError("Spark did not start"), "failed")]
)
def test_a_run_that_never_started_says_so_and_is_not_gone(
    tmp_path: Path, failure: Exception | None, state: str
) -> None:
    project = project_of(tmp_path)
    run = Run(project.spec, project.plan, RunOptions(once=True))
    run.prepare()

    run.abandon(failure)

    [found] = jn.status(project).products
    assert state == found.state


class Busy(FilesSink):
    """A sink that is listed for a while, and says whether something was written meanwhile."""

    listing = disturbed = False

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        self.listing = True
        time.sleep(0.6)
        yield from super().keys(batch)
        self.listing = False

    def write(self, batch: StagedBatch) -> Written:
        self.disturbed |= self.listing
        return super().write(batch)


def test_what_an_attempt_left_to_settle_is_not_sent_while_the_next_one_lists_the_sink(
    tmp_path: Path,
) -> None:
    """Listing and sending share the sink's connection."""
    card = BuiltAnew(tmp_path, "300ms")
    built = card.staged(4, HeldRow(StagedRow('{"id":2}', '{"name":"anew"}', 5000), "", "9f"))
    failed: list[Exception] = []
    killed = card.outlet(FilesSink(tmp_path / "out"), failed.append)
    killed.write(built)
    killed.close()
    sink = Busy(tmp_path / "out")
    outlet = card.outlet(sink, failed.append)

    outlet.write(built)
    outlet.drain()
    outlet.close()

    assert ([], False) == (failed, sink.disturbed)
    files = sorted((tmp_path / "out").glob("*.jsonl"))
    assert {('{"id":1}', True), ('{"id":2}', False)} == {
        (each.key, each.value is None) for file in files[1:] for each in read_rows([file])
    }
