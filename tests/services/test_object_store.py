"""What a run keeps beside its checkpoint, in an object store: files, and the lease."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

import pytest
from tests.services.s3_server import BUCKET, BadNetwork, S3Server, s3_settings

from joinery.dead_letters.dead_letter import Resolution
from joinery.dead_letters.open import dead_letter_writer
from joinery.dead_letters.remote import RemoteDeadLetters, RemoteDeadLettersReader
from joinery.delivery import lease as module
from joinery.delivery import store_hold
from joinery.delivery.control import Action, ControlLog
from joinery.delivery.held_row import HeldRow
from joinery.delivery.hold import Hold
from joinery.delivery.lease import Lease, LeaseLateError
from joinery.delivery.lease_file import LAPSE_S, LeaseHeldError, holder_in
from joinery.delivery.query_paths import rebuild_paths
from joinery.delivery.store_hold import StoreHold
from joinery.files import append_line, copy_folder, remove_folder, write_first, write_whole
from joinery.model.type import LONG, Field, Struct
from joinery.observe.kept_letters import kept_letters
from joinery.observe.outline import letters_folder
from joinery.place.guarded import Guarded
from joinery.place.place import Place, matching
from joinery.place.remote_path import RemotePath
from joinery.place.s3 import S3Options, client_of
from joinery.place.store import StorageError
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import FencedError, SinkError, SinkUnavailableError, StagedBatch
from joinery.spark.batch.staging import Staging
from joinery.spark.recovery.checkpoint import begin_empty_batch
from joinery.spark.recovery.replacement import MARK, RESCALED, _Mark, mark_done, put_in_place
from joinery.testing.conformance.project import load_text

pytestmark = pytest.mark.services

PROJECT = """\
relations: {user: {key: [id], fields: {id: long, name: string}}}
products: {person: {root: user, sink: {files: {path: out}}}}
"""


@pytest.fixture
def folder(s3: S3Server, request: pytest.FixtureRequest) -> RemotePath:
    """A folder of the test's own."""
    return RemotePath(BUCKET, request.node.name, S3Options.of(s3.settings))


@pytest.fixture
def settings(s3: S3Server) -> dict[str, str]:
    """What `run.spark` says of the store."""
    return s3.settings


@pytest.fixture
def network(s3: S3Server) -> Iterator[BadNetwork]:
    with BadNetwork(s3.port).open() as opened:
        yield opened


@pytest.fixture
def spoilt(network: BadNetwork, folder: RemotePath) -> RemotePath:
    """The folder as it is seen through the network."""
    return over(network, folder)


def over(network: BadNetwork, folder: RemotePath) -> RemotePath:
    """Return a folder as it is seen through a network."""
    return RemotePath(BUCKET, folder.key, S3Options.of(s3_settings(network.port)))


def test_a_file_reads_as_it_was_written(folder: RemotePath) -> None:
    write_whole(folder / "a" / "b.json", '{"ü": 1}', synced=True)

    assert (folder / "a" / "b.json").read_text() == '{"ü": 1}'
    assert (folder / "a").is_dir()
    assert not (folder / "a").is_file()
    assert (folder / "a" / "b.json").is_file()
    assert not (folder / "a" / "c").exists()
    with pytest.raises(FileNotFoundError):
        (folder / "a" / "c").read_bytes()


def test_a_folder_lists_what_is_in_it(folder: RemotePath) -> None:
    for name in ("2", "10", "state/0/x.zip", ".hidden"):
        write_whole(folder / name, name, synced=True)

    assert sorted(each.name for each in folder.iterdir()) == [".hidden", "10", "2", "state"]
    assert [each.name for each in matching(folder, "[0-9]*")] == ["10", "2"]
    assert [str(each) for each in matching(folder, "*/*/*.zip")] == [f"{folder}/state/0/x.zip"]


def test_a_folder_is_copied_without_what_is_left_out(folder: RemotePath, tmp_path: Path) -> None:
    for name in ("offsets/0", "state/0/x.zip", "_logs/y"):
        write_whole(folder / name, name, synced=True)

    copy_folder(folder, tmp_path / "copy", ("state", "_*"))

    files = [each for each in (tmp_path / "copy").rglob("*") if each.is_file()]
    assert [tmp_path / "copy" / "offsets" / "0"] == files


def test_a_folder_is_removed_with_all_that_is_in_it(folder: RemotePath) -> None:
    write_whole(folder / "a" / "b", "1", synced=True)
    write_whole(folder.with_name("beside") / "c", "1", synced=True)

    remove_folder(folder)

    assert not folder.exists()
    assert (folder.with_name("beside") / "c").exists()
    remove_folder(folder)  # of which nothing is there


def test_lines_of_many_writers_all_stand(folder: RemotePath) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(partial(append_line, folder / "lines"), map(str, range(12))))

    lines = (folder / "lines").read_text().split()
    assert sorted(map(str, range(12))) == sorted(lines)


def test_of_those_who_ask_the_same_one_is_first(folder: RemotePath) -> None:
    log = ControlLog(folder / "control.jsonl")
    asked = [Action.now("pause", str(number)) for number in range(4)]

    with ThreadPoolExecutor(4) as pool:
        standing = list(pool.map(log.ask, asked))

    (first,) = [each for each, stood in zip(asked, standing, strict=True) if stood is None]
    assert [first] == list(log.actions())
    assert {each for each in standing if each is not None} == {first}


def test_dead_letters_of_a_batch_that_runs_again_stand_once(
    folder: RemotePath, tmp_path: Path
) -> None:
    part = tmp_path / "part"
    part.write_bytes(b'{"a": 1}\n{"a": 2}\n')
    writer, reader = RemoteDeadLetters(folder, "q"), RemoteDeadLettersReader(folder)

    for _ in range(2):
        writer.put([part], query_id="id", batch_id=3, check=lambda: None)
    at = "2026-01-01T00:00:00Z"
    mark = Resolution(id="x", state="dropped", until=at, at=at)
    reader.mark([mark])

    assert [b'{"a": 1}\n', b'{"a": 2}\n'] == list(reader.lines())
    assert [mark] == list(reader.marks())


def test_open_dead_letters_are_told_to_who_looks(
    folder: RemotePath, settings: dict[str, str], tmp_path: Path
) -> None:
    said = json.dumps(settings)
    spec = load_text(f"run: {{checkpoint: '{folder}', spark: {said}}}\n{PROJECT}")
    part = tmp_path / "part"
    letter = {"reason": "undecodable", "topic": "user", "file": "1.jsonl"}
    lines = [{**letter, "line": n, "time": "2026-01-01T00:00:00Z"} for n in (1, 2)]
    part.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    dead_letter_writer(spec, "person").put([part], query_id="id", batch_id=3, check=lambda: None)

    kept = kept_letters(letters_folder(spec))

    assert kept is not None
    assert ["user", "user"] == [each.of for each in kept.open]


def test_dead_letters_of_a_run_that_was_replaced_are_not_kept(
    folder: RemotePath, tmp_path: Path
) -> None:
    part = tmp_path / "part"
    part.write_bytes(b"{}\n")

    def replaced() -> None:
        raise FencedError("another run has taken over")

    with pytest.raises(FencedError):
        RemoteDeadLetters(folder, "q").put([part], query_id="id", batch_id=3, check=replaced)

    assert not folder.exists()


@pytest.fixture
def rounds() -> int:
    """How often two drivers are started at once."""
    return 50


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

    for round in range(rounds // 10):
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


def test_a_file_that_never_is_what_was_read_is_given_up(
    folder: RemotePath, network: BadNetwork
) -> None:
    write_whole(folder / "lines", "one\n", synced=True)
    network.weak = True

    with pytest.raises(StorageError, match="could not write s3a://") as told:
        append_line(over(network, folder) / "lines", "two")

    assert "alters ETags" in told.value.hint
    assert (folder / "lines").read_text() == "one\n"


def test_a_file_is_put_first_by_one(folder: RemotePath) -> None:
    write_first(folder / "offsets" / "7", "ours")
    write_first(folder / "offsets" / "7", "ours")  # its answer was lost

    with pytest.raises(FileExistsError):
        write_first(folder / "offsets" / "7", "another")

    assert (folder / "offsets" / "7").read_text() == "ours"


def test_an_empty_batch_does_not_take_the_place_of_another_run_s(folder: RemotePath) -> None:
    settings = json.dumps({"batchTimestampMs": 1})
    write_whole(folder / "offsets" / "7", f"v1\n{settings}\n{{}}", synced=True)

    def another_begins() -> None:
        write_whole(folder / "offsets" / "8", "another", synced=True)

    with pytest.raises(FencedError, match="was started by another run"):
        begin_empty_batch(folder, 2, another_begins)

    assert (folder / "offsets" / "8").read_text() == "another"


@pytest.mark.parametrize("broken_at", range(9))
def test_a_rebuild_that_is_interrupted_while_it_takes_its_place_is_whole_afterwards(
    folder: RemotePath, broken_at: int
) -> None:
    finished_rebuild(folder)
    checks = count()

    def check() -> None:
        if next(checks) == broken_at:
            raise FencedError("another run has taken over")

    with pytest.raises(FencedError):
        put_in_place(folder, "q", check)
    assert put_in_place(folder, "q")

    assert {"offsets/0": "new", "state/0/new.zip": "new"} == contents(folder / "q")
    (kept,) = (folder / "_replaced").iterdir()
    assert dict.fromkeys(("offsets/0", "offsets/1", "state/0/old.zip"), "old") == contents(kept)
    assert not (folder / "_rebuild").exists()
    assert not put_in_place(folder, "q")


def test_documents_that_wait_go_along_with_state_that_was_moved(folder: RemotePath) -> None:
    held = {"offsets/0": "moved", "joinery-held/settle-p/000000000000": "waits"}
    for name in held:
        write_whole(folder / "q" / name, "before", synced=True)
    fresh = rebuild_paths(folder, "q").checkpoint
    for name, content in {RESCALED: "", **held}.items():
        write_whole(fresh / name, content, synced=True)
    mark_done(fresh)

    put_in_place(folder, "q")

    assert held == contents(folder / "q")
    assert not fresh.exists()


@pytest.mark.parametrize("away_at", [1, 4, 6, 7, 9])
def test_a_run_that_is_replaced_while_its_store_is_away_removes_nothing_of_the_other_s(
    folder: RemotePath, network: BadNetwork, away_at: int
) -> None:
    finished_rebuild(folder)
    checks, replaced = count(1), threading.Event()

    def another_goes_on() -> None:
        put_in_place(folder, "q")
        write_whole(folder / "q" / "offsets/1", "run", synced=True)
        replaced.set()
        network.mend()

    def check() -> None:
        if replaced.is_set():
            raise FencedError("another run has taken over")
        if next(checks) == away_at:
            network.cut = 1.0
            pool.submit(another_goes_on)

    with ThreadPoolExecutor(1) as pool, suppress(FencedError, StorageError):
        put_in_place(over(network, folder), "q", check)

    assert replaced.is_set()
    expected = {"offsets/0": "new", "offsets/1": "run", "state/0/new.zip": "new"}
    assert expected == contents(folder / "q")
    assert not (folder / "_rebuild").exists()


def test_a_step_that_is_noted_late_is_not_noted(folder: RemotePath) -> None:
    """Else the next run would put what is left of a rebuild in the place of a checkpoint."""
    finished_rebuild(folder)
    mark = rebuild_paths(folder, "q").checkpoint / MARK
    assert isinstance(mark, RemotePath)
    late = _Mark.of(mark)
    put_in_place(folder, "q")

    with pytest.raises(FencedError):
        late.noting("kept")

    assert not mark.exists()


def finished_rebuild(folder: RemotePath) -> None:
    """Leave a checkpoint, and a rebuild of it that is to take its place."""
    for name in ("offsets/0", "offsets/1", "state/0/old.zip"):
        write_whole(folder / "q" / name, "old", synced=True)
    fresh = rebuild_paths(folder, "q").checkpoint
    for name in ("offsets/0", "state/0/new.zip", "joinery-held/belongs"):
        write_whole(fresh / name, "new", synced=True)
    mark_done(fresh)


def test_large_files_are_copied_too(folder: RemotePath, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (9 << 20))
    (folder / "a" / "large").write_file(tmp_path / "large")
    write_whole(folder / "a" / "b/small", "1", synced=True)

    Guarded(lambda: None).copy(folder / "a", folder / "c", (folder / "a").sizes())

    assert {"large": 9 << 20, "b/small": 1} == (folder / "c").sizes()


def test_a_run_that_ends_removes_its_own_parts_alone(folder: RemotePath, tmp_path: Path) -> None:
    staging = Staging(tmp_path, folder)
    for name in ("1-0-mine/7/p", "1-0-mine/8/p", "2-0-other/9/p"):
        write_whole(folder / name, "x", synced=True)

    staging.remove_of("mine")

    assert {"2-0-other/9/p": "x"} == contents(folder)


def test_a_run_that_is_replaced_while_it_clears_leaves_what_another_has_staged(
    folder: RemotePath, tmp_path: Path
) -> None:
    write_whole(folder / "1-0-before/7/p", "x", synced=True)
    checks = iter((lambda: None, lambda: write_whole(folder / "3-0-new/1/p", "x", synced=True)))

    Staging(tmp_path, folder).clear(lambda: next(checks)())

    assert {"3-0-new/1/p": "x"} == contents(folder)


def contents(folder: Place) -> dict[str, str]:
    """Return what the files below a folder hold, by their names."""
    assert isinstance(folder, RemotePath)
    files = (each for each, _ in folder.listed())
    return {each.key.removeprefix(f"{folder.key}/"): each.read_text() for each in files}


def test_documents_that_wait_are_there_on_another_machine_whatever_was_done(
    folder: RemotePath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_hold, "_LEAST", 7 * store_hold._EACH)
    plain = Hold(tmp_path / "plain.sqlite")
    plain.open()
    random, machine = Random(17), 0
    kept = StoreHold(folder, tmp_path / "0.sqlite")
    kept.open()
    for step in range(60):
        now = float(step)
        match random.choice(("put", "put", "leave", "sent", "remember", "forget", "move")):
            case "put":
                batch = batch_of(tmp_path / "part", random, step)
                plain.put(batch, now)
                kept.put(batch, now)
            case "leave":
                due = {"quiet": now - 3, "old": now - 9}
                assert plain.leave(now, **due) == kept.leave(now, **due)
            case "sent":
                plain.forget_leaving()
                kept.forget_leaving()
            case "remember":
                plain.remember("sent_at", step)
                kept.remember("sent_at", step)
            case "forget":
                plain.forget_held()
                kept.forget_held()
            case _:
                machine += 1
                kept.close()
                kept = StoreHold(folder, tmp_path / f"{machine}.sqlite")
                kept.open()
        assert plain.state() == kept.state()

    assert len(list(folder.iterdir())) < 12
    kept.close()
    plain.close()


def test_what_never_leaves_is_kept_in_few_objects(
    folder: RemotePath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_hold, "_LEAST", 7 * store_hold._EACH)
    hold = StoreHold(folder, tmp_path / "hold.sqlite")
    hold.open()
    (tmp_path / "empty").write_text("")
    without = replace(batch_of(tmp_path / "part", Random(1), 0), files=(tmp_path / "empty",))

    hold.put(without, 1.0)
    empty = list(folder.iterdir())
    for number in range(30):
        hold.put(batch_of(tmp_path / "part", Random(number), number), 1.0)
    held = hold.state()
    hold.close()
    hold.open()

    assert [] == empty
    assert len(list(folder.iterdir())) <= 9
    assert held == hold.state()
    hold.close()


def test_much_that_is_held_is_not_put_again_for_little(
    folder: RemotePath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_hold, "_LEAST", 0)
    monkeypatch.setattr(store_hold, "_EACH", 1)
    hold = StoreHold(folder, tmp_path / "hold.sqlite")
    hold.open()
    rows = [StagedRow(f'{{"id":{each}}}', f'{{"id":{each}}}', 1) for each in range(1000)]
    much = batch_of(tmp_path / "much", Random(1), 0)
    (tmp_path / "much").write_text("".join(each.line() for each in rows))
    hold.put(much, 1.0)  # which is then all that is held

    for number in range(1, 11):
        hold.put(batch_of(tmp_path / "part", Random(number), number), 1.0)

    assert 11 == len(list(folder.iterdir()))
    hold.close()


def test_documents_that_wait_and_are_gone_are_told(folder: RemotePath, tmp_path: Path) -> None:
    hold = StoreHold(folder, tmp_path / "hold.sqlite")
    hold.open()
    for batch in range(3):
        hold.put(batch_of(tmp_path / "part", Random(1), batch), 1.0)
    hold.close()
    (folder / f"{1:012d}").unlink()

    with pytest.raises(SinkError, match="documents that wait are gone from"):
        hold.open()


def test_of_two_runs_that_hold_documents_one_is_told_of_the_other(
    folder: RemotePath, tmp_path: Path
) -> None:
    holds = [StoreHold(folder, tmp_path / f"{each}.sqlite") for each in range(2)]
    for each in holds:
        each.open()
    holds[0].put(batch_of(tmp_path / "part", Random(1), 0), 1.0)

    with pytest.raises(FencedError):
        holds[1].put(batch_of(tmp_path / "part", Random(2), 0), 1.0)

    for each in holds:
        each.close()


def batch_of(part: Path, random: Random, number: int) -> StagedBatch:
    """Return a batch with one to three documents of five."""
    keys = random.sample(range(5), random.randint(1, 3))
    rows = [StagedRow(f'{{"id":{key}}}', f'{{"id":{key}}}', number + 1) for key in keys]
    told = [HeldRow(each, *random.choice(((None, None), ("a", "b"), ("", "a")))) for each in rows]
    part.write_text("".join(each.line() for each in told))
    shape = Struct((Field("id", LONG),))
    return StagedBatch(
        product="p",
        query="p",
        query_id="q",
        batch_id=number,
        files=(part,),
        key=shape,
        value=shape,
    )


def test_a_large_file_of_a_store_that_is_away_is_told_in_one_line(
    folder: RemotePath, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"x")
    away = RemotePath("nowhere", "x", folder.options)

    with pytest.raises(StorageError, match="could not write s3a://nowhere/x/file"):
        (away / "file").write_file(tmp_path / "file")


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
    # Two renewals of 2.5 s, and between them a look for a request that is given up after 2 s.
    assert oldest_s < LAPSE_S * 0.85
    assert lease.lost is None


def test_a_run_that_cannot_renew_writes_no_more_than_its_lease_is_sure(
    folder: RemotePath, network: BadNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = Lease((over(network, folder) / "q.lease").within(10.0, 1), "q")
    lease.take()
    network.cut = 1.0

    lease.check()
    monkeypatch.setattr(lease, "_renewed_at", module._Moment(0.0, 0.0))
    with pytest.raises(StorageError):
        lease.check()

    network.mend()
    lease.check()
    lease.release()
    assert lease.lost is None


def test_a_renewal_that_is_made_late_is_made_again_before_anything_is_written(
    folder: RemotePath, network: BadNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SURE_S", 0.5)
    monkeypatch.setattr(module, "RENEW_S", 60.0)
    lease = Lease(over(network, folder) / "q.lease", "q")
    lease.take()
    time.sleep(0.5)

    network.slow_s = 1.0
    with ThreadPoolExecutor(1) as pool:
        asked, checked = network.asked, pool.submit(lease.check)
        while network.asked == asked:
            time.sleep(0.01)
        time.sleep(0.1)  # the first is under way, and late
        network.mend()
        checked.result()

    holder = holder_in(folder / "q.lease")
    assert holder is not None
    assert time.time() - holder.renewed_at < 0.5
    lease.release()


def test_a_run_whose_renewals_are_all_late_writes_nothing(
    folder: RemotePath, network: BadNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SURE_S", 0.6)
    lease = Lease(over(network, folder) / "q.lease", "q")
    lease.take()
    time.sleep(0.6)

    network.slow_s = 0.7
    with pytest.raises(LeaseLateError, match="in time"):
        lease.check()

    network.mend()
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
    assert max(oldest_s) < LAPSE_S - 1.0, oldest_s


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


def test_dead_letters_tell_their_size_and_are_read_once(
    folder: RemotePath, network: BadNetwork, tmp_path: Path
) -> None:
    part = tmp_path / "part"
    part.write_bytes(b'{"a": 1}\n')
    there = over(network, folder)
    RemoteDeadLetters(there, "q").put([part], query_id="id", batch_id=3, check=lambda: None)
    assert [b'{"a": 1}\n'] == list(RemoteDeadLettersReader(there).lines())
    asked = network.asked

    reader = RemoteDeadLettersReader(there)

    assert (9, [b'{"a": 1}\n']) == (reader.size, list(reader.lines()))
    assert network.asked == asked + 2  # both list


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

    assert lost.wait(10)
    with pytest.raises(FencedError):
        first.check()
    second.check()
    second.release()


def test_a_store_that_is_away_is_told_in_one_line(folder: RemotePath) -> None:
    away = RemotePath("nowhere", "x", folder.options)

    with pytest.raises(StorageError) as told:
        write_whole(away / "file", "1", synced=True)

    assert told.value.message == "could not write s3a://nowhere/x/file"
    assert "bucket does not exist" in told.value.detail
    assert isinstance(told.value, OSError)
