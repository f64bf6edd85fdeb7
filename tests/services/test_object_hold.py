"""Documents that wait in an object store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.services import object_folder

from joinery.delivery import store_hold
from joinery.delivery.held_row import HeldRow
from joinery.delivery.hold import Hold
from joinery.delivery.store_hold import StoreHold
from joinery.model.type import LONG, Field, Struct
from joinery.place.remote_path import RemotePath
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import FencedError, SinkError, StagedBatch

pytestmark = pytest.mark.services
folder = object_folder.folder


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
