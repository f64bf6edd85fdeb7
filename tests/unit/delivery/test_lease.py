"""One run at a time holds a query's lease."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from joinery.delivery import lease as module
from joinery.delivery.lease import Lease, LeaseLateError
from joinery.delivery.lease_file import LAPSE_S, LeaseHeldError
from joinery.delivery.lease_request import LeaseRequest
from joinery.delivery.query_paths import QueryPaths, rebuild_paths
from joinery.sinks.protocol import FencedError, SinkUnavailableError


def edit(file: Path, **facts: object) -> None:
    stood = json.loads(file.read_text())
    file.write_text(json.dumps({**stood, **facts}))


def renewed_at(file: Path) -> float:
    found = json.loads(file.read_text())["renewed_at"]
    assert isinstance(found, float)
    return found


def dead_process() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_a_second_run_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    first = Lease(tmp_path / "q.lease", "q")
    first.take()

    with pytest.raises(LeaseHeldError) as refused:
        Lease(tmp_path / "q.lease", "q").take()

    assert f"process {os.getpid()}, which is this one" in refused.value.message
    assert "since 20" in refused.value.message
    assert "jn.runs()" in refused.value.hint
    first.release()


def test_a_released_lease_is_free_at_once_under_a_higher_epoch(tmp_path: Path) -> None:
    first = Lease(tmp_path / "q.lease", "q")
    first.take()
    epoch = first.epoch
    first.release()
    second = Lease(tmp_path / "q.lease", "q")

    second.take()

    assert epoch < second.epoch
    second.release()


def test_a_lease_of_a_later_version_is_held_and_what_names_nobody_is_free(tmp_path: Path) -> None:
    file = tmp_path / "q.lease"
    first = Lease(file, "q")
    first.take()
    edit(file, purpose="backup")
    with pytest.raises(LeaseHeldError):
        Lease(file, "q").take()
    first.release()
    file.write_text('{"owner": 1}')
    second = Lease(file, "q")

    second.take()

    second.check()
    second.release()


def test_a_run_has_a_higher_epoch_than_the_rebuild_whose_checkpoint_it_goes_on_from(
    tmp_path: Path,
) -> None:
    for _ in range(3):  # it was interrupted, and started again
        rebuild = rebuild_paths(tmp_path, "q").lease
        rebuild.take()
        epoch = rebuild.epoch
        rebuild.release()
    run = QueryPaths.of(tmp_path, "q").lease

    run.take()

    assert (3, 4) == (epoch, run.epoch)
    run.release()


def test_the_kernel_sees_that_a_lease_was_given_back(tmp_path: Path) -> None:
    """It looks for these words (`Fence`)."""
    lease = Lease(tmp_path / "q.lease", "q")
    lease.take()
    held = lease.file.read_text()
    lease.release()

    assert '"released": false' in held
    assert '"released": true' in lease.file.read_text()


def test_a_lapsed_lease_is_taken_over_and_the_first_run_fenced(tmp_path: Path) -> None:
    first, second = Lease(tmp_path / "q.lease", "q"), Lease(tmp_path / "q.lease", "q")
    first.take()
    edit(tmp_path / "q.lease", renewed_at=0)

    second.take()

    second.check()
    with pytest.raises(FencedError):
        first.check()
    first.release()
    with pytest.raises(LeaseHeldError):
        Lease(tmp_path / "q.lease", "q").take()
    second.release()


def test_a_fenced_run_stays_fenced_after_the_second_ended(tmp_path: Path) -> None:
    first, second = Lease(tmp_path / "q.lease", "q"), Lease(tmp_path / "q.lease", "q")
    first.take()
    edit(tmp_path / "q.lease", renewed_at=0)
    second.take()
    second.release()

    with pytest.raises(FencedError):
        first.check()
    first.release()


def test_a_run_whose_processes_all_ended_here_does_not_hold_up_the_next(tmp_path: Path) -> None:
    first, second = Lease(tmp_path / "q.lease", "q"), Lease(tmp_path / "q.lease", "q")
    first.take()
    edit(tmp_path / "q.lease", processes=[dead_process()])

    second.take()

    second.check()
    second.release()
    first.release()


def test_a_killed_run_is_waited_for_until_its_jvm_ended(tmp_path: Path) -> None:
    first, second = Lease(tmp_path / "q.lease", "q"), Lease(tmp_path / "q.lease", "q")
    first.take()
    with subprocess.Popen(["sleep", "0.5"]) as jvm:
        edit(tmp_path / "q.lease", processes=[dead_process(), jvm.pid])
        reaper = threading.Thread(target=jvm.wait)
        reaper.start()

        second.take()

        assert jvm.poll() == 0
        reaper.join()
    second.release()
    first.release()


def test_a_run_on_another_machine_counts_as_living_until_it_lapses(tmp_path: Path) -> None:
    first = Lease(tmp_path / "q.lease", "q")
    first.take()
    edit(tmp_path / "q.lease", processes=[dead_process()], machine="elsewhere")

    with pytest.raises(LeaseHeldError):
        Lease(tmp_path / "q.lease", "q").take()
    first.release()


def test_losing_the_lease_is_told_by_the_renewing_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.01)
    told = threading.Event()
    first = Lease(tmp_path / "q.lease", "q", told.set)
    first.take()
    until = time.monotonic() + 60

    while not told.wait(0.1) and time.monotonic() < until:  # a renewal may write over an edit
        edit(tmp_path / "q.lease", owner="someone else")

    assert told.is_set()


def test_renewing_keeps_the_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.01)
    first = Lease(tmp_path / "q.lease", "q")
    first.take()
    stood = renewed_at(tmp_path / "q.lease")

    while renewed_at(tmp_path / "q.lease") == stood:
        first.check()

    first.release()


def test_a_run_that_slept_for_half_a_lapse_writes_only_once_it_has_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Lease(tmp_path / "q.lease", "q")
    first.take()
    edit(tmp_path / "q.lease", renewed_at=0)
    monkeypatch.setattr(first, "_renewed_at", module._Moment(0.0, 0.0))

    first.check()

    with pytest.raises(LeaseHeldError):
        Lease(tmp_path / "q.lease", "q").take()
    first.release()


def test_a_run_whose_clock_was_set_back_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Lease(tmp_path / "q.lease", "q")
    first.take()
    ahead = module._Moment(time.time() + 3600, time.monotonic() - 60)
    monkeypatch.setattr(first, "_renewed_at", ahead)

    first.check()

    assert first._renewed_at.age_s < LAPSE_S / 2
    first.release()


def test_a_run_that_renews_late_each_time_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SURE_S", 0.0)
    first = Lease(tmp_path / "q.lease", "q")
    first.take()

    with pytest.raises(LeaseLateError, match='could not renew the lease on "q" in time'):
        first.check()

    first.release()
    assert first.lost is None


def test_a_task_does_not_write_under_a_lease_that_another_run_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOOKS_FOR_S", 0.0)
    first = Lease(tmp_path / "q.lease", "q")
    first.take()
    first.watch.check()
    edit(tmp_path / "q.lease", renewed_at=time.time() - LAPSE_S / 2 - 0.1)

    with pytest.raises(SinkUnavailableError, match="task that writes cannot see the lease"):
        first.watch.check()

    first.release()


def test_a_task_waits_for_the_next_renewal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.5)
    first = Lease(tmp_path / "q.lease", "q")
    first.take()
    late = time.time() - LAPSE_S / 2 - 0.1
    edit(tmp_path / "q.lease", renewed_at=late)

    first.watch.check()

    assert late < renewed_at(tmp_path / "q.lease")
    first.release()


def test_a_task_writes_nothing_once_its_run_gave_the_lease_back(tmp_path: Path) -> None:
    first = Lease(tmp_path / "q.lease", "q")
    first.take()
    watch = first.watch
    first.release()

    with pytest.raises(FencedError):
        watch.check()


def test_a_run_gives_way_to_who_waits_for_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.01)
    first, rebuild = Lease(tmp_path / "q.lease", "q"), Lease(tmp_path / "q.lease", "q")
    first.take()
    asked = threading.Event()
    first.on_request(asked.set)

    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(rebuild.take_over, lambda: False)
        assert asked.wait(60)
        first.release()
        taken.result()

    assert not (tmp_path / "q.asked").exists()
    rebuild.check()
    rebuild.release()


def test_a_rebuild_that_was_killed_while_it_waited_ends_no_later_run(tmp_path: Path) -> None:
    request = LeaseRequest(tmp_path / "q.asked")
    request.renew(0.0)
    stood = request.stands()

    edit(tmp_path / "q.asked", asked_at=time.time() - LAPSE_S)

    assert (True, False) == (stood, request.stands())
    (tmp_path / "q.asked").write_text("")
    assert not request.stands()


def test_of_two_runs_that_start_at_once_one_writes_two_hundred_times(tmp_path: Path) -> None:
    for number in range(200):
        leases = [Lease(tmp_path / f"{number}.lease", "q") for _ in range(2)]
        together = threading.Barrier(len(leases))

        with ThreadPoolExecutor(len(leases)) as pool:
            taken = list(pool.map(partial(took, together), leases))

        assert [False, True] == sorted(taken), f"in round {number}"
        winner, loser = sorted(leases, key=lambda each: not each.epoch)
        winner.check()
        with pytest.raises(FencedError):
            loser.check()
        winner.release()


def took(together: threading.Barrier, lease: Lease) -> bool:
    """Take a lease once all are about to, and return whether it was given."""
    together.wait()
    try:
        lease.take()
    except LeaseHeldError:
        return False
    return True
