"""Web traffic, live in a browser: `python -m examples.web_traffic`.

Invariant: whatever ends it, the servers that it started end too.
"""

from __future__ import annotations

import argparse
import threading
from pathlib import Path
from typing import Any

from examples.live import linger, run_example, say, until, watch
from examples.log import Log
from examples.page import served
from examples.web_traffic.serving import Traffic
from examples.web_traffic.site import Site

import joinery as jn
from joinery.spark.session import session_for

_HERE = Path(__file__).parent


def visit(log: Log, project: jn.Project, folder: Path, asked: argparse.Namespace) -> None:
    """Let the site be viewed while the project runs, and compare what came of it."""
    site, traffic = Site(log), Traffic(folder / "traffic.db")
    stop = threading.Event()
    work = threading.Thread(target=site.work, args=(stop,), kwargs={"per_second": asked.rate})
    with served(_HERE / "page.html", traffic.shown, port=asked.port) as address:
        work.start()
        running = jn.run(session_for(project.spec), project)
        try:
            until(running, "the first views", lambda: bool(traffic.views()))
            say(f"the page is at {address}")
            watch(asked.seconds, lambda: seen(site, traffic))
            stop.set()
            work.join()
            until(running, "the last view", lambda: agree(site, traffic))
            compare(site, traffic, running)
            linger(address)
        finally:
            stop.set()
            work.join()
            running.stop()


def seen(site: Site, traffic: Traffic) -> str:
    """Look at the page's tables, so that stragglers show; return how far it is."""
    traffic.shown()
    counted = sum(traffic.views().values())
    return f"{site.written} views, {counted} counted; {site.stragglers} came late"


def agree(site: Site, traffic: Traffic) -> bool:
    """Return whether all views are in each table that is compared, one written after the other."""
    counted = traffic.select("select sum(views) as views from steps")
    views = sum(traffic.views().values())
    return [views] == [each["views"] for each in counted] and views == site.written


def compare(site: Site, traffic: Traffic, running: Any) -> None:
    """Hold the tables to what the site itself has counted."""
    equal = traffic.views() == dict(site.views)
    present = {step: len(visitors) for step, visitors in site.visitors.items()}
    uniques = traffic.visitors() == present
    late = running.progress.counters.get("seconds", {}).get("late", 0)
    say(f"{site.written} views, {late} of them below the watermark, corrected their seconds")
    say(f"requests a second: {'equal to' if equal else 'DIFFERENT FROM'} a plain count")
    say(f"unique visitors: {'equal to' if uniques else 'DIFFERENT FROM'} a plain count")
    say(f"{site.wrong_clocks} views had a clock hours ahead, and stand where they were received")
    for row in traffic.shown()["trend"][::-1]:
        say(
            f"  {row['window_start'][11:19]} {row['visitors']} visitors ({row['more_visitors']:+}),"
            f" {row['views']} views ({row['more_views']:+})"
        )
    if not (equal and uniques):
        raise SystemExit(1)


def main() -> None:
    """Run the example."""
    run_example(_HERE, "examples.web_traffic", __doc__, visit, rate=80.0)


if __name__ == "__main__":
    main()
