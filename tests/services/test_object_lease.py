"""The lease of a run in an object store: one of two has it, and late answers do not lose it."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial

import pytest
from tests.services import object_folder
from tests.services.object_folder import over
from tests.services.s3_server import BadNetwork

from joinery.delivery import lease as module
from joinery.delivery.lease import Lease, LeaseLateError
from joinery.delivery.lease_file import LAPSE_S, LeaseHeldError, holder_in
from joinery.place.remote_path import RemotePath
from joinery.place.s3 import client_of
from joinery.place.store import StorageError
from joinery.sinks.protocol import FencedError, SinkUnavailableError

pytestmark = pytest.mark.services
folder = object_folder.folder
network = object_folder.network
spoilt = object_folder.spoilt
LONG_AGO = module._Moment(0.0, 0.0)


@pytest.fixture(params=[20, pytest.param(200, marks=pytest.mark.exhaustive)])
def rounds(request: pytest.FixtureRequest) -> int:
    """How often two drivers are started at once."""
    return int(request.param)


def test_of_two_drivers_that_start_at_once_one_writes(folder: RemotePath, rounds: int) -> None:
    for round in range(rounds):
        file = folder / f"{round}.lease"
        leases = [Lease(file, "q"), Lease(file, "q")]
        together = threading.Barrier(2)

        with ThreadPoolExecutor(2) as pool:
            given = list(pool.map(partial(took, together), leases, (0.0, round % 50 / 1000)))

        assert sorted(given) == [False, True], f"round {round}"
        winner, loser = sorted(leases, key=lambda each: not each.epoch)
        winner.check()
        with pytest.raises(FencedError):
            loser.check()
        winner.release()


def test_of_two_drivers_one_takes_over_a_lease_that_was_released(folder: RemotePath) -> None:
    file = folder / "q.lease"
    before = Lease(file, "q")
    before.take()
    before.release()
    leases, together = [Lease(file, "q"), Lease(file, "q")], threading.Barrier(2)

    with ThreadPoolExecutor(2) as pool:
        given = list(pool.map(partial(took, together), leases, (0.0, 0.0)))

    assert sorted(given) == [False, True]
    (winner,) = (each for each in leases if each.epoch)
    assert winner.epoch == 2
    winner.release()


def test_of_two_drivers_one_takes_over_a_lease_that_has_lapsed(
    folder: RemotePath, rounds: int
) -> None:
    before = Lease(folder / "before.lease", "q")
    before.take()
    held = before.holder
    assert held is not None
    before.release()
    old = replace(held, machine="another", renewed_at=time.time() - 60)
    lapsed = json.dumps(asdict(old)).encode()

    for round in range(rounds // 4):
        file = folder / f"{round}.lease"
        file.update(lambda _: lapsed)
        leases, together = [Lease(file, "q"), Lease(file, "q")], threading.Barrier(2)

        with ThreadPoolExecutor(2) as pool:
            given = list(pool.map(partial(took, together), leases, (0.0, round % 25 / 1000)))

        assert sorted(given) == [False, True], f"round {round}"
        (winner,) = (each for each in leases if each.epoch)
        assert winner.epoch == held.epoch + 1
        winner.release()


def took(together: threading.Barrier, lease: Lease, after_s: float) -> bool:
    """Take a lease a moment after all are about to, and return whether it was given."""
    together.wait()
    time.sleep(after_s)
    try:
        lease.take()
    except LeaseHeldError:
        return False
    return True


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_lease_is_kept_where_answers_are_lost(
    folder: RemotePath, network: BadNetwork, spoilt: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.05)
    network.lost, network.cut, network.refused = 0.2, 0.1, 0.1
    lease = Lease(spoilt / "q.lease", "q")

    lease.take()
    while network.spoilt < 20:
        lease.check()
        time.sleep(0.05)
    network.mend()
    lease.check()

    with pytest.raises(LeaseHeldError):
        Lease(folder / "q.lease", "q").take()
    lease.release()
    assert lease.lost is None


@pytest.mark.parametrize("deaf", ["If-None-Match", "If-Match"])
def test_a_store_that_keeps_no_conditions_is_refused(
    folder: RemotePath, network: BadNetwork, deaf: str
) -> None:
    network.deaf = deaf

    with pytest.raises(StorageError, match=f"ignores the condition of a put: {deaf}"):
        Lease(over(network, folder) / "q.lease", "q").take()

    assert not folder.exists()


def test_a_store_whose_tags_are_altered_is_refused(folder: RemotePath, network: BadNetwork) -> None:
    network.weak = True

    with pytest.raises(StorageError, match="condition of a put: If-Match") as told:
        Lease(over(network, folder) / "q.lease", "q").take()

    assert told.value.detail == "It rejects one that holds."
    assert not folder.exists()


def test_one_answer_that_does_not_come_does_not_let_a_lease_lapse(
    folder: RemotePath, network: BadNetwork
) -> None:
    lease = Lease(over(network, folder) / "q.lease", "q")
    lease.take()

    network.dumb = True
    while not network.spoilt:
        time.sleep(0.05)
    network.dumb = False
    oldest_s = until_renewed(folder / "q.lease")

    lease.release()
    # Asked after 2 s, waited for 4 s, asked again within a second: 3 s are left to the machine.
    assert oldest_s < LAPSE_S
    assert lease.lost is None


def test_what_a_renewal_needs_is_there_once_a_lease_is_taken(
    folder: RemotePath, network: BadNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RENEW_S", 60.0)
    lease = Lease(over(network, folder) / "q.lease", "q")
    lease.take()
    made = client_of.cache_info().misses

    assert lease._renewed()

    assert made == client_of.cache_info().misses
    lease.release()


def test_answers_that_are_late_neither_end_a_run_nor_let_its_lease_lapse(
    folder: RemotePath, network: BadNetwork
) -> None:
    lease = Lease(over(network, folder) / "q.lease", "q")
    lease.take()

    network.slow_s = 2.5
    lease.check()
    oldest_s = until_renewed(folder / "q.lease")
    lease.check()

    network.mend()
    lease.release()
    # Two renewals of 2.5 s, and between them a look for a request that is given up after 2 s:
    # 3 s are left to the machine.
    assert oldest_s < LAPSE_S
    assert lease.lost is None


def test_a_run_that_cannot_renew_writes_no_more_than_its_lease_is_sure(
    folder: RemotePath, network: BadNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = Lease((over(network, folder) / "q.lease").within(10.0, 1), "q")
    lease.take()
    network.cut = 1.0

    lease.check()
    monkeypatch.setattr(lease, "_renewed_at", LONG_AGO)
    with pytest.raises(StorageError):
        lease.check()

    network.mend()
    lease.check()
    lease.release()
    assert lease.lost is None


def test_a_renewal_that_is_made_late_is_made_again_before_anything_is_written(
    folder: RemotePath, network: BadNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SURE_S", 2.0)
    monkeypatch.setattr(module, "RENEW_S", 60.0)
    lease = Lease(over(network, folder) / "q.lease", "q")
    lease.take()
    monkeypatch.setattr(lease, "_renewed_at", LONG_AGO)

    network.slow_s = 2.5
    with ThreadPoolExecutor(1) as pool:
        asked, checked = network.asked, pool.submit(lease.check)
        while network.asked == asked:
            time.sleep(0.01)
        time.sleep(0.1)  # the first is under way, and late
        network.mend()
        mended_at = time.time()
        checked.result()

    holder = holder_in(folder / "q.lease")
    assert holder is not None
    assert holder.renewed_at > mended_at
    lease.release()


def test_a_run_whose_renewals_are_all_late_writes_nothing(
    folder: RemotePath, network: BadNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RENEW_S", 60.0)
    lease = Lease(over(network, folder) / "q.lease", "q")
    lease.take()
    monkeypatch.setattr(lease, "_renewed_at", LONG_AGO)

    network.slow_s = 0.7
    with monkeypatch.context() as late:
        late.setattr(module, "_SURE_S", 0.6)
        with pytest.raises(LeaseLateError, match="in time"):
            lease.check()

    network.mend()
    monkeypatch.setattr(lease, "_renewed_at", LONG_AGO)
    lease.check()
    lease.release()


def test_answers_that_are_each_up_to_4_s_late_do_not_let_a_lease_lapse(
    folder: RemotePath, network: BadNetwork
) -> None:
    lease = Lease(over(network, folder) / "q.lease", "q")
    lease.take()

    network.slow_s = 3.8
    oldest_s = [until_renewed(folder / "q.lease"), until_renewed(folder / "q.lease")]

    network.mend()
    lease.release()
    assert max(oldest_s) < LAPSE_S, oldest_s


def test_a_rebuild_asks_a_run_to_end_through_the_store(
    folder: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.05)
    monkeypatch.setattr(module, "look_every_s", lambda place: 0.1)
    first, rebuild = Lease(folder / "q.lease", "q"), Lease(folder / "q.lease", "q")
    first.take()
    asked = threading.Event()
    first.on_request(asked.set)

    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(rebuild.take_over, lambda: False)
        assert asked.wait(30)
        first.release()
        taken.result()

    assert not (folder / "q.asked").exists()
    rebuild.release()


def test_a_task_is_told_why_it_cannot_see_the_lease(
    folder: RemotePath, network: BadNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOOKS_FOR_S", 0.0)
    lease = Lease(folder / "q.lease", "q")
    lease.take()
    network.cut = 1.0
    watch = replace(lease.watch, file=(over(network, folder) / "q.lease").within(1.0, 1))

    with pytest.raises(SinkUnavailableError) as told:
        watch.check()

    lease.release()
    assert "could not read s3a://" in told.value.message
    assert "onnection was closed" in told.value.message
    assert "run.spark" in told.value.hint


def until_renewed(file: RemotePath) -> float:
    """Wait until a lease is renewed; return how old the renewal before was as it stood last.

    That is when the last look began that saw it, in seconds: what the machine or the store takes
    for the look after it is no age of a lease.
    """
    begun = seen_at = looked_at = time.time()
    standing = holder_in(file)
    assert standing is not None
    while holder_in(file) == standing:
        assert time.time() - begun < 2 * LAPSE_S
        seen_at = looked_at
        time.sleep(0.05)
        looked_at = time.time()
    return seen_at - standing.renewed_at


def test_a_run_that_was_replaced_is_told_so(
    folder: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.05)
    lost = threading.Event()
    first = Lease(folder / "q.lease", "q", lost.set)
    first.take()
    (folder / "q.lease").unlink()

    second = Lease(folder / "q.lease", "q")
    second.take()

    assert lost.wait(60)
    with pytest.raises(FencedError):
        first.check()
    second.check()
    second.release()
