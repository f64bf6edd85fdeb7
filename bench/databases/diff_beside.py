"""`joinery diff` beside changes that go on: how long it takes, and whether it is right.

`python -m bench.databases.diff_beside [--documents 100000] [--purchases 9] [--rate 2000]
[--rounds 20]` has `joinery run` keep customers with their purchases, PostgreSQL to PostgreSQL, and
changes purchases, a hundred per transaction. In each round it spoils some documents in the sink,
altered, deleted, and one that is nobody's, and puts them right once all are compared. Those are of
customers whose rows rest, so just these must be found; of all others, which change all the time,
nothing may be called wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import Any, Self

import psycopg

from bench.databases.postgres_source import World, await_row, fill, open_world

_PLANTED = 30
_A_COMMIT = 100


class Changes(threading.Thread):
    """Changes purchases at a rate until the block ends, but for those of the resting customers.

    Args:
        address: The server's URL.
        customers: How many there are; the first tenth rest.
        rate: Changes per second.

    Attributes:
        made: How many so far.
    """

    def __init__(self, address: str, customers: int, rate: int) -> None:
        super().__init__(daemon=True)
        self._address, self._customers, self._rate = address, customers, rate
        self._random, self._over, self.made = random.Random(1), threading.Event(), 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        """Write, and wait where it is ahead of the rate."""
        began_at = time.monotonic()
        with closing(psycopg.connect(self._address, autocommit=True)) as link:
            while not self._over.is_set():
                self.made += self._commit(link)
                ahead_s = self.made / self._rate - (time.monotonic() - began_at)
                self._over.wait(max(0.0, ahead_s))

    def _commit(self, link: psycopg.Connection[tuple[Any, ...]]) -> int:
        """Change some purchases; return how many."""
        resting = self._customers // 10
        chosen = [
            self._random.randrange(resting + 1, self._customers + 1) for _ in range(_A_COMMIT)
        ]
        done = link.execute(
            "update purchase set amount = amount + 1 from (select min(p.id) as id from purchase p"
            " where p.customer_id = any(%s) group by p.customer_id) as t where purchase.id = t.id",
            (chosen,),
        )
        return done.rowcount


def _plant(world: World, customers: int, seed: int) -> set[tuple[int, str]]:
    """Spoil documents in the sink; return what must be found, by key."""
    chosen = random.Random(seed).sample(range(1, customers // 10), _PLANTED)
    altered, deleted = chosen[: _PLANTED // 2], chosen[_PLANTED // 2 :]
    extra = customers + 1_000_000 + seed
    world.link.execute(
        "create table spoiled as select * from profile where id = any(%s)", (chosen,)
    )
    world.link.execute(
        "update profile set document = jsonb_set(document, '{name}', '\"Eve\"') where id = any(%s)",
        (altered,),
    )
    world.link.execute("delete from profile where id = any(%s)", (deleted,))
    world.link.execute(
        "insert into profile select %s, document, version from profile where id = %s",
        (extra, customers),
    )
    return {
        *((each, "differs") for each in altered),
        *((each, "missing") for each in deleted),
        (extra, "extra"),
    }


def _put_right(world: World, customers: int) -> None:
    world.link.execute("delete from profile where id > %s", (customers,))
    world.link.execute("delete from profile where id in (select id from spoiled)")
    world.link.execute("insert into profile select * from spoiled")
    world.link.execute("drop table spoiled")


def _diff(world: World) -> dict[str, Any]:
    told = [sys.executable, "-m", "joinery.cli.main", "diff", "--json"]
    done = subprocess.run(told, cwd=world.folder, capture_output=True, check=False)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr.decode())
    [part] = json.loads(done.stdout)["products"]
    return dict(part)


def _await_whole(world: World, purchases: int) -> None:
    """Wait until the documents have all purchases: they may come with a part of them first."""
    whole = "select sum(jsonb_array_length(document -> 'purchases')) = %s from profile"
    while world.link.execute(whole.encode(), (purchases,)).fetchone() != (True,):
        time.sleep(1.0)


def _round(world: World, customers: int, seed: int) -> None:
    planted = _plant(world, customers, seed)
    began_at = time.monotonic()
    part = _diff(world)
    took_s = time.monotonic() - began_at
    _put_right(world, customers)
    found = {(each["key"]["id"], each["kind"]) for each in part["differences"]}
    sys.stdout.write(
        f"round {seed}: {part['compared']:,} documents in {took_s:.1f} s,"
        f" {part['looked_again']:,} looked at again, planted {len(planted)},"
        f" missed {len(planted - found)}, wrongly accused {len(found - planted)},"
        f" unsettled {len(part['unsettled'])}\n"
    )


def main() -> None:
    """Print what each round found."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.databases.diff_beside", description=__doc__
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--purchases", type=int, default=9, help="in each document")
    parser.add_argument("--rate", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=20)
    told = parser.parse_args()
    customers, purchases = told.documents, told.documents * told.purchases
    with open_world() as world:
        fill(world.link, customers + purchases, purchases=told.purchases)
        world.link.execute("create index on purchase (customer_id)")
        with world.running():
            await_row(world.link, "select 1 from profile having count(*) = %s", customers)
            _await_whole(world, purchases)
            with Changes(world.address, customers, told.rate) as changes:
                began_at = time.monotonic()
                for seed in range(told.rounds):
                    _round(world, customers, seed)
                rate = changes.made / (time.monotonic() - began_at)
    sys.stdout.write(f"{rate:,.0f} changes/s beside\n")


if __name__ == "__main__":
    main()
