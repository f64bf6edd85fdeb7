"""The coffee shop, from its first order to its dashboard: `python -m examples.coffee_shop`.

Invariant: whatever ends it, the servers that it started end too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.chart import CHARTS, bars
from examples.coffee_shop.company import Company, Sizes
from examples.coffee_shop.comparison import Database, Postgres, Shop, Sqlite, compare, told
from examples.coffee_shop.serving import (
    PostgresServing,
    Serving,
    SqliteServing,
    count,
    revisions,
    shown,
)
from examples.coffee_shop.shop import declare
from examples.coffee_shop.window import window
from examples.log import FileLog, KafkaLog, Log
from examples.page import served

_PATIENCE_S = 180.0
_ORDERS_COMPARED = 200_000
_TELLING = 100_000


@dataclass(frozen=True, slots=True)
class Parts:
    """What the shop runs on.

    Attributes:
        log: Where the company writes.
        source: Where the app reads it.
        database: Where the app keeps its tables.
        serving: Reads a serving table by its name.
        rows: How many rows one of the app's tables has.
        comparing: Where both forms of the serving table are compared.
    """

    log: Log
    source: str
    database: str
    serving: Callable[[str], Serving]
    rows: Callable[[str], int]
    comparing: Database


@contextmanager
def embedded(folder: Path) -> Iterator[Parts]:
    """Files and SQLite, nothing to start."""
    path = folder / "shop.db"
    yield Parts(
        FileLog(folder / "data"),
        "data",
        "shop.db",
        lambda table: SqliteServing(path, table),
        lambda table: count(SqliteServing(path, table)),
        Sqlite(folder / "comparison.db"),
    )


@contextmanager
def real(folder: Path) -> Iterator[Parts]:
    """Kafka and PostgreSQL, started for the length of a block."""
    from joinery.dev.kafka import kafka
    from joinery.dev.postgres import postgres

    with ExitStack() as stack:
        say("starting PostgreSQL and Kafka")
        database = stack.enter_context(postgres(folder / "postgres").started()).address
        bootstrap = stack.enter_context(kafka(folder / "kafka").started()).address
        yield Parts(
            KafkaLog(bootstrap),
            f"kafka://{bootstrap}",
            database,
            lambda table: PostgresServing(database, table),
            lambda table: count(PostgresServing(database, table)),
            Postgres(database),
        )


class Visit:
    """One visit to the shop: what is shown, in order.

    Args:
        parts: What it runs on.
        folder: Where it keeps its checkpoints.
        charts: Where its charts go.
        asked: The command line.
    """

    def __init__(self, parts: Parts, folder: Path, charts: Path, asked: argparse.Namespace) -> None:
        self._parts = parts
        self._folder = folder
        self._charts = charts
        self._asked = asked
        self._serving = parts.serving("enriched_orders")
        self._company = Company(parts.log, Sizes(customers=max(50, asked.orders // 10)))

    def run(self) -> None:
        """Open the shop, work, and show what came of it; the page is there all the while."""
        for chart in self._charts.glob("comparison_*.svg"):
            chart.unlink()
        page = Path(__file__).with_name("page.html")
        with served(page, self._shown, self._charts, self._asked.port) as address:
            self._open(address)
            self._replay()
            self._compare()
            if sys.stdin.isatty():
                say(f"the dashboard stays at {address}; press Enter to end")
                sys.stdin.readline()

    def _open(self, address: str) -> None:
        """Run the app while orders come in and a price changes."""
        self._company.open()
        app = declare(
            source=self._parts.source,
            database=self._parts.database,
            folder=self._folder,
            read=self._asked.read,
        )
        say(str(app.streams["enriched_orders"].explain()))
        running = app.run()
        try:
            if self._asked.read == "database":
                self._until(running, "pipeline A", self._tables_filled)
            self._company.order(self._asked.orders)
            self._until(running, "the first orders", lambda: self._served() >= self._asked.orders)
            say(f"the dashboard is at {address}")
            self._work(running)
            self._price_change(running)
        finally:
            running.stop()

    def _work(self, running: Any) -> None:
        stop = threading.Event()
        work = threading.Thread(
            target=self._company.work, args=(stop,), kwargs={"per_second": self._asked.rate}
        )
        begun = time.monotonic()
        work.start()
        while time.monotonic() - begun < self._asked.seconds:
            time.sleep(min(5.0, self._asked.seconds))
            say(f"  {self._company.ordered} orders placed, {self._served()} enriched")
        stop.set()
        work.join()
        self._until(running, "the last order", lambda: self._served() >= self._company.ordered)
        say(f"consistency, customers read from {self._asked.read}: {self._window()}")
        for name, each in running.progress.lookups.items():
            say(
                f"  {name}: {each.keys} keys, {each.hits} from the cache, {each.requests} requests,"
                f" {each.wholes} of them for the whole table;"
                f" pipeline A invalidated {each.invalidated} answers;"
                f" the oldest answer was {each.oldest_s:.1f} s old"
            )

    def _price_change(self, running: Any) -> None:
        """Change a price, and time until all its orders show it."""
        product = self._company.change_price(0)
        wanted = f"product_id = 0 AND CAST(price AS double precision) = {product['price']}"
        touched = count(self._serving, "product_id = 0")
        begun = time.monotonic()
        self._until(running, "a price", lambda: count(self._serving, wanted) == touched)
        spent = time.monotonic() - begun
        say(f"a new price reached the {touched} orders of its product in {spent:.2f} s")

    def _replay(self) -> None:
        """Correct history: the same job over the whole log, into a new version of the table."""
        begun = time.monotonic()
        table = "enriched_orders_v2"
        app = declare(
            source=self._parts.source,
            database=self._parts.database,
            folder=self._folder,
            read=self._asked.read,
            checkpoint="checkpoint_v2",
            table=table,
        )
        running = app.run(once=True)
        running.await_termination()
        second = self._parts.serving(table)
        assert count(second) == self._company.ordered
        stale = window(self._company.edits, revisions(second, 0))
        spent = time.monotonic() - begun
        self._serving = second
        say(f"history was replayed into a new version in {spent:.1f} s; the dashboard shows that:")
        say(f"  {stale.told()}")

    def _compare(self) -> None:
        shop = Shop(orders=self._asked.compared, customers=max(1000, self._asked.compared // 20))
        compared = compare(
            self._parts.comparing, shop, readers=50, seconds=self._asked.compare_seconds
        )
        for number, each in enumerate(compared):
            say(told(each))
            chart = bars(
                self._charts / f"comparison_{number}.svg",
                f"{each.question}: response time, ms",
                labels=("p50", "p95", "p99"),
                series={
                    name: [round(load.quantile_ms(share), 3) for share in (0.5, 0.95, 0.99)]
                    for name, load in (("flat table", each.flat), ("join", each.joined))
                },
                logarithmic=True,
            )
            say(f"  plotted: {chart}")
        if shop.orders < _TELLING:
            say(
                f"  {shop.orders:,} orders are too few for a join to cost much;"
                f" the default, --compared {_ORDERS_COMPARED}, shows the difference"
            )

    def _tables_filled(self) -> bool:
        rows = self._parts.rows("customers")
        return rows >= len(list(self._company.customers))

    def _served(self) -> int:
        return count(self._serving)

    def _shown(self) -> Mapping[str, Any]:
        return shown(self._serving, self._window())

    def _window(self) -> str:
        edits = {customer: list(times) for customer, times in self._company.edits.items()}
        return window(edits, revisions(self._serving, self._asked.orders)).told()

    def _until(self, running: Any, what: str, true: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not true():
            if running.await_termination(0.2):
                raise SystemExit(f"the run ended before {what} came")
            if time.monotonic() > end:
                raise SystemExit(f"waited {_PATIENCE_S:g} s for {what}")


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(prog="examples.coffee_shop", description=__doc__)
    parser.add_argument("--real", action="store_true", help="on Kafka and PostgreSQL")
    parser.add_argument("--read", choices=("state", "database"), default="state")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long it is open")
    parser.add_argument("--rate", type=float, default=100.0, help="orders a second")
    parser.add_argument("--orders", type=int, default=2000, help="orders before it opens")
    parser.add_argument("--port", type=int, default=0, help="of the dashboard")
    parser.add_argument(
        "--compared", type=int, default=_ORDERS_COMPARED, help="orders of the comparison"
    )
    parser.add_argument("--compare-seconds", type=float, default=5.0)
    parser.add_argument(
        "--folder", type=Path, help="where all files are kept; by default only charts are"
    )
    asked = parser.parse_args()
    with ExitStack() as stack:
        made = stack.enter_context(tempfile.TemporaryDirectory(prefix="coffee-shop-"))
        folder = (asked.folder or Path(made)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        if asked.real:
            folder.chmod(0o755)
        parts = stack.enter_context((real if asked.real else embedded)(folder))
        Visit(parts, folder, asked.folder or CHARTS / "coffee_shop", asked).run()


if __name__ == "__main__":
    main()
