"""Random logs of a table and of events, and random cuts of both into batches."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import replace
from random import Random

from joinery.testing.changes import RowChange, delete, insert, update

Log = list[RowChange]
KEYS = ("a", "b", "c")
_NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
_MINUTES = 60


def at(minute: int) -> str:
    """Return an instant, `minute` minutes after noon."""
    return (_NOON + dt.timedelta(minutes=minute)).isoformat()


def versions(random: Random, delay: int, relation: str = "prices") -> Log:
    """Return versions of prices, each at most `delay` minutes behind the newest before it.

    The last one is past every event, so that no event waits forever.
    """
    newest, log = 0, Log()
    for number in range(random.randrange(1, 25)):
        newest = max(newest, random.randrange(_MINUTES))
        minute = max(0, newest - random.randrange(delay + 1))
        log.append(insert(relation, sku=random.choice(KEYS), price=number, since=at(minute)))
    end = at(3 * _MINUTES)
    return [*log, insert(relation, sku="z", price=0, since=end)]


def orders(random: Random, relation: str = "orders", first: int = 0) -> Log:
    """Return orders with times and keys of all kinds, also null keys; ids from `first` on."""
    minutes = random.choices(range(_MINUTES), k=random.randrange(1, 20))
    return [
        insert(relation, id=number, sku=random.choice((*KEYS, "d", None)), at=at(minute))
        for number, minute in enumerate(minutes, first)
    ]


def rows(random: Random) -> Log:
    """Return inserts, updates and deletes of products."""
    log = Log()
    for number in range(random.randrange(1, 20)):
        sku = random.choice(KEYS)
        whole = insert("products", sku=sku, price=number, title=random.choice("xyz"))
        part = update("products", sku=sku, price=random.randrange(3))
        log.append(random.choice((whole, whole, part, delete("products", sku=sku))))
    return log


def cut(random: Random, *logs: Log) -> list[Log]:
    """Return the logs as batches, the first not empty: each keeps its order, the mix is random."""
    left, mixed = [list(each) for each in logs], Log()
    while any(left):
        mixed.append(random.choice([each for each in left if each]).pop(0))
    batches: list[Log] = [[]]
    for each in mixed:
        if batches[0] and random.random() < 0.3:
            batches.append([])
        batches[-1].append(each)
    return batches


def told_again(random: Random, batches: list[Log], relations: Collection[str]) -> list[Log]:
    """Return the batches with some events told again in the same or a later one.

    Most of them have other columns; one may come several times in a batch.
    """
    told: list[RowChange] = []
    out: list[Log] = []
    for each in batches:
        told += [one for one in each if one.relation in relations]
        again = random.choices(told, k=random.randrange(4)) if told else []
        out.append([*each, *(_otherwise(random, one) for one in again)])
    return out


def _otherwise(random: Random, event: RowChange) -> RowChange:
    changed: dict[str, object] = {"sku": random.choice((*KEYS, "d", None))}
    if random.random() < 0.3:
        changed["at"] = random.choice((at(random.randrange(_MINUTES)), None))
    return replace(event, columns={**event.columns, **changed})
