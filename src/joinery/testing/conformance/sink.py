"""The sink suite: what every sink must do, held to the guarantee that it declares.

Invariant: a case that a sink's guarantee names as a gap must fail; if it holds, the
guarantee promises too little, which is a problem too.
"""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from joinery.errors import JoineryError
from joinery.model.type import Struct, parse_type
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import Promise, Sink, StagedBatch, Written


def _struct(fields: str) -> Struct:
    type = parse_type(f"struct<{fields}>")
    assert isinstance(type, Struct)  # as it is written
    return type


KEY = _struct("owner: string, number: bigint")
VALUE = _struct(
    "owner: string, number: bigint, title: string, amount: decimal(20,2), done: boolean,"
    " opened_at: timestamp, tags: array<struct<name: string, weight: double>>"
)
_EPOCH_US = 1_750_000_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTarget:
    """A sink that can be examined: how it is made, and how its target is read.

    Attributes:
        make: Returns a sink of the named product, not yet opened. Sinks of one product
            share a target; those of different products share nothing.
        read: Returns all that the target holds of a product: the current documents, or
            for a sink that keeps a log every emission that a careful reader sees.
        outage: Within it, the target cannot be reached.
        refused: Returns a document that the target refuses for itself, given a key number
            and a version.
    """

    make: Callable[[str], Sink]
    read: Callable[[str], Iterable[StagedRow]]
    outage: Callable[[], AbstractContextManager[object]] | None = None
    refused: Callable[[int, int], StagedRow] | None = None


@dataclass(frozen=True, slots=True)
class SinkOutcome:
    """What became of one case: it holds where both texts are empty.

    Attributes:
        sentence: The case.
        problem: Why it does not hold, or why the sink's guarantee is wrong.
        left_out: Why it was not run, or which gap the guarantee names.
    """

    sentence: str
    problem: str = ""
    left_out: str = ""


class BrokenError(JoineryError):
    """A sink did not leave what it must."""

    code = "TEST_SINK"


class SinkBench:
    """One case's own product on a target, with what cases need to write and read."""

    def __init__(self, target: SinkTarget, folder: Path) -> None:
        self.target = target
        self.product = f"case_{uuid.uuid4().hex[:12]}"
        self._folder = folder
        self._staged = 0

    def stage(self, *rows: StagedRow, batch_id: int = 0, **parts: Any) -> StagedBatch:
        """Return a batch of `rows`; `parts` are `epoch`, `check`, `forget_before`."""
        self._staged += 1
        file = self._folder / f"part-{self._staged:05d}.jsonl"
        lines = (
            f'{{"key":{row.key},"value":{row.value or "null"},"version":{row.version}}}\n'
            for row in rows
        )
        file.write_text("".join(lines), encoding="utf-8", newline="\n")
        return StagedBatch(
            product=self.product,
            query=self.product,
            query_id=f"query-{self.product}",
            batch_id=batch_id,
            files=(file,),
            key=KEY,
            value=VALUE,
            **{"epoch": 1, **parts},
        )

    @contextmanager
    def opened(self) -> Iterator[Sink]:
        """Give a fresh sink, opened, and close it at the end."""
        sink = self.target.make(self.product)
        try:
            sink.open()
            yield sink
        finally:
            sink.close()

    def write(self, *rows: StagedRow, batch_id: int = 0, **parts: Any) -> Written:
        """Write `rows` as a batch by a fresh sink."""
        with self.opened() as sink:
            return sink.write(self.stage(*rows, batch_id=batch_id, **parts))

    def held(self) -> dict[str, tuple[Any, int]]:
        """Return the documents that a reader takes from the target, with their versions."""
        newest: dict[str, StagedRow] = {}
        for row in self.target.read(self.product):
            key = _canonical(row.key)
            if key not in newest or newest[key].version < row.version:
                newest[key] = row
        return {
            key: (_parse(row.value), row.version)
            for key, row in newest.items()
            if row.value is not None
        }

    def expect(self, *rows: StagedRow) -> None:
        """Raise unless the target holds exactly `rows`."""
        expected = {
            _canonical(row.key): (_parse(row.value), row.version) for row in rows if row.value
        }
        found = self.held()
        if found != expected:
            raise BrokenError(_difference(expected, found))


@dataclass(frozen=True, slots=True)
class SinkCase:
    """One sentence that a sink must keep.

    Attributes:
        sentence: What must hold.
        act: Writes and expects; raises `BrokenError` where it does not hold.
        promise: What of the guarantee it rests on; None for what no sink may lack.
        needs: The attribute of the target without which it cannot be run.
    """

    sentence: str
    act: Callable[[SinkBench], None]
    promise: Promise | None = None
    needs: str = ""

    def __str__(self) -> str:
        return self.sentence

    def run(self, target: SinkTarget) -> SinkOutcome:
        """Run the case on `target`."""
        if self.needs and getattr(target, self.needs) is None:
            return SinkOutcome(self.sentence, left_out=f'the target has no "{self.needs}"')
        with tempfile.TemporaryDirectory(prefix="joinery-sink-") as folder:
            problem = self._problem(SinkBench(target, Path(folder)))
        gaps = target.make("guarantee").guarantee.gaps
        if self.promise is None or self.promise not in gaps:
            return SinkOutcome(self.sentence, problem)
        reason = f"{self.promise}: {gaps[self.promise]}"
        # Whether a reader comes between two documents of a batch is chance.
        if problem or self.promise is Promise.ATOMIC:
            return SinkOutcome(self.sentence, left_out=reason)
        return SinkOutcome(self.sentence, f'it holds, though the guarantee says "{reason}"')

    def _problem(self, bench: SinkBench) -> str:
        try:
            self.act(bench)
        except BrokenError as error:
            return error.message
        except JoineryError as error:
            return f"{error}: {error.detail}"
        except Exception as error:  # a sink may raise anything; the others still run
            return f"{type(error).__name__}: {error}"
        return ""


def document(number: int, title: str = "a title", *, version: int, **other: Any) -> StagedRow:
    """Return the document of ann's `number`, at a version counted from a fixed time."""
    fields: Mapping[str, Any] = {
        "owner": "ann",
        "number": number,
        "title": title,
        "amount": None,
        "done": False,
        "opened_at": "2026-02-03T04:05:06.000007Z",
        "tags": [],
        **other,
    }
    return StagedRow(_key(number), _text(fields), _EPOCH_US + version)


def deleted(number: int, *, version: int) -> StagedRow:
    """Return the tombstone of ann's `number`, at a version counted from a fixed time."""
    return StagedRow(_key(number), None, _EPOCH_US + version)


def at_version(version: int) -> int:
    """Return the version that `document` and `deleted` give for `version`."""
    return _EPOCH_US + version


def _key(number: int) -> str:
    return _text({"owner": "ann", "number": number})


def _text(value: Any) -> str:
    """Return JSON as the kernel writes it; a `Decimal` keeps its scale."""
    if isinstance(value, Mapping):
        parts = (f"{json.dumps(name)}:{_text(each)}" for name, each in value.items())
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def _parse(text: str | None) -> Any:
    return None if text is None else json.loads(text, parse_float=Decimal)


def _canonical(key: str) -> str:
    return json.dumps(json.loads(key), sort_keys=True)


def _difference(expected: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    for key, wanted in expected.items():
        if key not in found:
            return f"{key} is not there"
        if found[key] != wanted:
            return f"{key} is {_shown(found[key])}, expected {_shown(wanted)}"
    return f"{next(key for key in found if key not in expected)} is there, and must not be"


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) < 600 else f"{text[:300]} … {text[-200:]}"
