"""The lookup suite: what every lookup store must do."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from joinery.errors import JoineryError
from joinery.lookups.protocol import Answer, Key, LookupStore, LookupTable
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
    from joinery.testing.conformance.lookup_suite import CASES

    return CASES


def _fields(columns: str) -> tuple[Field, ...]:
    type: Any = parse_type(f"struct<{columns}>")
    return tuple(type.fields)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) < 600 else f"{text[:300]} … {text[-200:]}"
