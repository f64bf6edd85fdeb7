"""Alerts for saved searches, live in a browser: `python -m examples.alerts`.

At the end the alerts are held to what trying each search on each listing finds.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.alerts.market import Market
from examples.alerts.serving import Alerts
from examples.live import linger, run_example, say, until, watch
from examples.log import Log
from examples.page import served
from examples.sent import Sent, SentFiles, SentTopic

import joinery as jn
from joinery.spark.session import session_for

_HERE = Path(__file__).parent
_SINK = ("files: {path: out}", "kafka: {topic: alert}")


def notify(log: Log, project: jn.Project, folder: Path, asked: argparse.Namespace) -> None:
    """Let people save searches while the project runs, and compare what came of it."""
    market, alerts = Market(log), Alerts(sent(project, folder), folder / "dead_letters")
    stop = threading.Event()
    work = threading.Thread(target=market.work, args=(stop,), kwargs={"per_second": asked.rate})
    market.begin()

    def shown() -> Mapping[str, Any]:
        return alerts.shown(market.standing())

    def told(words: Mapping[str, Any]) -> None:
        if isinstance(words.get("give_up"), int):
            market.give_up(words["give_up"])
        else:
            market.save(str(words.get("save", "")))

    with served(_HERE / "page.html", shown, told=told, port=asked.port) as address:
        running = jn.run(session_for(project.spec), project)
        try:
            until(running, "the first alerts", lambda: bool(alerts.matches()))
            say(f"the page is at {address}; save a search of your own there")
            work.start()
            watch(asked.seconds, lambda: seen(market, alerts))
            stop.set()
            work.join()
            until(running, "the last change", lambda: agree(market, alerts))
            say(f"{market.written} changes; {seen(market, alerts)}")
            say("all alerts: equal to trying each search on each listing")
            linger(address)
        finally:
            stop.set()
            running.stop()


def sent(project: jn.Project, folder: Path) -> Sent:
    """Return what the product's sink is sent."""
    (source,) = project.spec.sources
    if source.kind == "files":
        return SentFiles(folder / "out" / "alert")
    return SentTopic(str(dict(source.options)["bootstrap"]), "alert")


def seen(market: Market, alerts: Alerts) -> str:
    """Return how many searches and alerts there are, and how many came and went."""
    standing, counts = alerts.matches(), alerts.counts
    return (
        f"{len(market.standing())} searches, {len(market.listings)} listings,"
        f" {len(standing)} matches; {counts['entered']} entered, {counts['changed']} changed,"
        f" {counts['left']} left; {len(alerts.broken())} searches could not be read"
    )


def agree(market: Market, alerts: Alerts) -> bool:
    """Return whether who is told is who is to be told, apart from searches of yours."""
    yours = {id for id, row in market.standing().items() if row["person"] == "you"}
    return {each for each in alerts.matches() if each[0] not in yours} == market.matches()


def main() -> None:
    """Run the example."""
    run_example(_HERE, "examples.alerts", __doc__, notify, rate=6.0, on_kafka=(_SINK,))


if __name__ == "__main__":
    main()
