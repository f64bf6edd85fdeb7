"""Random changes of a project's relations, in tiny domains, and random cuts into batches."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.oracle.names import VALUES

from joinery.model.change import Change
from joinery.model.type import DataType
from joinery.plan.product import Plan
from joinery.plan.relation import Relation
from joinery.semantics.read_change import typed


def make_history(seed: int, plan: Plan, *, plain: bool = False) -> list[Change]:
    """Return changes in log order; plain ones are positioned, whole, without tombstones.

    Rows of an append relation come again only as they were; deletes of them are ignored.
    """
    random = Random(f"history {seed} {plain}")
    relations = list(dict.fromkeys(r for p in plan.products for r in p.relations))
    writers = [Writer(random, relation, plain=plain) for relation in relations]
    changes: list[Change] = []
    for _ in range(random.choice((20, 40, 80))):
        changes += random.choice(writers).write()
    return changes


def cut(seed: object, changes: Sequence[Change], batches: int) -> list[list[Change]]:
    """Cut `changes` into so many batches, some of them empty."""
    random = Random(f"cut {seed}")
    places = sorted(random.randint(0, len(changes)) for _ in range(batches - 1))
    bounds = [0, *places, len(changes)]
    return [list(changes[a:b]) for a, b in itertools.pairwise(bounds)]


class Writer:
    """Writes the log of one relation."""

    def __init__(
        self,
        random: Random,
        relation: Relation,
        *,
        plain: bool,
        keys: int | None = None,
        padding: int = 0,
    ) -> None:
        self._random, self._relation, self._plain = random, relation, plain
        self._keys, self._padding = keys, "x" * padding
        self._positioned = plain or random.random() < 0.7
        self._position = 100
        self._written: list[Change] = []
        self._inserted: dict[tuple[Any, ...], Change] = {}

    def write(self) -> list[Change]:
        """Return the next few changes."""
        key = self._key()
        if self._relation.append:
            return [self._logged(key)]
        kind = self._random.random()
        if kind < 0.55 or (self._plain and kind < 0.8):
            told = [self._upsert(key)]
        elif self._plain:
            told = [self._delete(key)]
        elif kind < 0.70:
            told = [self._partial(key)]
        elif kind < 0.80:
            told = [self._delete(key)]
        elif kind < 0.86:
            told = [self._delete(key), self._tombstone(key)]
        elif kind < 0.89:
            told = [self._tombstone(key)]
        elif kind < 0.94:
            told = [self._random.choice(self._written)] if self._written else []
        else:
            told = [self._upsert(key), self._upsert(key), self._partial(key)]
        self._written += told
        return told

    def _upsert(self, key: dict[str, Any]) -> Change:
        after = {each.name: self._value(each.name, each.type) for each in self._relation.columns}
        return Change(self._relation.name, key, {**after, **key}, self._place())

    def _logged(self, key: dict[str, Any]) -> Change:
        if self._random.random() < 0.1:
            return self._delete(key)
        known = tuple(key.values())
        if known not in self._inserted:
            self._inserted[known] = self._upsert(key)
        return self._inserted[known]

    def _partial(self, key: dict[str, Any]) -> Change:
        whole = self._upsert(key)
        assert whole.after is not None
        kept = {n: v for n, v in whole.after.items() if n in key or self._random.random() < 0.5}
        return Change(whole.relation, key, kept, whole.position)

    def _delete(self, key: dict[str, Any]) -> Change:
        return Change(self._relation.name, key, None, self._place())

    def _tombstone(self, key: dict[str, Any]) -> Change:
        return Change(self._relation.name, key, None, None, tombstone=True)

    def _place(self) -> int | None:
        """Return the next position, now and then a stale one, the last again, or none."""
        chance = self._random.random()
        if not self._positioned or (chance < 0.04 and not self._plain):
            return None
        if chance < 0.12:
            return max(1, self._position - self._random.randint(1, 10))
        if chance < 0.16:
            return self._position
        self._position += 1
        return self._position

    def _key(self) -> dict[str, Any]:
        types = {column: self._relation.type_of(column) for column in self._relation.key}
        if self._keys is None:
            return {column: self._some(type_) for column, type_ in types.items()}
        number = self._random.randrange(self._keys)
        return {c: str(number) if str(t) == "string" else number for c, t in types.items()}

    def _value(self, name: str, type_: DataType) -> Any:
        if self._random.random() < 0.15:
            return None
        value = self._some(type_)
        return value + self._padding if name.startswith("c") and isinstance(value, str) else value

    def _some(self, type_: DataType) -> Any:
        return typed(self._random.choice(VALUES[str(type_)]), type_)
