"""The balances of accounts by the package `eventsourcing`, its events in PostgreSQL.

Runs in the environment of `requirements-eventsourcing.txt`. The events are put in order and each
once, which the package takes for granted, and are written a thousand a transaction before the
clock starts. Then the accounts are read: `aggregates` asks its repository for each, which folds the
account's events, in two processes; `view` lets its projection runner follow all events from the
first and keep the balances in a table, an event a transaction, as it does.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.dispatch import singledispatchmethod
from eventsourcing.domain import Aggregate, event
from eventsourcing.persistence import Tracking
from eventsourcing.postgres import PostgresTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

PROCESSES, TRANSACTION, LIMIT_S = 2, 1_000, 3_600.0
State = tuple[int, int, int]


class Account(Aggregate):
    """An account, by its events."""

    @event("Opened")
    def __init__(self, account: int, amount: int) -> None:
        self.account, self.balance, self.last = account, amount, amount

    @staticmethod
    def create_id(account: int) -> UUID:
        return UUID(int=account + 1)

    @event("Deposited")
    def deposit(self, amount: int) -> None:
        self.balance, self.last = self.balance + amount, amount

    @event("Withdrawn")
    def withdraw(self, amount: int) -> None:
        self.balance, self.last = self.balance + amount, amount


class Accounts(Application[UUID]):
    """The log of all accounts."""


class Balances(PostgresTrackingRecorder):
    """The balances as a table, changed in one transaction with how far the log was followed."""

    def __init__(self, datastore: Any, **kwargs: Any) -> None:
        super().__init__(datastore, **kwargs)
        table = Identifier(self.datastore.schema), Identifier("balances")
        self.sql_create_statements.append(
            SQL(
                "CREATE TABLE IF NOT EXISTS {}.{}"
                " (id uuid PRIMARY KEY, account bigint, balance bigint, last bigint)"
            ).format(*table)
        )
        self._opened = SQL("INSERT INTO {}.{} VALUES (%s, %s, %s, %s)").format(*table)
        self._changed = SQL("UPDATE {}.{} SET balance = balance + %s, last = %s WHERE id = %s")
        self._changed = self._changed.format(*table)
        self._all = SQL("SELECT account, balance, last FROM {}.{}").format(*table)

    def open(self, id: UUID, account: int, amount: int, tracking: Tracking) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute(self._opened, (id, account, amount, amount), prepare=True)

    def change(self, id: UUID, amount: int, tracking: Tracking) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute(self._changed, (amount, amount, id), prepare=True)

    def states(self) -> Iterator[State]:
        with self.datastore.transaction(commit=False) as cursor:
            cursor.execute(self._all)
            for row in cursor.fetchall():
                yield row["account"], row["balance"], row["last"]


class Following(Projection[Balances]):
    """Keeps the balances."""

    name = "following"

    @singledispatchmethod
    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        raise TypeError(type(domain_event).__name__)

    @process_event.register
    def _(self, domain_event: Account.Opened, tracking: Tracking) -> None:
        told = domain_event
        self.view.open(told.originator_id, told.account, told.amount, tracking)

    @process_event.register
    def _(self, domain_event: Account.Deposited, tracking: Tracking) -> None:
        self.view.change(domain_event.originator_id, domain_event.amount, tracking)

    @process_event.register
    def _(self, domain_event: Account.Withdrawn, tracking: Tracking) -> None:
        self.view.change(domain_event.originator_id, domain_event.amount, tracking)


def write(events: Sequence[tuple[int, int, int]], env: dict[str, str]) -> int:
    """Write events in their order; return the position of the last."""
    app, accounts = Accounts(env), dict[int, Account]()
    last = 0
    for begin in range(0, len(events), TRANSACTION):
        changed = dict[int, Account]()
        for _, number, amount in events[begin : begin + TRANSACTION]:
            if number not in accounts:
                accounts[number] = Account(number, amount)
            elif amount >= 0:
                accounts[number].deposit(amount)
            else:
                accounts[number].withdraw(amount)
            changed[number] = accounts[number]
        last = max(each.notification.id for each in app.save(*changed.values()))
    app.close()
    return last


def read(data: Path) -> list[tuple[int, int, int]]:
    """Return the sequence number, account and amount of each event, once and in order."""
    found = set()
    for path in data.glob("entry/*.jsonl"):
        with path.open(encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                found.add((line["number"], line["account"], line["amount"]))
    return sorted(found)


def folded(numbers: Sequence[int], env: dict[str, str], out: Path) -> None:
    """Write the state of some accounts, each folded from its events."""
    app = Accounts(env)
    with out.open("w", encoding="utf-8") as lines:
        for number in numbers:
            found: Account = app.repository.get(Account.create_id(number))
            lines.write(json.dumps((found.account, found.balance, found.last)) + "\n")


def aggregates(numbers: Sequence[int], env: dict[str, str], work: Path) -> None:
    """Fold all accounts, a share in each process."""
    processes = [
        multiprocessing.Process(
            target=folded, args=(numbers[n::PROCESSES], env, work / f"states-{n}.jsonl")
        )
        for n in range(PROCESSES)
    ]
    for each in processes:
        each.start()
    for each in processes:
        each.join()
        if each.exitcode:
            raise SystemExit(f"a process ended with {each.exitcode}")


def view(last: int, env: dict[str, str], work: Path) -> None:
    """Follow all events until the last is in the table."""
    with ProjectionRunner(
        application_class=Accounts, projection_class=Following, view_class=Balances, env=env
    ) as runner:
        runner.wait(last, timeout=LIMIT_S)
        states = [*runner.projection.view.states()]
    with (work / "states-0.jsonl").open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(each) + "\n" for each in states)


def processor_s() -> float:
    """Return the processor seconds of this process and of those that it has waited for."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(each)[:2]) for each in whose)


def main() -> None:
    """Write the events, then read the accounts once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--mode", choices=("aggregates", "view"), required=True)
    chosen = parser.parse_args()
    server = conninfo_to_dict(chosen.url)
    env = {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": str(server["dbname"]),
        "POSTGRES_HOST": str(server["host"]),
        "POSTGRES_PORT": str(server["port"]),
        "POSTGRES_USER": str(server["user"]),
        "POSTGRES_PASSWORD": "none",
    }
    os.environ.update(env)
    events = read(chosen.input)
    began_at = time.monotonic()
    last = write(events, env)
    written_at, before = time.monotonic(), processor_s()
    if chosen.mode == "view":
        view(last, env, chosen.work)
    else:
        aggregates(sorted({number for _, number, _ in events}), env, chosen.work)
    told = {
        "written_s": round(written_at - began_at, 2),
        "seconds": round(time.monotonic() - written_at, 2),
        "cpu_s": round(processor_s() - before, 1),
    }
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
