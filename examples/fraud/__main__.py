"""Patterns in payments, logins and readings, live in a browser: `python -m examples.fraud`.

At the end the matches are held to what a plain search of all rows finds.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.fraud.search import plain_search
from examples.fraud.serving import Troubles
from examples.fraud.world import TROUBLES, World
from examples.live import linger, run_example, say, until, watch
from examples.log import Log
from examples.page import served
from examples.sent import SentFiles

import joinery as jn
from joinery.spark.session import session_for

_HERE = Path(__file__).parent


def guard(log: Log, project: jn.Project, folder: Path, asked: argparse.Namespace) -> None:
    """Let people pay and log in while the project runs, and compare what came of it."""
    world = World(log)
    troubles = Troubles({name: SentFiles(folder / "out" / name) for name in TROUBLES})
    stop = threading.Event()
    work = threading.Thread(target=world.work, args=(stop,), kwargs={"per_second": asked.rate})

    def told(words: Mapping[str, Any]) -> None:
        if words.get("do") in TROUBLES:
            world.do(words["do"])

    with served(_HERE / "page.html", troubles.shown, told=told, port=asked.port) as address:
        work.start()
        running = jn.run(session_for(project.spec), project)
        try:
            until(running, "the first matches", lambda: any(troubles.matches().values()))
            say(f"the page is at {address}; make trouble of your own there")
            watch(asked.seconds, lambda: seen(troubles))
            stop.set()
            work.join()
            until(running, "the last match", lambda: agree(world, troubles))
            say(f"{world.written} rows; {seen(troubles)}")
            say("all matches: equal to a plain search of all rows")
            linger(address)
        finally:
            stop.set()
            work.join()
            running.stop()


def seen(troubles: Troubles) -> str:
    """Return how many matches stand, and how many came and went."""
    standing = ", ".join(f"{len(each)} {name}" for name, each in troubles.matches().items())
    counts = troubles.counts()
    return (
        f"{standing}; {counts['entered']} entered, {counts['changed']} changed,"
        f" {counts['left']} left"
    )


def agree(world: World, troubles: Troubles) -> bool:
    """Return whether the matches are those that a plain search finds; time goes on meanwhile."""
    world.rest()
    return troubles.matches() == plain_search(world.rows)


def main() -> None:
    """Run the example."""
    run_example(_HERE, "examples.fraud", __doc__, guard, rate=8.0)


if __name__ == "__main__":
    main()
