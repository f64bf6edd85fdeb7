"""The bank: people pay in, pay out and send each other money; and what is true of it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from typing import Any

from examples.log import Log

LINES, LARGE = 6, 50_000
NAMES = (
    "Ada Bo Cy Dee Eli Fay Gus Hal Ida Jo Kim Lou Max Ned Ora Pat Quin Ray Sue Ted"
    " Una Val Wim Xia Yan Zoe Abe Bea Cal Dot Eve Flo Gil Hue Ian Jan Kit Lea Mel Nan"
).split()
_HASTY = 4
_TICK_S = 0.2
_LATE_S = (0.5, 6.0)
_SIGNS = {"Opened": 0, "Deposited": 1, "Received": 1, "Withdrawn": -1, "Sent": -1}

Row = dict[str, Any]


@dataclass(slots=True)
class Ledger:
    """Writes what happens to a log: a little out of order, some late, some of it twice.

    Attributes:
        log: Where entries go.
        accounts: The entries of each account, in the order of their numbers.
        told: How many were written again, and how many late.
    """

    log: Log
    seed: int = 7
    accounts: dict[int, list[Row]] = field(default_factory=dict)
    transfers: int = 0
    told: dict[str, int] = field(default_factory=lambda: {"twice": 0, "late": 0})
    _held: list[tuple[float, Row]] = field(default_factory=list)
    _pick: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._pick = random.Random(self.seed)

    def begin(self) -> None:
        """Write the first entries of all accounts, and some history."""
        made = []
        for account, name in enumerate(NAMES, 1):
            made.append(self._entry(account, "Opened", 0, owner=name))
            made.append(self._entry(account, "Deposited", self._pick.randint(1000, 9000) * 100))
        self.log.write("entry", made)
        self.act(400)

    def work(self, stop: threading.Event, *, per_second: float) -> None:
        """Let things happen until it is time to stop; then write what is late."""
        due, last = 0.0, time.monotonic()
        while not stop.wait(_TICK_S):
            now = time.monotonic()
            due, last = due + (now - last) * per_second, now
            self.act(int(due), now)
            due -= int(due)
        self.log.write("entry", [row for _, row in self._held])
        self._held.clear()

    def act(self, count: int, now: float = 0.0) -> None:
        """Let a number of things happen; `now` is in seconds."""
        made = [row for _ in range(count) for row in self._deed()]
        rows = [row for due, row in self._held if due <= now]
        self._held = [each for each in self._held if each[0] > now]
        for row in made:
            if self._pick.random() < 0.05:
                self.told["late"] += 1
                self._held.append((now + self._pick.choice(_LATE_S), row))
            else:
                rows.append(row)
        again = [row for row in rows if self._pick.random() < 0.05]
        self.told["twice"] += len(again)
        rows += again
        self._pick.shuffle(rows)
        self.log.write("entry", rows)

    def entries(self) -> int:
        """Return how many entries there are."""
        return sum(map(len, self.accounts.values()))

    def state(self, account: int) -> Row:
        """Return an account: `functools.reduce` over its entries."""
        begun: Row = {"owner": None, "balance": 0, "large": 0, "suspicious": False}
        return reduce(_next, self.accounts[account], begun)

    def statement(self, account: int) -> Row:
        """Return an account's newest entries below what they made of it."""
        state, entries = self.state(account), self.accounts[account][: -LINES - 1 : -1]
        lines = [{name: row[name] for name in ("number", "type", "cents")} for row in entries]
        told = {"entries": lines, "entries_total": len(self.accounts[account])}
        return {"owner": state["owner"], "balance": state["balance"], **told}

    def sent(self) -> dict[int, Row]:
        """Return the transfers by their ids: each is sent and received at once."""
        return {
            row["transfer_id"]: {
                "transfer_id": row["transfer_id"],
                "payer": row["account_id"],
                "payee": row["other_id"],
                "cents": row["cents"],
                "settled": True,
            }
            for each in self.accounts.values()
            for row in each
            if row["type"] == "Sent"
        }

    def _deed(self) -> list[Row]:
        """Return the entries of something that happens; the hasty send much, and often."""
        pick, account = self._pick, self._pick.randint(1, len(NAMES))
        if account <= _HASTY:
            return self._transfer(account, pick.randint(LARGE + 1, 3 * LARGE))
        kind: Callable[[], list[Row]] = pick.choice(
            [
                lambda: [self._entry(account, "Deposited", pick.randint(100, 200_000))],
                lambda: [self._entry(account, "Withdrawn", pick.randint(100, 40_000))],
                lambda: self._transfer(account, pick.randint(100, LARGE)),
                lambda: self._transfer(account, pick.randint(100, LARGE)),
            ]
        )
        return kind()

    def _transfer(self, payer: int, cents: int) -> list[Row]:
        self.transfers += 1
        payee = self._pick.choice(
            [each for each in range(_HASTY + 1, len(NAMES) + 1) if each != payer]
        )
        told = {"transfer_id": self.transfers}
        return [
            self._entry(payer, "Sent", cents, **told, step=1, other_id=payee),
            self._entry(payee, "Received", cents, **told, step=2, other_id=payer),
        ]

    def _entry(self, account: int, type_: str, cents: int, **more: Any) -> Row:
        entries = self.accounts.setdefault(account, [])
        row = {"account_id": account, "number": len(entries) + 1, "type": type_, "owner": None}
        row |= {"cents": cents, "transfer_id": None, "step": None, "other_id": None, "at": _now()}
        entries.append(row | more)
        return row | more


def _next(state: Row, entry: Row) -> Row:
    """Return what an entry makes of an account."""
    type_, cents = entry["type"], entry["cents"]
    made = {**state, "balance": state["balance"] + _SIGNS[type_] * cents}
    if type_ == "Opened":
        made["owner"] = entry["owner"]
    if type_ in ("Deposited", "Received"):
        made["large"] = 0
    if type_ == "Sent":
        made["large"] = state["large"] + 1 if cents > LARGE else 0
        made["suspicious"] = state["suspicious"] or made["large"] >= 3
    return made


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
