"""The test kit of store-backed solutions: any of them without Spark, restarted, replayed, crashed.

    runner = StoreRunner(lambda products, break_: StoreDriver(products, break_(MyState(place))))
    conformance.check(runner)

Invariant: a batch that runs again, whatever call it ended at, must send what it would have
sent undisturbed.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeVar, cast

from joinery.errors import JoineryError
from joinery.model.change import Change, Key
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.semantics.document import text_hash
from joinery.solutions.protocol import Sent
from joinery.solutions.stored.groups import key_text
from joinery.solutions.stored.state import Batch, BatchResult, Emitted, Forwarding, StoreSolution
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import BATCH_US

T = TypeVar("T")
Break = Callable[[T], T]
"""Wraps an object so that a crash may come between its calls."""

Opener = Callable[[Sequence[Product], Break[Any]], StoreSolution]
"""Opens a solution over the place it was opened on before; the first time that is empty."""


class CrashError(Exception):
    """The crash that a test asked for."""


class ReplayDiffersError(JoineryError):
    """A batch that ran again did not send what it sent the first time."""

    code = "TEST_STORE_REPLAY"


@dataclass(slots=True)
class CrashCounter:
    """Counts the calls of wrapped objects, and raises `CrashError` after so many of them."""

    left: int | None = None
    calls: int = 0

    def wrap(self, target: T) -> T:
        """Return an object whose public methods are those of `target`, and may crash."""
        return cast("T", _Wrapped(self, target))  # it forwards what a T can do

    def arm(self, left: int | None) -> None:
        """Let the next crash come after `left` calls; None lets none come."""
        self.left, self.calls = left, 0

    def count(self) -> None:
        """Count one call, and crash if it was the last."""
        self.calls += 1
        if self.left is not None and self.calls >= self.left:
            self.left = None
            raise CrashError


class _Wrapped(Forwarding):
    def __init__(self, breaker: CrashCounter, target: object) -> None:
        super().__init__(target)
        self._breaker = breaker

    # For isinstance, which Python lets an object answer so; a type checker does not.
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """That of the target, so that it has the capabilities that the target has."""
        return type(self._target)

    def _after(self, name: str, args: tuple[Any, ...], result: object) -> None:
        self._breaker.count()


@dataclass(slots=True)
class StoreRunner:
    """Runs projects on a store-backed solution, for the conformance suite and the oracle.

    The solution is opened again for each batch, as after a restart.

    Attributes:
        open: Opens the solution; the place must be empty before `run`.
        replay: Run each batch again after it was acknowledged.
        crashes: At how many random calls a batch ends before it runs through; -1 means at
            each call, one after the other.
        seed: Of the random calls.
        counts: Whether documents are made of rows; a database that makes them counts nothing.
    """

    open: Opener
    replay: bool = False
    crashes: int = 0
    seed: int = 0
    counts: bool = True
    crashed: int = field(default=0, init=False)
    _breaker: CrashCounter = field(default_factory=CrashCounter, init=False)

    def run(self, project: ProjectSpec, batches: Sequence[Sequence[Change]]) -> list[Sent]:
        """Run `project` from nothing, one batch after the other.

        Raises:
            ReplayDiffersError: A batch that ran again sent something else.
        """
        products = build_plan(project).products
        batches = placed(batches)
        random = Random(f"crashes {self.seed}")
        sent: list[Sent] = []
        for number, changes in enumerate(batches):
            batch = Batch("query", number, 1, (number + 1) * BATCH_US)
            self._crash(products, changes, batch, random)
            outcome = self.apply(products, changes, batch)
            each = sent_of(outcome.emitted, products)
            told = self.counts and not self.crashes
            sent.append(replace(each, found=_found(outcome)) if told else each)
            if self.replay:
                again = sent_of(self.apply(products, changes, batch).emitted, products)
                _compare(sent[-1], again, number)
        return sent

    def apply(
        self, products: Sequence[Product], changes: Sequence[Change], batch: Batch
    ) -> BatchResult:
        """Open the solution, apply one batch, and close it."""
        solution = self.open(products, self._breaker.wrap)
        try:
            return solution.apply(changes, batch)
        finally:
            solution.close()

    def _crash(
        self,
        products: Sequence[Product],
        changes: Sequence[Change],
        batch: Batch,
        random: Random,
    ) -> None:
        """Run a batch until a call, then until another; each try finds what the last left."""
        at, tries = 0, 0
        while tries != self.crashes:
            at = at + 1 if self.crashes < 0 else random.randint(1, max(1, self._breaker.calls, 12))
            tries += 1
            self._breaker.arm(at)
            try:
                self.apply(products, changes, batch)
            except CrashError:
                self.crashed += 1
                continue
            finally:
                self._breaker.left = None
            return


def _found(outcome: BatchResult) -> dict[str, Mapping[str, int]]:
    """Return what a batch counted by relation and by product."""
    found: dict[str, Mapping[str, int]] = dict(outcome.relations)
    for name, counts in outcome.counters.items():
        found[name] = Counter(found.get(name, {})) + Counter(counts)
    return found


def placed(batches: Sequence[Sequence[Change]]) -> list[list[Change]]:
    """Return the changes with their places in one log."""
    places = itertools.count()
    return [[replace(each, place=(0, next(places))) for each in batch] for batch in batches]


def check_late_record(open_: Opener) -> None:
    """Examine that a store remembers places: a record that is put back replaces nothing newer.

    Raises:
        ReplayDiffersError: It did.
    """
    runner = StoreRunner(open_)
    products = build_plan(load_text(_LATE)).products
    told = [("old", 1), ("new", 5), ("old", 3), ("new", 5)]
    sent = [
        runner.apply(
            products,
            [Change("thing", {"id": 1}, {"name": name}, place=(0, at))],
            Batch("query", number, 1, (number + 1) * BATCH_US),
        )
        .emitted["things"]
        .documents
        for number, (name, at) in enumerate(told)
    ]
    if [1, 1, 0, 0] != [len(each) for each in sent]:
        raise ReplayDiffersError("a record that was put back replaced a newer one")


_LATE = """
relations:
  thing: {key: [id], fields: {id: long, name: string}}
products:
  things: {root: thing}
"""


def check_replaced(open_: Opener) -> None:
    """Examine that of a product that settles it is told what its documents replace.

    Raises:
        ReplayDiffersError: It was not, or something else was told.
    """
    runner = StoreRunner(open_)
    products = build_plan(load_text(_SETTLING)).products
    rows = [{"name": "old"}, {"name": "new"}, {"name": "old"}, None, {"name": "new"}]
    held: str | None = None
    for number, row in enumerate(rows):
        change = Change("thing", {"id": 1}, row, place=(0, number))
        batch = Batch("query", number, 1, (number + 1) * BATCH_US)
        emitted = runner.apply(products, [change], batch).emitted["things"]
        [(key, sent)] = emitted.documents.items()
        if emitted.before.get(key) != text_hash(held):
            raise ReplayDiffersError(f"batch {number + 1} told something else to be replaced")
        held = sent.text


_SETTLING = f"{_LATE.rstrip()[:-1]}, emit: {{settle: 1s}}}}\n"


def sent_of(emitted: Mapping[str, Emitted], products: Sequence[Product]) -> Sent:
    """Return what a batch sent, as the files sink and the dead letters hold it."""
    lines: dict[str, list[str]] = {}
    dead: dict[str, list[str]] = {}
    for product in products:
        each = emitted.get(product.name, Emitted())
        if each.documents:
            lines[product.name] = [
                f'{{"key":{_key(product, key)},"value":{sent.text or "null"},'
                f'"version":{sent.version}}}'
                for key, sent in each.documents.items()
            ]
        if each.dead:
            dead[product.name] = [_key(product, key) for key in each.dead]
    return Sent(lines, dead)


def _key(product: Product, key: Key) -> str:
    return key_text(product)(key)


def _compare(first: Sent, again: Sent, number: int) -> None:
    if _sorted(first) != _sorted(again):
        raise ReplayDiffersError(
            f"batch {number + 1} sent something else when it ran again",
            detail=f"First {_sorted(first)}, then {_sorted(again)}.",
        )


def _sorted(sent: Sent) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    return (
        {name: sorted(lines) for name, lines in sent.lines.items() if lines},
        {name: sorted(keys) for name, keys in sent.dead.items() if keys},
    )
