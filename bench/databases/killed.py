"""A first reading under load that is killed over and over: `python -m bench.databases.killed`.

Two tables of PostgreSQL are filled with `--rows` rows. While `joinery run` reads them and keeps
documents in PostgreSQL, a writer inserts, changes, moves, re-keys, deletes and puts back rows, at
`--rate` a second; a second one holds transactions open for a while, and rolls every third back.
The run is killed `--kills` times at random moments, in turns with all of its processes, its command
alone, and its capture alone. Then the writers end, `joinery run --once` reads to the end, and all
documents are compared with a statement in SQL: none may differ, lack or stand without its row.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg

from bench.databases.postgres_source import Link, World, await_row, fill, open_world
from joinery.capture.spool import SpoolFolder

_TRANSACTION = 100
_SHARES = (
    # Every sixteenth purchase is the second writer's, so that none waits for the other.
    (40, "update purchase set amount = amount + 1 where id = any(%s) and id %% 16 <> 0"),
    (20, "update purchase set customer_id = abs(id * 7919 + customer_id) %% {customers} + 1"
         " where id = any(%s) and id %% 16 <> 0"),
    (10, "delete from purchase where id = any(%s) and id %% 16 <> 0"),
    (12, "insert into purchase select id, abs(id) %% {customers} + 1, 2"
         " from unnest(%s::bigint[]) as id where id %% 16 <> 0 on conflict do nothing"),
    (4, "update purchase set id = -id where id = any(%s) and id %% 16 <> 0"
        " and not exists (select 1 from purchase as other where other.id = -purchase.id)"),
)  # fmt: skip
_CUSTOMER_SHARES = (
    (8, "update customer set name = name || 'x' where id = any(%s) and length(name) < 20"),
    (3, "delete from customer where id = any(%s)"),
    (3, "insert into customer select id, 'back' from unnest(%s::bigint[]) as id"
        " on conflict do nothing"),
)  # fmt: skip
_HELD = "update purchase set amount = amount + 100 where id = any(%s) and id %% 16 = 0"
_COMPARED = """
with wanted as (
  select customer.id, customer.name, coalesce(jsonb_agg(
      jsonb_build_object('id', purchase.id, 'amount', purchase.amount) order by purchase.id
    ) filter (where purchase.id is not null), '[]') as purchases
  from customer left join purchase on purchase.customer_id = customer.id
  group by customer.id
)
select count(*),
  count(*) filter (where profile.id is null),
  count(*) filter (where wanted.id is null),
  count(*) filter (where profile.id is not null and wanted.id is not null and document is distinct
    from jsonb_build_object('id', wanted.id, 'name', wanted.name, 'purchases', wanted.purchases)),
  min(coalesce(wanted.id, profile.id)) filter (where wanted.id is null or profile.id is null
    or document is distinct from
    jsonb_build_object('id', wanted.id, 'name', wanted.name, 'purchases', wanted.purchases))
from wanted full join profile on profile.id = wanted.id
"""
_ALL, _COMMAND, _CAPTURE = "all processes", "the command", "the capture"


@dataclass(slots=True)
class Writers:
    """Two threads that change the tables until they are told to end.

    Attributes:
        address: The server's URL.
        rows: How many the tables had.
        rate: Changes a second.
        changes: How many were committed, by both.
        failed: Why one ended before it was told to.
    """

    address: str
    rows: int
    rate: float
    seed: int
    changes: int = 0
    failed: list[Exception] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write for the length of a block."""
        works = (self._change, self._hold)
        threads = [threading.Thread(target=self._kept, args=(each,)) for each in works]
        for each in threads:
            each.start()
        try:
            yield
        finally:
            self._ended.set()
            for each in threads:
                each.join()
        if self.failed:
            raise self.failed[0]

    def _kept(self, work: Callable[[Link, random.Random], None]) -> None:
        try:
            with closing(psycopg.connect(self.address)) as link:
                work(link, random.Random(f"{self.seed} {work.__name__}"))
        except Exception as error:  # a writer that has failed must not pass for an idle one
            self.failed.append(error)

    def _change(self, link: Link, draw: random.Random) -> None:
        customers = self.rows // 10
        shares = [(share, text.format(customers=customers)) for share, text in _SHARES]
        began_at = time.monotonic()
        while not self._ended.is_set():
            done = 0
            for share, text in (*shares, *_CUSTOMER_SHARES):
                last = customers if "customer where" in text or "customer set" in text else 0
                last = last or (customers if "into customer" in text else self.rows - customers)
                ids = sorted({draw.randint(1, last) for _ in range(share * _TRANSACTION // 100)})
                done += link.execute(text.encode(), (ids,)).rowcount
            link.commit()
            self.changes += done
            due = began_at + self.changes / self.rate
            self._ended.wait(max(0.0, due - time.monotonic()))

    def _hold(self, link: Link, draw: random.Random) -> None:
        while not self._ended.is_set():
            ids = [draw.randint(1, self.rows) // 16 * 16 for _ in range(_TRANSACTION)]
            done = link.execute(_HELD.encode(), (sorted({*ids}),)).rowcount
            self._ended.wait(draw.uniform(0.2, 3.0))
            if draw.random() < 1 / 3:
                link.rollback()
            else:
                link.commit()
                self.changes += done


def kill(run: subprocess.Popen[bytes], what: str) -> bool:
    """Kill a run, or part of it, without warning; return whether there was such a part."""
    command = psutil.Process(run.pid)
    processes = [command, *command.children(recursive=True)]
    if what == _COMMAND:
        processes = [command]
    if what == _CAPTURE:
        processes = [each for each in processes if _captures(each)]
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    return bool(processes)


def _captures(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return "dev.joinery.capture.Capture" in process.cmdline()
    return False


def stage(world: World) -> str:
    """Tell how far a run has come: whether it has its slot, and the tables."""
    spool = SpoolFolder(world.folder / ".joinery" / "spool" / "db")
    if spool.position is None:
        return "before the slot"
    known = spool.identity
    reads = spool.aside.exists() or known is None or known.joining or known.unread
    return "while the tables were read" if reads else "while changes were applied"


def suffer(world: World, chosen: argparse.Namespace) -> Counter[str]:
    """Run the project on and on, and kill it; return when and what was killed."""
    draw, killed = random.Random(chosen.seed), Counter[str]()
    while killed.total() < chosen.kills:
        with world.running() as run:
            while killed.total() < chosen.kills:
                _rest(run, world, draw.uniform(*chosen.apart))
                what = (_ALL, _COMMAND, _CAPTURE)[killed.total() % 3]
                when = stage(world)
                if not kill(run, what):
                    continue
                killed[f"{what}, {when}"] += 1
                sys.stderr.write(f"{killed.total()}: {what}, {when}\n")
                if what != _CAPTURE:
                    run.wait()
                    break
    return killed


def _rest(run: subprocess.Popen[bytes], world: World, seconds: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        code = run.wait(seconds)
        raise RuntimeError(f"a run ended with {code}: {world.said()[-3000:]}")


def main() -> int:
    """Kill, compare, and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m bench.databases.killed", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=5_000.0, help="changes a second")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--apart", type=float, nargs=2, default=(4.0, 16.0), metavar="S")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="where the output of the runs is left")
    chosen = parser.parse_args()
    with open_world() as world:
        fill(world.link, chosen.rows)
        writers = Writers(world.address, chosen.rows, chosen.rate, chosen.seed)
        began_at = time.monotonic()
        try:
            with writers.writing():
                killed = suffer(world, chosen)
            wrote_s = time.monotonic() - began_at
            with world.running("--once") as run:
                code = run.wait()
            if code:
                raise RuntimeError(f"the last run ended with {code}: {world.said()[-3000:]}")
            caught_up_s = time.monotonic() - began_at - wrote_s
            await_row(world.link, "select 1 from profile limit 1")
            row = world.link.execute(_COMPARED.encode()).fetchone()
        finally:
            if chosen.keep:
                chosen.keep.write_text(world.said())
    assert row is not None
    documents, lacking, back, differing, first = row
    for each, times in sorted(killed.items()):
        sys.stdout.write(f"killed {times} ×: {each}\n")
    sys.stdout.write(
        f"{chosen.rows:,} rows; {writers.changes:,} changes in {wrote_s:.0f} s,"
        f" {writers.changes / wrote_s:,.0f}/s; the last run {caught_up_s:.0f} s\n"
        f"{documents:,} documents: {lacking} lack, {back} are back, {differing} differ"
        f"{f', such as {first}' if first is not None else ''}; load {os.getloadavg()[0]:.0f}\n"
    )
    return 1 if lacking or back or differing else 0


if __name__ == "__main__":
    sys.exit(main())
