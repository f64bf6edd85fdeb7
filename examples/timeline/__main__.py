"""Timelines, live in a browser: `python -m examples.timeline`.

At the end each timeline is held to what a plain search of all rows finds.
"""

from __future__ import annotations

import argparse
import threading
from pathlib import Path

from examples.live import linger, run_example, say, until, watch
from examples.log import Log
from examples.page import served
from examples.timeline.network import NAMES, Network
from examples.timeline.serving import Timelines

import joinery as jn
from joinery.spark.session import session_for

_HERE = Path(__file__).parent


def follow(log: Log, project: jn.Project, folder: Path, asked: argparse.Namespace) -> None:
    """Let people follow and write while the project runs, and compare what came of it."""
    network, timelines = Network(log), Timelines(folder / "timelines.db")
    stop = threading.Event()
    work = threading.Thread(target=network.work, args=(stop,), kwargs={"per_second": asked.rate})
    network.begin()
    with served(_HERE / "page.html", timelines.shown, port=asked.port) as address:
        running = jn.run(session_for(project.spec), project)
        try:
            until(running, "the first timelines", lambda: bool(timelines.documents()))
            say(f"the page is at {address}")
            work.start()
            watch(asked.seconds, lambda: seen(network, timelines))
            stop.set()
            work.join()
            until(running, "the last change", lambda: not different(network, timelines))
            say(f"{network.written} changes; {seen(network, timelines)}")
            say("all timelines: equal to a plain search of all follows and posts")
            linger(address)
        finally:
            stop.set()
            running.stop()


def seen(network: Network, timelines: Timelines) -> str:
    """Return how many posts there are and are listed, and who is followed by too many."""
    documents = timelines.documents().values()
    listed = sum(each["posts_total"] for each in documents)
    hot = timelines.shown()["hot"]
    told = f"{', '.join(hot)} left out, followed by too many" if hot else "nobody is left out"
    return f"{len(network.posts)} posts stand, {listed} places in timelines; {told}"


def different(network: Network, timelines: Timelines) -> list[int]:
    """Return the users whose timeline is another than a plain search finds."""
    documents = timelines.documents()
    users = range(1, len(NAMES) + 1)
    return [each for each in users if documents.get(each) != network.timeline(each)]


def main() -> None:
    """Run the example."""
    run_example(_HERE, "examples.timeline", __doc__, follow, rate=12.0)


if __name__ == "__main__":
    main()
