"""A bank folded from its log, live in a browser: `python -m examples.bank`.

The fraud view is wrong at first; it is mended and rebuilt while the bank goes on. At the end each
view is held to a plain fold of the log.
"""

from __future__ import annotations

import argparse
import threading
from pathlib import Path

from examples.bank.ledger import NAMES, Ledger
from examples.bank.serving import Views
from examples.live import linger, run_example, say, until, watch
from examples.log import Log
from examples.page import served

import joinery as jn
from joinery.spark.session import session_for

_HERE = Path(__file__).parent
_BOOKS, _FRAUD = ("account", "transfer", "statement"), ("fraud",)
_WRONG, _RIGHT = "event.cents > 500", "event.cents > 50000"


def keep(log: Log, project: jn.Project, folder: Path, asked: argparse.Namespace) -> None:
    """Let the bank go on while its views are kept and one is mended, and compare them."""
    ledger, views = Ledger(log), Views(folder / "bank.db")
    stop = threading.Event()
    work = threading.Thread(target=ledger.work, args=(stop,), kwargs={"per_second": asked.rate})
    ledger.begin()
    with served(_HERE / "page.html", views.shown, port=asked.port) as address:
        session = session_for(project.spec)
        books = jn.run(session, project, products=_BOOKS)
        fraud = jn.run(session, project, products=_FRAUD)
        try:
            until(books, "the first statements", lambda: bool(views.rows("statement")))
            until(fraud, "the first warnings", lambda: bool(views.suspicious()))
            say(f"the page is at {address}")
            work.start()
            watch(asked.seconds / 2, lambda: seen(ledger, views))
            say(f"{len(views.suspicious())} accounts are suspicious: cents were taken for euros")
            mended = mend(folder / "joinery.yaml")
            say("the view is fixed, and rebuilt alongside the running one")
            jn.run(session, mended, products=_FRAUD, rebuild=True).await_termination()
            fraud.stop()
            fraud = jn.run(session, mended, products=_FRAUD)
            say(f"{len(views.suspicious())} accounts are suspicious")
            watch(asked.seconds / 2, lambda: seen(ledger, views))
            stop.set()
            work.join()
            until(books, "the last entry", lambda: not different(ledger, views))
            told = ledger.told
            say(f"{ledger.entries()} entries, {told['twice']} told twice, {told['late']} late")
            say("all views: equal to a plain fold of the log")
            linger(address)
        finally:
            stop.set()
            books.stop()
            fraud.stop()


def mend(file: Path) -> jn.Project:
    """Have the project's fraud view compare cents with cents."""
    file.write_text(file.read_text(encoding="utf-8").replace(_WRONG, _RIGHT), encoding="utf-8")
    return jn.load(file)


def seen(ledger: Ledger, views: Views) -> str:
    """Return how many entries there are, and what the views tell."""
    shown = views.shown()
    return (
        f"{ledger.entries()} entries; {shown['transfers']} transfers, {shown['open']} of them open;"
        f" {len(views.suspicious())} accounts suspicious"
    )


def different(ledger: Ledger, views: Views) -> list[str]:
    """Return the views that are not what a plain fold of the log makes."""
    states = {each: ledger.state(each) for each in range(1, len(NAMES) + 1)}
    expected = {
        "account": {each: _part(each, row, "owner", "balance") for each, row in states.items()},
        "transfer": ledger.sent(),
        "statement": {each: ledger.statement(each) for each in states},
        "fraud": {each: _part(each, row, "large", "suspicious") for each, row in states.items()},
    }
    return [view for view, rows in expected.items() if views.rows(view) != rows]


def _part(account: int, state: dict[str, object], *columns: str) -> dict[str, object]:
    return {"account_id": account, **{each: state[each] for each in columns}}


def main() -> None:
    """Run the example."""
    run_example(_HERE, "examples.bank", __doc__, keep, rate=12.0)


if __name__ == "__main__":
    main()
