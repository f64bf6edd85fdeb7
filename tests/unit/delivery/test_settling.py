"""What waits is sent where it differs from what the sink holds, whatever broke off meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from joinery.delivery.held_outlet import GatedOutlet, SettlingOutlet
from joinery.delivery.held_row import HeldRow, parse_held
from joinery.delivery.hold import Hold
from joinery.delivery.outlet import Delaying, DirectOutlet
from joinery.model.type import LONG, Field, Struct
from joinery.semantics.document import text_hash
from joinery.semantics.settling import Settling
from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.protocol import Guarantee, SinkError, StagedBatch, Written

SHAPE = Struct((Field("id", LONG),))
KEYS = ("1", "2")


class Target:
    """A sink that keeps the newest of each key, and what it was given."""

    guarantee = Guarantee(summary="keeps the newest")
    target = "target"

    def __init__(self) -> None:
        self.rows: dict[str, StagedRow] = {}
        self.given: list[tuple[str, str | None]] = []
        self.away = False

    def open(self) -> None: ...

    def close(self) -> None: ...

    def write(self, batch: StagedBatch) -> Written:
        if self.away:
            raise SinkError("away")
        for row in read_rows(batch.files):
            self.given.append((row.key, row.value))
            if row.key not in self.rows or row.version > self.rows[row.key].version:
                self.rows[row.key] = row
        return Written()

    @property
    def documents(self) -> Mapping[str, str]:
        return {key: row.value for key, row in self.rows.items() if row.value is not None}


@dataclass
class Query:
    """A query that remembers what it sent, as state does, and stages it."""

    folder: Path
    sent: dict[str, str | None] = field(default_factory=dict)
    number: int = -1

    def made(self, *, query_id: str, batch_id: int, files: tuple[Path, ...]) -> StagedBatch:
        return StagedBatch(
            product="p",
            query="p",
            query_id=query_id,
            batch_id=batch_id,
            files=files,
            key=SHAPE,
            value=SHAPE,
        )

    def stage(self, documents: Mapping[str, str | None]) -> StagedBatch:
        """Stage the next batch, with what differs of some documents."""
        self.number += 1
        changed = {key: text for key, text in documents.items() if text != self.sent.get(key)}
        rows = [self._row(key, text) for key, text in changed.items()]
        self.sent |= changed
        return self.staged(rows, self.number)

    def staged(self, rows: Iterable[HeldRow], number: int) -> StagedBatch:
        part = self.folder / f"{number}.jsonl"
        part.write_text("".join(each.line() for each in rows))
        return self.made(query_id="q", batch_id=number, files=(part,))

    def _row(self, key: str, text: str | None) -> HeldRow:
        before = text_hash(self.sent.get(key))
        row = StagedRow(f'{{"id":{key}}}', text, (self.number + 1) * 10)
        return HeldRow(row, before, text_hash(text))

    def outlet(self, target: Target, begun: int = -1) -> SettlingOutlet:
        made = SettlingOutlet(
            DirectOutlet([target]),
            Hold(self.folder / "held.sqlite"),
            settle_s=3600,
            delaying=Delaying(self.made, lambda outcomes: None, lambda error: None),
            begun=lambda: begun,
        )
        made.open()
        return made


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def query(tmp_path: Path) -> Query:
    return Query(tmp_path)


@pytest.fixture
def outlet(query: Query, target: Target) -> Iterator[SettlingOutlet]:
    made = query.outlet(target)
    yield made
    made.close()


def test_a_clock_that_is_set_back_holds_no_document_up(
    query: Query, target: Target, outlet: SettlingOutlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.delivery.held_outlet.time", SimpleNamespace(time=lambda: 9e9))
    outlet.write(query.stage({"1": "a"}))
    monkeypatch.undo()

    outlet.drain()

    assert {'{"id":1}': "a"} == target.documents


def test_a_document_that_was_held_at_a_time_to_come_is_due(query: Query) -> None:
    with closing(Hold(query.folder / "held.sqlite")) as hold:
        hold.open()
        hold.put(query.stage({"1": "a"}), 9000.0, begun=-1)

        due = [hold.leave(now, quiet=now - 60, old=now - 600) for now in (9001.0, 5000.0)]

    assert [False, True] == due


def test_a_document_that_changes_on_after_the_clock_was_set_back_is_due(query: Query) -> None:
    with closing(Hold(query.folder / "held.sqlite")) as hold:
        hold.open()
        hold.put(query.stage({"1": "a"}), 9000.0, begun=-1)
        hold.put(query.stage({"1": "b"}), 5000.0, begun=-1)

        assert hold.leave(5001.0, quiet=4941.0, old=4401.0)


def test_a_document_that_changed_back_while_it_waited_is_not_sent(
    query: Query, target: Target, outlet: SettlingOutlet
) -> None:
    outlet.write(query.stage({"1": '"a"'}))
    outlet.drain()

    outlet.write(query.stage({"1": '"b"'}))
    outlet.write(query.stage({"1": '"a"'}))
    outlet.drain()

    assert [('{"id":1}', '"a"')] == target.given


def test_a_document_that_came_and_went_while_it_waited_sends_no_tombstone(
    query: Query, target: Target, outlet: SettlingOutlet
) -> None:
    outlet.write(query.stage({"1": '"a"', "2": '"b"'}))
    outlet.write(query.stage({"1": None}))
    outlet.drain()

    assert [('{"id":2}', '"b"')] == target.given


def test_a_document_that_was_sent_and_went_sends_a_tombstone(
    query: Query, target: Target, outlet: SettlingOutlet
) -> None:
    outlet.write(query.stage({"1": '"a"'}))
    outlet.drain()
    outlet.write(query.stage({"1": '"b"'}))
    outlet.write(query.stage({"1": None}))
    outlet.drain()

    assert [('{"id":1}', '"a"'), ('{"id":1}', None)] == target.given


def test_what_changed_back_is_sent_where_a_part_of_the_way_was(
    query: Query, target: Target, outlet: SettlingOutlet
) -> None:
    outlet.write(query.stage({"1": '"a"'}))
    outlet.drain()
    outlet.write(query.stage({"1": '"b"'}))
    outlet.drain()
    outlet.write(query.stage({"1": '"a"'}))
    outlet.drain()

    assert ['"a"', '"b"', '"a"'] == [value for _, value in target.given]


def test_a_batch_that_runs_again_after_it_was_sent_does_not_tell_what_the_sink_holds(
    query: Query, target: Target
) -> None:
    first = query.outlet(target)
    first.write(query.stage({"1": '"a"'}))
    first.drain()
    again = query.stage({"1": '"b"'})
    first.write(again)
    first.drain()
    first.close()

    second = query.outlet(target)
    second.write(again)
    second.write(query.stage({"1": '"a"'}))
    second.drain()
    second.close()

    assert {'{"id":1}': '"a"'} == target.documents


def test_a_batch_that_was_sent_before_its_product_settled_does_not_tell_either(
    query: Query, target: Target
) -> None:
    plain = DirectOutlet([target])
    plain.write(query.stage({"1": '"a"'}))
    again = query.stage({"1": '"b"'})
    plain.write(again)

    settling = query.outlet(target, begun=query.number)
    settling.write(again)
    settling.write(query.stage({"1": '"a"'}))
    settling.drain()
    settling.close()

    assert {'{"id":1}': '"a"'} == target.documents


def test_a_document_that_is_sent_again_on_demand_is_sent_whatever_waits(
    query: Query, target: Target, outlet: SettlingOutlet
) -> None:
    outlet.write(query.stage({"1": '"a"'}))
    outlet.drain()
    outlet.write(query.stage({"1": '"b"'}))
    outlet.write(query.stage({"1": '"a"'}))

    repaired = HeldRow(StagedRow('{"id":1}', '"a"', 11))
    outlet.write(query.staged([repaired], query.number))
    outlet.drain()

    assert ['"a"', '"a"'] == [value for _, value in target.given]


def test_what_waited_for_a_gate_is_compared_with_what_was_sent_before_it_waited(
    query: Query, target: Target, tmp_path: Path
) -> None:
    settling = query.outlet(target)
    settling.write(query.stage({"1": '"a"'}))
    settling.drain()
    settling.close()
    inner = query.outlet(target, begun=query.number)
    gate = GatedOutlet(
        inner,
        Hold(tmp_path / "ready.sqlite"),
        lambda batch_id: batch_id >= 3,
        begun=lambda: 0,
        hashed=True,
    )
    inner.close()
    gate.open()

    gate.write(query.stage({"1": '"b"', "2": '"c"'}))
    gate.write(query.stage({"1": '"a"', "2": None}))
    gate.write(query.stage({"3": '"d"'}))
    inner.drain()
    gate.close()

    assert [('{"id":1}', '"a"'), ('{"id":3}', '"d"')] == target.given


def test_a_hold_of_an_earlier_version_sends_all_that_waits_in_it(tmp_path: Path) -> None:
    hold = Hold(tmp_path / "held.sqlite")
    hold.open()
    with hold._opened.transaction() as database:
        database.execute("DROP TABLE held")
        database.execute(
            "CREATE TABLE held (key TEXT PRIMARY KEY, value TEXT, version INTEGER NOT NULL,"
            " first_at REAL NOT NULL, changed_at REAL NOT NULL) WITHOUT ROWID"
        )
        database.execute("INSERT INTO held VALUES ('{}', '1', 7, 0, 0)")
    old = hold.state()
    hold.close()

    hold.open()
    opened = list(hold.rows())
    hold.replace(*old.values())

    assert [StagedRow("{}", "1", 7)] == opened == list(hold.rows())
    assert hold.leave(1.0, quiet=1.0, old=0.0)
    hold.close()


def test_what_a_line_tells_is_behind_all_that_its_document_says() -> None:
    text = '{"version":1,"before":"x","after":"y"}'
    row = StagedRow('{"id":1}', text, 7)

    assert HeldRow(row) == parse_held(HeldRow(row).line())
    assert HeldRow(row, "", "9f") == parse_held(HeldRow(row, "", "9f").line())


@dataclass
class Story:
    """Random changes, sent at once by the reference and through a hold that breaks off."""

    query: Query
    target: Target
    random: Random
    reference: Settling = field(default_factory=Settling)

    def tell(self, *, breaks: bool) -> None:
        outlet = self.query.outlet(self.target)
        for _ in range(30):
            if self.random.random() < 0.3:
                outlet = self.flush(outlet, breaks=breaks)
            outlet = self.batch(outlet, breaks=breaks)
        outlet.drain()
        outlet.close()
        self.reference.settle(KEYS)

    def batch(self, outlet: SettlingOutlet, *, breaks: bool) -> SettlingOutlet:
        some = self.random.sample(KEYS, self.random.randint(1, 2))
        documents = {key: self.random.choice((None, '"a"')) for key in some}
        before = dict(self.query.sent)
        batch = self.query.stage(documents)
        self.reference.take(
            {key: text for key, text in self.query.sent.items() if text != before.get(key)}
        )
        times = self.random.choice((1, 1, 2)) if breaks else 1
        for time in range(times):
            if time or (breaks and self.random.random() < 0.2):  # killed before, or after
                outlet.close()
                outlet = self.query.outlet(self.target, begun=batch.batch_id)
            outlet.write(batch)
            if breaks and self.random.random() < 0.3:
                outlet = self.flush(outlet, breaks=breaks)
        return outlet

    def flush(self, outlet: SettlingOutlet, *, breaks: bool) -> SettlingOutlet:
        self.reference.settle(KEYS)
        if breaks and self.random.random() < 0.3:
            self.target.away = True
            with suppress(SinkError):
                outlet.drain()
            self.target.away = False
            outlet.close()
            return self.query.outlet(self.target, begun=self.query.number)
        outlet.drain()
        assert self.expected == self.target.documents
        return outlet

    @property
    def expected(self) -> Mapping[str, str | None]:
        return {f'{{"id":{key}}}': text for key, text in self.reference.sink.items()}


@pytest.mark.parametrize("seed", range(6))
def test_the_sink_receives_what_the_reference_sends(
    seed: int, query: Query, target: Target
) -> None:
    sent: list[tuple[str, str | None]] = []

    class Noting(Settling):
        def settle(self, keys: Iterable[str]) -> Mapping[str, str | None]:
            received = super().settle(list(keys))
            sent.extend((f'{{"id":{key}}}', text) for key, text in received.items())
            return received

    story = Story(query, target, Random(seed), Noting())
    story.tell(breaks=False)

    assert sent == target.given
    assert story.expected == target.documents


@pytest.mark.parametrize("seed", range(6))
def test_whatever_breaks_off_the_sink_ends_with_what_the_reference_holds(
    seed: int, query: Query, target: Target
) -> None:
    story = Story(query, target, Random(seed))

    story.tell(breaks=True)

    assert story.expected == target.documents
