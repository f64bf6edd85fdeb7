"""Two sides of a comparison that show one state after the other, and a run between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from joinery.audit.found import Found
from joinery.audit.protocol import Shown
from joinery.model.change import Key
from joinery.model.type import LONG, Field
from joinery.plan.relation import Relation
from joinery.sinks.reader import Held

ITEM = Relation("item", "db", "public.item", "debezium-json", ("id",), (Field("id", LONG),))
Rows = Mapping[int, str | None]


class Database:
    """A database that shows one state after the other, one a snapshot."""

    def __init__(self, *states: Rows, quiet: bool = True, shows: bool = True) -> None:
        self._states, self._quiet, self._shows = list(states), quiet, shows
        self.taken = 0

    def roots(self, after: Key | None, most: int) -> Sequence[Key]:
        keys = sorted((each,) for each in self._now)
        return [each for each in keys if after is None or each > after][:most]

    def present(self, keys: Sequence[Key]) -> Collection[Key]:
        return {each for each in keys if each[0] in self._now}

    def documents(
        self, keys: Sequence[Key], *, at_least: int = 0, noting: bool = True
    ) -> Shown | None:
        if at_least and not self._shows:
            return None
        now, self.taken = self._now, self.taken + 1
        versions = frozenset() if self._quiet else frozenset([self.taken])
        return Shown(self.taken, {each: now.get(each[0]) for each in keys}, {}, versions)

    @property
    def _now(self) -> Rows:
        return self._states[min(self.taken, len(self._states) - 1)]


class Target:
    """A sink that holds one state after the other, one a look."""

    target = "a target"

    def __init__(self, *states: Rows, versions: bool = False) -> None:
        self._states, self._looks, self._versions = list(states), 0, versions

    def keys(self) -> Iterator[str]:
        yield from (f'{{"id":{each}}}' for each, text in self._now.items() if text is not None)

    def read(self, keys: Sequence[str]) -> Mapping[str, Held]:
        now, self._looks = self._now, self._looks + 1
        version = self._looks if self._versions else 1
        told = {f'{{"id":{each}}}': text for each, text in now.items()}
        return {k: Held(str(told[k]), version) for k in keys if told.get(k) is not None}

    def close(self) -> None:
        pass

    @property
    def _now(self) -> Rows:
        return self._states[min(self._looks, len(self._states) - 1)]


class Run:
    """A run that has applied all at once, or nothing in time."""

    def __init__(self, *, in_time: bool = True, took: Callable[[], None] = lambda: None) -> None:
        self._in_time, self._took = in_time, took
        self.asked = 0

    def reach(self, place: int) -> bool:
        self.asked += 1
        self._took()
        return self._in_time

    def heard(self) -> int:
        return 1


def wrong(found: Found) -> list[tuple[str, str]]:
    return [(each.key, each.kind) for each in found.differences]
