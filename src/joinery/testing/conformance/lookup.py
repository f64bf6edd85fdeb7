"""The lookup suite: what every lookup store must do; each case has a table of its own."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from joinery.errors import JoineryError
from joinery.lookups.key_filter import KeyListingStore
from joinery.lookups.protocol import (
    Answer,
    Key,
    LookupStore,
    LookupTable,
    LookupUnavailableError,
    Unfit,
)
from joinery.lookups.whole import WholeStore
from joinery.model.type import Field, parse_type
from joinery.testing.conformance.suite import ConformanceError


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupTarget:
    """A lookup store that can be examined: how it is made, and how its rows are put there.

    Attributes:
        make: Returns the store of a table, not yet opened. Tables of different names share
            nothing.
        fill: Makes the table where it is not there, and puts rows: a map a row, from the
            columns of the key and of the row to Python values.
        remove: Removes the row of a key.
        outage: Within it, the store cannot be reached.
    """

    make: Callable[[LookupTable], LookupStore]
    fill: Callable[[LookupTable, Sequence[Mapping[str, Any]]], None]
    remove: Callable[[LookupTable, Key], None]
    outage: Callable[[], AbstractContextManager[object]] | None = None


@dataclass(frozen=True, slots=True)
class LookupOutcome:
    """What became of one case: it holds where both texts are empty."""

    sentence: str
    problem: str = ""
    left_out: str = ""


class BrokenLookupError(JoineryError):
    """A lookup store did not give what it must."""

    code = "TEST_LOOKUP"


class LookupBench:
    """One case's own table on a target."""

    def __init__(self, target: LookupTarget) -> None:
        self.target = target
        self.name = f"case_{uuid.uuid4().hex[:12]}"

    def table(self, key: str, columns: str) -> LookupTable:
        """Return the case's table with columns in Spark's words, the key's among the others."""
        return LookupTable(self.name, _fields(key), _fields(f"{key}, {columns}"))

    @contextmanager
    def opened(self, table: LookupTable) -> Iterator[LookupStore]:
        """Give a fresh store, opened, and close it at the end."""
        store = self.target.make(table)
        try:
            store.open()
            yield store
        finally:
            store.close()

    def fetch(self, table: LookupTable, keys: Sequence[Key]) -> dict[Key, Answer]:
        """Return what a fresh store gives, by as many requests as it takes."""
        with self.opened(table) as store:
            return fetch_all(store, keys)


@dataclass(frozen=True, slots=True)
class LookupCase:
    """One sentence that a lookup store must keep.

    Attributes:
        sentence: What must hold.
        act: Fills and fetches; raises `BrokenLookupError` where it does not hold.
        needs: The attribute of the target without which it cannot be run.
    """

    sentence: str
    act: Callable[[LookupBench], None]
    needs: str = ""

    def __str__(self) -> str:
        return self.sentence

    def run(self, target: LookupTarget) -> LookupOutcome:
        """Run the case on `target`."""
        if self.needs and getattr(target, self.needs) is None:
            return LookupOutcome(self.sentence, left_out=f'the target has no "{self.needs}"')
        try:
            self.act(LookupBench(target))
        except BrokenLookupError as error:
            return LookupOutcome(self.sentence, error.message)
        except JoineryError as error:
            return LookupOutcome(self.sentence, f"{error}: {error.detail}")
        except Exception as error:  # a store may raise anything; the others still run
            return LookupOutcome(self.sentence, f"{type(error).__name__}: {error}")
        return LookupOutcome(self.sentence)


def fetch_all(store: LookupStore, keys: Sequence[Key]) -> dict[Key, Answer]:
    """Return what an open store gives for any number of keys."""
    size = store.most_keys or max(1, len(keys))
    found: dict[Key, Answer] = {}
    for start in range(0, len(keys), size):
        found.update(store.fetch(keys[start : start + size]))
    return {key: answer for key, answer in found.items() if answer is not None}


def expect(expected: object, found: object) -> None:
    """Raise unless the two are equal."""
    if expected != found:
        raise BrokenLookupError(f"it gave {_shown(found)}, expected {_shown(expected)}")


def examine_lookup(
    target: LookupTarget, cases: Iterable[LookupCase] | None = None
) -> tuple[LookupOutcome, ...]:
    """Run the cases on a lookup store and return what became of each."""
    return tuple(each.run(target) for each in (lookup_cases() if cases is None else cases))


def check_lookup(target: LookupTarget, cases: Iterable[LookupCase] | None = None) -> None:
    """Run the cases on a lookup store and raise if one of them does not hold.

    Raises:
        ConformanceError: With every case that does not hold, and why.
    """
    failed = [each for each in examine_lookup(target, cases) if each.problem]
    if failed:
        told = "\n".join(f"{each.sentence}: {each.problem}" for each in failed)
        raise ConformanceError(f"{len(failed)} cases do not hold", detail=told)


def lookup_cases() -> tuple[LookupCase, ...]:
    """Return all cases of the lookup suite."""
    return CASES


def _fields(columns: str) -> tuple[Field, ...]:
    type: Any = parse_type(f"struct<{columns}>")
    return tuple(type.fields)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) < 600 else f"{text[:300]} … {text[-200:]}"


_HOSTILE = "naïve 😀 \"quoted\" 'single' back\\slash tab\tline\nbreak %s {id} $1 :x /?&#"
_HOSTILE_KEY: Key = (_HOSTILE, 1)
_MANY = 2_500
_OUTAGE_S = 60.0
_PERSON = ("id: bigint", "name: string")


def _found(bench: LookupBench) -> None:
    table = bench.table(*_PERSON)
    bench.target.fill(table, [{"id": 1, "name": "ada"}, {"id": -2, "name": "bob"}])

    answers = bench.fetch(table, [(1,), (-2,), (3,)])

    expect({(1,): (1, "ada"), (-2,): (-2, "bob")}, answers)


def _nothing_asked_of_an_empty_table(bench: LookupBench) -> None:
    table = bench.table(*_PERSON)
    bench.target.fill(table, [])

    expect({}, bench.fetch(table, [(1,)]))


def _several_columns(bench: LookupBench) -> None:
    table = bench.table("owner: string, number: int", "title: string")
    rows = [
        {"owner": "ada", "number": 1, "title": "a"},
        {"owner": "ada", "number": 2, "title": "b"},
        {"owner": "bob", "number": 1, "title": "c"},
    ]
    bench.target.fill(table, rows)

    answers = bench.fetch(table, [("ada", 2), ("bob", 1), ("bob", 2), ("a", 1)])

    expect({("ada", 2): ("ada", 2, "b"), ("bob", 1): ("bob", 1, "c")}, answers)


def _many(bench: LookupBench) -> None:
    table = bench.table(*_PERSON)
    bench.target.fill(table, [{"id": each, "name": f"n{each}"} for each in range(0, _MANY, 2)])

    answers = bench.fetch(table, [(each,) for each in range(_MANY)])

    expect({(each,): (each, f"n{each}") for each in range(0, _MANY, 2)}, answers)


def _texts(bench: LookupBench) -> None:
    table = bench.table("name: string", "text: string")
    bench.target.fill(table, [{"name": _HOSTILE, "text": _HOSTILE}, {"name": "x", "text": ""}])
    keys: list[Key] = [(_HOSTILE,), (_HOSTILE.upper(),), (_HOSTILE + " ",)]

    expect({(_HOSTILE,): (_HOSTILE, _HOSTILE)}, bench.fetch(table, keys))


def _nulls(bench: LookupBench) -> None:
    table = bench.table(*_PERSON)
    bench.target.fill(table, [{"id": 1, "name": None}])

    expect({(1,): (1, None)}, bench.fetch(table, [(1,)]))


def _types(bench: LookupBench) -> None:
    table = bench.table(
        "id: bigint",
        "flag: boolean, small: int, large: bigint, ratio: double, price: decimal(20,2),"
        " day: date, moment: timestamp, tags: array<string>",
    )
    row = {
        "id": 2**53 + 1,
        "flag": True,
        "small": -7,
        "large": 2**62 + 1,
        "ratio": 0.1,
        "price": Decimal("12345678901234567.80"),
        "day": date(2026, 2, 3),
        "moment": datetime(2026, 2, 3, 4, 5, 6, 7, tzinfo=UTC),
        "tags": ["a", "é"],
    }
    bench.target.fill(table, [row])

    expect({(2**53 + 1,): tuple(row.values())}, bench.fetch(table, [(2**53 + 1,)]))


def _other_type(bench: LookupBench) -> None:
    declared = bench.table("id: bigint", "age: bigint")
    standing = bench.table("id: bigint", "age: string")
    bench.target.fill(standing, [{"id": 1, "age": "thirty"}])

    (answer,) = bench.fetch(declared, [(1,)]).values()

    if not isinstance(answer, Unfit) or "age" not in answer.detail:
        raise BrokenLookupError(f'it gave {answer!r}, expected an Unfit that names "age"')


def _changes(bench: LookupBench) -> None:
    table = bench.table(*_PERSON)
    bench.target.fill(table, [{"id": 1, "name": "ada"}, {"id": 2, "name": "bob"}])
    with bench.opened(table) as store:
        fetch_all(store, [(1,), (2,)])
        bench.target.fill(table, [{"id": 1, "name": "ada lovelace"}, {"id": 3, "name": "cyd"}])
        bench.target.remove(table, (2,))

        answers = fetch_all(store, [(1,), (2,), (3,)])

    expect({(1,): (1, "ada lovelace"), (3,): (3, "cyd")}, answers)


def _threads(bench: LookupBench) -> None:
    table = bench.table(*_PERSON)
    bench.target.fill(table, [{"id": each, "name": f"n{each}"} for each in range(400)])
    shares: list[list[Key]] = [[(each,) for each in range(at, 400, 8)] for at in range(8)]
    with bench.opened(table) as store, ThreadPoolExecutor(8) as threads:
        given = list(threads.map(lambda share: fetch_all(store, share), shares * 4))

    expect([{key: (*key, f"n{key[0]}") for key in share} for share in shares * 4], given)


def _whole(bench: LookupBench) -> None:
    table = bench.table("owner: string, number: int", "title: string")
    rows = [
        {"owner": owner, "number": number, "title": title}
        for owner, number, title in [(_HOSTILE, 1, "a"), ("ada", -2, None), ("bob", 1, _HOSTILE)]
    ]
    bench.target.fill(table, rows)
    bench.target.fill(table, [{"owner": "bob", "number": 1, "title": "c"}])
    bench.target.remove(table, ("ada", -2))
    keys: list[Key] = [_HOSTILE_KEY, ("ada", -2), ("bob", 1)]
    with bench.opened(table) as store:
        if isinstance(store, WholeStore):
            expect(fetch_all(store, keys), dict(store.fetch_whole(2) or {}))
            if store.fetch_whole(1) is not None:
                raise BrokenLookupError("it gave its whole table, which has more rows than asked")
        if isinstance(store, KeyListingStore):
            expect({_HOSTILE_KEY, ("bob", 1)}, set(store.fetch_keys(2) or ()))
            if store.fetch_keys(1) is not None:
                raise BrokenLookupError("it listed its keys, which are more than asked")


def _reopened(bench: LookupBench) -> None:
    table = bench.table(*_PERSON)
    bench.target.fill(table, [{"id": 1, "name": "ada"}])
    store = bench.target.make(table)
    store.open()
    fetch_all(store, [(1,)])
    store.close()
    store.close()
    store.open()

    answers = fetch_all(store, [(1,)])

    store.close()
    expect({(1,): (1, "ada")}, answers)


def _outage(bench: LookupBench) -> None:
    table = bench.table(*_PERSON)
    bench.target.fill(table, [{"id": 1, "name": "ada"}])
    assert bench.target.outage is not None  # the case needs it
    with bench.opened(table) as store:
        fetch_all(store, [(1,)])
        with bench.target.outage():
            try:
                answers = fetch_all(store, [(1,)])
            except LookupUnavailableError:
                pass
            else:
                raise BrokenLookupError(f"it gave {answers!r} while it could not be reached")

        expect({(1,): (1, "ada")}, _patiently(store, [(1,)]))


def _patiently(store: LookupStore, keys: Sequence[Key]) -> dict[Key, Answer]:
    until = time.monotonic() + _OUTAGE_S
    while True:
        try:
            return fetch_all(store, keys)
        except LookupUnavailableError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


CASES = (
    LookupCase("keys give their rows, and those without one are left out", _found),
    LookupCase("an empty table has no row", _nothing_asked_of_an_empty_table),
    LookupCase("a key may have several columns", _several_columns),
    LookupCase("thousands of keys give each its own row", _many),
    LookupCase("texts come as they are, in keys and in rows", _texts),
    LookupCase("a null is a null", _nulls),
    LookupCase("values of every type come as they were declared", _types),
    LookupCase("a value of another type is told, not given", _other_type),
    LookupCase("a changed, a new and a removed row are seen at once", _changes),
    LookupCase("several threads get each their own rows", _threads),
    LookupCase("a table or its keys at once are what its keys give, where a store can", _whole),
    LookupCase("a store may be closed twice and opened again", _reopened),
    LookupCase("an outage asks for patience, and ends", _outage, needs="outage"),
)
