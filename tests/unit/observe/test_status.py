"""How products stand, from files as runs leave them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from joinery.delivery.control import Action, ControlLog
from joinery.delivery.query_paths import SWAPPED, QueryPaths, rebuild_paths
from joinery.model.frontier import SourceFrontier
from joinery.model.hot_key import HotKey
from joinery.model.marks import KeptMarks
from joinery.model.progress import Silence, Waiting
from joinery.model.status import LastBatch, ProductTotals, QueryStatus, RunState
from joinery.observe.audit_note import AuditNote
from joinery.observe.status import ProductStatus, project_status
from joinery.observe.status_text import frontier_lines
from joinery.place.place import Place
from joinery.project.expect import Expectations
from joinery.project.product import ProjectSpec
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  user: {key: [id], fields: {id: long, name: string}}
products:
  person:
    root: user
    expect: {fresh: 20s, behind: 100, dead: 0}
    sink: {files: {path: out}}
"""
NOW = 1_000_000.0
CAUGHT_UP = QueryStatus(
    query="person",
    state="running",
    began_at=NOW - 600,
    written_at=NOW - 1,
    caught_up=True,
    caught_up_at=NOW - 1,
    batch=LastBatch(number=7, ended_at=NOW - 5, seconds=2.0, rows=500, durations_ms={}),
    state_bytes=4096,
    products={
        "person": ProductTotals(relations=("user",), documents=90, per_second=4.5, age_ms=700)
    },
)


@pytest.fixture
def spec(tmp_path: Path) -> ProjectSpec:
    return replace(load_text(PROJECT), folder=tmp_path)


def write(place: Place, text: str) -> None:
    assert isinstance(place, Path)
    place.write_text(text)


def told(
    spec: ProjectSpec, status: QueryStatus | None, *, alive: bool = True, again: bool = False
) -> ProductStatus:
    """Return how the product stands after a run has written `status`, and where it began again."""
    paths = QueryPaths.of(spec.path_of(spec.run.checkpoint), "person")
    if status is not None:
        paths.status_file.parent.mkdir(parents=True, exist_ok=True)
        write(paths.status_file, json.dumps(status.to_json()))
    lease = paths.lease
    lease.take()
    try:
        holder = json.loads(paths.lease_file.read_text())
        if not alive:
            holder |= {"processes": [2**22 + 1]}
        if not again:  # taken before what is told, which has times of its own
            holder |= {"since": "1970-01-01T00:00:00+00:00"}
        write(paths.lease_file, json.dumps(holder))
        return project_status(spec, clock=lambda: NOW).products[0]
    finally:
        paths.lease_file.unlink()
        lease.release()


def test_a_status_is_read_as_it_was_written() -> None:
    waiting = Waiting(product="person", target="t", reason="r", attempts=2, since=5.0)
    hot = HotKey(node="Fold p", by="id", key="7", messages=9, error=1, of=20, batches=3)
    totals = replace(CAUGHT_UP.products["person"], hot_keys=(hot,))
    status = replace(
        CAUGHT_UP,
        waiting=(waiting,),
        warnings=("w",),
        rows_left={"user": 3},
        products={"person": totals},
        building=("cards",),
    )

    assert status == QueryStatus.of_json(json.loads(json.dumps(status.to_json())))


def test_a_project_that_never_ran_wants_nothing(spec: ProjectSpec) -> None:
    found = project_status(spec)

    assert ["never run"] == [each.state for each in found.products]
    assert not found.wants_attention


@pytest.mark.parametrize("state", ["running", "ended", "failed"])
def test_a_product_that_no_run_of_its_group_had_never_ran(
    tmp_path: Path, state: Literal["running", "ended", "failed"]
) -> None:
    grouped = PROJECT.replace("root: user", "root: user\n    group: g") + (
        "  other: {root: user, group: g, sink: {files: {path: more}}}\n"
    )
    spec = replace(load_text(grouped), folder=tmp_path)
    file = QueryPaths.of(spec.path_of(spec.run.checkpoint), "g").status_file
    file.parent.mkdir(parents=True)
    write(file, json.dumps(replace(CAUGHT_UP, query="g", state=state).to_json()))

    [found] = project_status(spec, ["other"]).products

    assert ("never run", "", False) == (found.state, found.because, found.wants_attention)


def test_a_status_prints_as_the_table_of_the_command_line(spec: ProjectSpec) -> None:
    found = project_status(spec)

    lines = str(found).splitlines()
    assert f"{spec.name}   1 product   nothing needs attention" == lines[0]
    assert ["person", "never", "run"] == lines[2].split()[:3]
    assert str(found) == repr(found)


def test_a_run_that_keeps_up_is_live(spec: ProjectSpec) -> None:
    found = told(spec, CAUGHT_UP)

    assert ("live", "", 0.7, ()) == (found.state, found.because, found.fresh_s, found.missed)
    assert (90, 4.5, 4096) == (found.documents, found.per_second, found.state_bytes)


def test_the_marks_of_a_query_are_told_once(spec: ProjectSpec) -> None:
    marks = KeptMarks(count=2, batch=7, at=NOW, bytes=4096)
    found = told(spec, replace(CAUGHT_UP, marks=marks))

    assert marks.to_json() == found.to_json()["marks"]
    status = project_status(spec)
    twice = str(replace(status, products=status.products * 2)).splitlines()
    assert "person: 2 marks, the newest of batch 7 (1970-01-12 13:46:40Z); 4.1 kB" == twice[-1]


def test_a_product_costs_its_part_of_what_all_of_the_project_took(tmp_path: Path) -> None:
    other = PROJECT.replace(
        "\n  person:", "\n  other: {root: user, sink: {files: {path: out}}}\n  person:"
    )
    spec = replace(load_text(other), folder=tmp_path)
    for query, cost_us in (("person", 900), ("other", 100)):
        products = {query: ProductTotals(relations=("user",), cost_us=cost_us)}
        file = QueryPaths.of(spec.path_of(spec.run.checkpoint), query).status_file
        file.parent.mkdir(parents=True, exist_ok=True)
        status = replace(CAUGHT_UP, query=query, products=products)
        write(file, json.dumps(status.to_json()))

    found = {each.product: each.cost for each in project_status(spec).products}
    [alone] = project_status(spec, ["other"]).products

    assert {"person": 0.9, "other": 0.1} == found
    assert alone.cost == 0.1


def test_hot_keys_are_told_as_the_run_told_them(spec: ProjectSpec) -> None:
    hot = HotKey(node="Fold p", by="id", key="7", messages=9000, error=1, of=20_000, batches=3)
    totals = replace(CAUGHT_UP.products["person"], hot_keys=(hot,))

    found = told(spec, replace(CAUGHT_UP, products={"person": totals}))

    assert (hot,) == found.hot_keys
    [told_json] = json.loads(json.dumps(found.to_json()))["hot_keys"]
    assert ("7", 0.45) == (told_json["key"], told_json["share"])


def test_what_was_counted_of_no_product_has_no_cost(spec: ProjectSpec) -> None:
    assert told(spec, CAUGHT_UP).cost is None


def test_a_run_without_its_process_is_gone(spec: ProjectSpec) -> None:
    found = told(spec, CAUGHT_UP, alive=False)

    assert ("gone", True) == (found.state, found.wants_attention)
    assert "start the run again" in found.because


def test_a_run_whose_process_was_killed_is_gone_at_once_while_its_jvm_lives(
    spec: ProjectSpec,
) -> None:
    paths = QueryPaths.of(spec.path_of(spec.run.checkpoint), "person")
    paths.status_file.parent.mkdir(parents=True, exist_ok=True)
    behind = replace(CAUGHT_UP, caught_up=False, caught_up_at=NOW - 60)
    write(paths.status_file, json.dumps(behind.to_json()))
    lease = paths.lease
    lease.take()
    with subprocess.Popen(["sleep", "600"]) as killed:
        holder = json.loads(paths.lease_file.read_text())
        processes = [killed.pid, os.getpid()]  # that of the run, and its JVM
        holder |= {"processes": processes, "since": "1970-01-01T00:00:00Z"}
        write(paths.lease_file, json.dumps(holder))
        before = project_status(spec, clock=lambda: NOW).products[0]

        killed.kill()
        os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)  # nobody has asked for its end
        after = project_status(spec, clock=lambda: NOW).products[0]

    lease.release()
    assert ("behind", "gone") == (before.state, after.state)
    assert f"process {killed.pid} on " in after.because


@pytest.mark.parametrize("state", ["ended", "failed"])
def test_old_changes_do_not_make_a_run_that_is_over_less_fresh(
    state: Literal["ended", "failed"], spec: ProjectSpec
) -> None:
    products = {"person": replace(CAUGHT_UP.products["person"], age_ms=9_000_000)}

    over = told(spec, replace(CAUGHT_UP, state=state, products=products))
    behind = replace(CAUGHT_UP, caught_up=False, caught_up_at=NOW - 60, products=products)

    assert 1.0 == over.fresh_s
    assert 9_000.0 == told(spec, behind).fresh_s


def test_what_waits_for_a_target_says_for_which(spec: ProjectSpec) -> None:
    away = Waiting(
        product="person", target="postgres shop", reason="refused.", attempts=9, since=NOW - 60
    )

    found = told(spec, replace(CAUGHT_UP, waiting=(away,)))

    assert ("waiting", "postgres shop: refused, for 60 s") == (found.state, found.because)


def test_who_reads_a_source_that_is_away_or_silent_says_so(spec: ProjectSpec) -> None:
    totals = replace(CAUGHT_UP.products["person"], sources=("shop",))
    away = Waiting(
        product="",
        source="shop",
        target="source shop",
        reason="cannot connect",
        attempts=9,
        since=NOW - 60,
    )
    silent = Silence(source="shop", reason="no heartbeat", since=NOW - 60)
    status = replace(CAUGHT_UP, products={"person": totals})

    waits = told(spec, replace(status, waiting=(away,), silences=(silent,)))
    unheard = told(spec, replace(status, silences=(silent,)))
    other = told(spec, replace(status, waiting=(replace(away, source="elsewhere"),)))

    assert ("waiting", "source shop: cannot connect, for 60 s") == (waits.state, waits.because)
    assert ("silent", 'source "shop": no heartbeat, for 60 s') == (unheard.state, unheard.because)
    assert [60.0, 60.0] == [waits.fresh_s, unheard.fresh_s]
    assert unheard.wants_attention
    assert "live" == other.state


def test_what_is_slow_says_where_the_time_goes(spec: ProjectSpec) -> None:
    slow = LastBatch(number=7, ended_at=NOW - 1, seconds=1.0, rows=500, durations_ms={"sinks": 880})
    status = replace(
        CAUGHT_UP, caught_up=False, caught_up_at=NOW - 41, batch=slow, rows_left={"user": 310_022}
    )

    found = told(spec, status)

    assert "behind" == found.state
    assert "its sinks take 880 ms per batch (88% of the batch)" == found.because
    assert (
        "fresh: 41.0 s, expected 20 s",
        "behind: 310,022 rows, expected 100",
    ) == found.missed


def test_the_target_that_takes_most_is_named(spec: ProjectSpec) -> None:
    slow = LastBatch(
        number=7,
        ended_at=NOW - 1,
        seconds=1.0,
        rows=500,
        durations_ms={"sinks": 880},
        sinks_ms={"postgres shop": 30, "opensearch items": 850},
    )
    status = replace(CAUGHT_UP, caught_up=False, caught_up_at=NOW - 41, batch=slow)

    assert (
        "opensearch items takes 850 ms per batch (85% of the batch)" == told(spec, status).because
    )


def test_what_is_paused_says_by_whom_and_whether_it_stands_still_yet(spec: ProjectSpec) -> None:
    paths = QueryPaths.of(spec.path_of(spec.run.checkpoint), "person")
    asked = Action.now("pause", "stock-taking")
    ControlLog(paths.control_file).ask(asked)
    away = Waiting(product="person", target="redis", reason="refused", attempts=9, since=NOW - 60)

    still = told(spec, replace(CAUGHT_UP, paused=True, caught_up=False))
    soon = told(spec, CAUGHT_UP)
    waits = told(spec, replace(CAUGHT_UP, waiting=(away,)))

    assert ("paused", f"paused by {asked.by} at {asked.at}: stock-taking") == (
        still.state,
        still.because,
    )
    assert "paused" == soon.state
    assert soon.because.endswith("it stops once the current batch is done")
    assert ("waiting", True) == (waits.state, waits.wants_attention)
    assert "gone" == told(spec, CAUGHT_UP, alive=False).state
    ended = told(spec, replace(CAUGHT_UP, state="ended"), alive=False)
    assert ("paused", False) == (ended.state, ended.wants_attention)


def test_a_batch_that_does_not_end_is_named(spec: ProjectSpec) -> None:
    status = replace(CAUGHT_UP, caught_up=False, caught_up_at=NOW - 100)
    stuck = replace(status, batch=LastBatch(number=7, ended_at=NOW - 90, seconds=1.0, rows=5))

    assert "the batch after 7 has been running for 90 s" == told(spec, stuck).because


def test_a_target_that_its_reason_names_is_told_once(spec: ProjectSpec) -> None:
    reason = "could not write to redis shop. Connection refused."
    away = Waiting(product="person", target="redis shop", reason=reason, attempts=2, since=NOW - 60)
    behind = replace(CAUGHT_UP, caught_up=False, caught_up_at=NOW - 20)

    waits = told(spec, replace(CAUGHT_UP, waiting=(away,)))
    soon = told(spec, replace(behind, waiting=(replace(away, since=NOW - 12),)))

    assert "could not write to redis shop. Connection refused, for 60 s" == waits.because
    assert "it waits: could not write to redis shop. Connection refused" == soon.because


def test_products_that_are_built_first_are_named(spec: ProjectSpec) -> None:
    status = replace(CAUGHT_UP, caught_up_at=None, batch=None, building=("cards", "cities"))

    found = told(spec, status)

    assert ("starting", "it builds cards, cities first") == (found.state, found.because)


def test_what_is_waited_for_is_named_before_its_grace_period_is_over(spec: ProjectSpec) -> None:
    away = Waiting(product="person", target="redis", reason="refused.", attempts=2, since=NOW - 12)
    status = replace(CAUGHT_UP, caught_up=False, caught_up_at=NOW - 20, waiting=(away,))
    stuck = replace(status, batch=LastBatch(number=7, ended_at=NOW - 20, seconds=1.0, rows=5))

    found = told(spec, stuck)

    assert ("behind", "it waits for redis: refused") == (found.state, found.because)


def test_what_is_waited_for_is_named_at_once(spec: ProjectSpec) -> None:
    away = Waiting(product="person", target="redis", reason="refused.", attempts=1, since=NOW - 1)

    found = told(spec, replace(CAUGHT_UP, caught_up=False, waiting=(away,)))

    assert ("behind", "it waits for redis: refused") == (found.state, found.because)
    assert not found.wants_attention


def test_a_failure_is_told_with_its_code_and_what_to_do(spec: ProjectSpec) -> None:
    failed = replace(
        CAUGHT_UP, state="failed", why="the disk is full", code="RUN_FAILED", hint="Free some."
    )

    found = told(spec, failed)

    assert ("failed", "the disk is full [RUN_FAILED]") == (found.state, found.because)
    assert found.wants_attention
    told_lines = str(project_status(spec, clock=lambda: NOW)).splitlines()
    assert "    hint: Free some." in told_lines


@pytest.mark.parametrize(
    "how", ["goes on", "killed", "killed when sent", "failed", "stopped", "sent", "given up"]
)
def test_what_becomes_of_a_rebuild_is_told(spec: ProjectSpec, how: str) -> None:
    paths = rebuild_paths(spec.path_of(spec.run.checkpoint), "person")
    states: dict[str, RunState] = {"failed": "failed", "stopped": "ended", "sent": "ended"}
    rebuild = replace(CAUGHT_UP, state=states.get(how, "running"), why="no disk")
    folder = spec.path_of(spec.run.checkpoint)
    (folder / "_status").mkdir(parents=True)
    write(paths.status_file, json.dumps(rebuild.to_json()))
    if how != "given up":
        (folder / "_rebuild" / "person").mkdir(parents=True)
    if "sent" in how:
        (folder / "_rebuild" / "person" / SWAPPED).touch()
    lease = paths.lease
    if how == "goes on":
        lease.take()

    found = told(spec, replace(CAUGHT_UP, state="failed", why="lost", hint="Rebuild."))

    lease.release()
    again, done = "joinery run --rebuild continues it", "everything is sent, and joinery run puts"
    at = "1970-01-12T13:46:39.000Z"
    assert {
        "goes on": ("a rebuild has been running since 1970-01-12T13:36:40.000Z", ()),
        "killed": ("", (f"rebuild: it was killed, and last heard of at {at}; {again}",)),
        "killed when sent": (
            "",
            (f"rebuild: it was killed, and last heard of at {at}; {done} it in place",),
        ),
        "failed": ("", (f"rebuild: it failed at {at}: no disk; {again}",)),
        "stopped": ("", (f"rebuild: it was stopped at {at} before it was done; {again}",)),
        "sent": ("", ()),
        "given up": ("", ()),
    }[how] == (found.rebuild, found.missed)
    assert "Rebuild." == found.hint


@pytest.mark.parametrize(
    ("before", "alive", "state"),
    [
        ("running", True, "starting"),
        ("failed", True, "starting"),
        ("failed", False, "failed"),
        ("ended", True, "ended"),  # what else has the lease sends some documents again
    ],
)
def test_a_run_that_begins_again_has_not_the_state_of_the_one_before(
    spec: ProjectSpec, before: RunState, alive: bool, state: str
) -> None:
    found = told(spec, replace(CAUGHT_UP, state=before, why="w"), alive=alive, again=True)

    assert state == found.state


def test_open_dead_letters_of_its_topics_count(spec: ProjectSpec, tmp_path: Path) -> None:
    folder = spec.path_of(".joinery/dead_letters")
    folder.mkdir(parents=True)
    letter = {"reason": "malformed", "topic": "user", "file": "1.jsonl", "line": 1}
    letter |= {"time": "2026-01-01T00:00:00Z"}
    (folder / "person-1.jsonl").write_text(json.dumps(letter) + "\n")

    found = told(spec, CAUGHT_UP)

    assert (1, ("dead: 1, expected 0",)) == (found.dead, found.missed)


def test_dead_letters_of_another_source_that_has_such_a_topic_do_not_count(
    spec: ProjectSpec,
) -> None:
    folder = spec.path_of(".joinery/dead_letters")
    folder.mkdir(parents=True)
    letter = {"reason": "malformed", "topic": "user", "file": "1.jsonl", "line": 1}
    letter |= {"time": "2026-01-01T00:00:00Z"}
    sources = ({"source": "crm"}, {"source": "crm", "line": 2}, {"source": "shop"}, {"line": 3})
    lines = [json.dumps({**letter, **each}) for each in sources]
    (folder / "person-1.jsonl").write_text("".join(f"{each}\n" for each in lines))
    totals = replace(CAUGHT_UP.products["person"], sources=("shop",))

    found = told(spec, replace(CAUGHT_UP, products={"person": totals}))

    assert 2 == found.dead


def test_dead_letters_of_real_time_are_those_that_the_run_counted(spec: ProjectSpec) -> None:
    """They are in a topic, also where the project's own place is a folder."""
    totals = replace(CAUGHT_UP.products["person"], dead=3)

    found = told(spec, replace(CAUGHT_UP, live=True, products={"person": totals}))

    assert (3, ("dead: 3, expected 0",)) == (found.dead, found.missed)


def test_real_time_goes_on_where_somebody_paused_it_and_says_so(spec: ProjectSpec) -> None:
    paths = QueryPaths.of(spec.path_of(spec.run.checkpoint), "person")
    ControlLog(paths.control_file).ask(Action.now("pause"))

    found = told(spec, replace(CAUGHT_UP, live=True))

    assert "live" == found.state
    assert found.because.endswith("real-time mode continues, the next run starts paused")


def test_a_file_that_cannot_be_read_wants_attention(spec: ProjectSpec) -> None:
    paths = QueryPaths.of(spec.path_of(spec.run.checkpoint), "person")
    paths.status_file.parent.mkdir(parents=True)
    write(paths.status_file, '{"query": "pers')

    [found] = project_status(spec).products
    assert ("unknown", True) == (found.state, found.wants_attention)
    assert found.because.startswith(f"{paths.status_file.name} cannot be read: it is truncated")


@pytest.mark.parametrize("folders", [0, 1, 2], ids=["the file", "_status", "the checkpoint"])
def test_a_link_to_a_disk_that_is_not_mounted_wants_attention(
    spec: ProjectSpec, tmp_path: Path, folders: int
) -> None:
    status_file = QueryPaths.of(spec.path_of(spec.run.checkpoint), "person").status_file
    assert isinstance(status_file, Path)
    link = (status_file, *status_file.parents)[folders]
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "disk" / "away")

    [found] = project_status(spec).products
    assert ("unknown", True) == (found.state, found.wants_attention)
    assert f"{link} is a link to what is not there" == found.because


@pytest.mark.parametrize(
    "altered",
    [
        {"bytes_left": None},
        {"rows_left": {"person": "many"}},
        {"state_bytes": "12 MB"},
        {"state": "resting"},
        {"began_at": "in the morning"},
        {"products": {"person": {"relations": ["person"], "documents": None}}},
        {"products": {"person": {"relations": [["person"]]}}},
        {"marks": {"count": "2", "batch": 7, "at": "2026-01-02T03:04:05Z", "bytes": 1}},
        {"waiting": [{"product": "", "target": "t", "reason": "", "attempts": 1, "since": "now"}]},
    ],
    ids=str,
)
def test_a_file_of_another_kind_hides_no_other_product(
    spec: ProjectSpec, altered: dict[str, object]
) -> None:
    paths = QueryPaths.of(spec.path_of(spec.run.checkpoint), "person")
    paths.status_file.parent.mkdir(parents=True)
    write(paths.status_file, json.dumps({**CAUGHT_UP.to_json(), **altered}))

    [found] = project_status(spec).products

    assert "unknown" == found.state


def test_a_clock_behind_that_of_the_run_makes_no_product_fresher_than_now(
    spec: ProjectSpec,
) -> None:
    ahead = replace(CAUGHT_UP, written_at=time.time() + 3600)

    ended = told(spec, replace(ahead, state="ended", caught_up_at=ahead.written_at))
    behind = told(spec, replace(ahead, caught_up=False, caught_up_at=ahead.written_at - 60))

    assert 0.0 == ended.fresh_s
    assert "behind" == behind.state


def test_a_control_log_that_cannot_be_read_hides_nothing(spec: ProjectSpec) -> None:
    paths = QueryPaths.of(spec.path_of(spec.run.checkpoint), "person")
    paths.control_file.mkdir(parents=True)

    assert "live" == told(spec, CAUGHT_UP).state
    [warning] = project_status(spec).warnings
    assert warning.startswith(f"{paths.control_file} cannot be read: ")


def test_whether_a_run_goes_on_is_not_known_where_its_lease_cannot_be_read(
    spec: ProjectSpec,
) -> None:
    told(spec, CAUGHT_UP)
    lease = QueryPaths.of(spec.path_of(spec.run.checkpoint), "person").lease_file
    lease.mkdir()

    [found] = project_status(spec).products

    assert ("unknown", True) == (found.state, found.wants_attention)
    assert f"{lease} cannot be read: Is a directory" == found.because


@pytest.mark.parametrize(
    ("notes", "missed"),
    [
        ([], ("audited: never, expected 1d",)),
        ([("files out", 1.0, 0, 3600.0)], ()),
        ([("files out", 0.01, 0, 3600.0)], ("audited: never, expected 1d",)),
        ([("files out", 1.0, 0, 3 * 86400.0)], ("audited: 3d ago, expected 1d",)),
        ([("files out", 1.0, 2, 3600.0)], ("audited: 2 differ; see joinery diff",)),
        (
            [("files out", 1.0, 2, 7200.0), ("files out", 0.01, 0, 60.0)],
            ("audited: 2 differ; see joinery diff",),
        ),
        ([("files out", 1.0, 0, 60.0), ("another sink", 1.0, 5, 60.0)], ()),
    ],
)
def test_documents_are_expected_to_be_compared(
    spec: ProjectSpec, notes: list[tuple[str, float, int, float]], missed: tuple[str, ...]
) -> None:
    expected = [replace(each, expect=Expectations(audited_ms=86_400_000)) for each in spec.products]
    for target, share, differ, ago_s in notes:
        AuditNote(
            product="person",
            target=target,
            ended_at=NOW - ago_s,
            share=share,
            compared=90,
            differ=differ,
            unsettled=0,
        ).write(spec.path_of(spec.run.checkpoint))
    totals = replace(CAUGHT_UP.products["person"], targets=("files out",))

    found = told(
        replace(spec, products=tuple(expected)), replace(CAUGHT_UP, products={"person": totals})
    )

    assert missed == found.missed


@pytest.mark.parametrize(
    ("before", "missed"),
    [
        (None, ("audited: never, expected 1d",)),
        (2, ("audited: 2 differ; see joinery diff",)),
        (0, ("audited: 2d ago, expected 1d",)),
    ],
)
def test_a_comparison_that_the_run_was_too_late_for_proves_nothing(
    spec: ProjectSpec, before: int | None, missed: tuple[str, ...]
) -> None:
    expected = [replace(each, expect=Expectations(audited_ms=86_400_000)) for each in spec.products]
    note = AuditNote(
        product="person",
        target="files out",
        ended_at=NOW - 2 * 86_400.0,
        share=1.0,
        compared=90,
        differ=before or 0,
        unsettled=0,
    )
    root = spec.path_of(spec.run.checkpoint)
    if before is not None:
        note.write(root)

    replace(note, ended_at=NOW - 60.0, differ=0, unsettled=3, late=3).write(root)

    assert missed == told(replace(spec, products=tuple(expected)), CAUGHT_UP).missed


def test_documents_are_compared_once_they_are_in_all_sinks(spec: ProjectSpec) -> None:
    root = spec.path_of(spec.run.checkpoint)
    totals = replace(CAUGHT_UP.products["person"], targets=("files out", "a new one"))
    status = replace(CAUGHT_UP, products={"person": totals})
    found = []

    for target in totals.targets:
        AuditNote(
            product="person",
            target=target,
            ended_at=NOW - 60.0,
            share=1.0,
            compared=90,
            differ=0,
            unsettled=0,
        ).write(root)
        found.append(told(spec, status).audited_s)

    assert [None, 60.0] == found


def test_how_far_a_product_is_in_its_sources_is_shown_where_it_is_asked_for(
    spec: ProjectSpec,
) -> None:
    read = {"user": ("user/0/41", "user/1/7"), "other": ("other/0/1",)}
    log = SourceFrontier(source="log", sure="read", read=read, more={"other": 3})
    database = SourceFrontier(source="db", sure="exact", place="0/A8", committed_at=NOW - 2)
    beats = SourceFrontier(source="beats", sure="probable", committed_at=NOW - 1)
    elsewhere = SourceFrontier(source="elsewhere", sure="read")
    mine = ProductTotals(relations=("user",), sources=("log", "db", "beats"), held_by="settle")
    frontiers = (log, database, beats, elsewhere)
    running = replace(CAUGHT_UP, products={"person": mine}, frontiers=frontiers)

    found = told(spec, running)

    assert (log.of(["user"]), database, beats) == found.frontiers
    assert [
        "shows log up to user/0/41, user/1/7",
        "shows db up to 0/A8 (exact), last committed at 1970-01-12 13:46:38Z",
        "shows beats up to the heartbeat of 1970-01-12 13:46:39Z (probable)",
        "documents of the last changes may not be sent yet (settle)",
    ] == [*frontier_lines(found)]
    assert ["log", "db", "beats"] == [
        each["source"] for each in cast("Any", found.to_json()["frontiers"])
    ]
