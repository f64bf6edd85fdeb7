"""Web traffic, live in a browser: `python -m examples.web_traffic`.

Invariant: whatever ends it, the servers that it started end too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from examples.log import FileLog, KafkaLog, Log
from examples.page import served
from examples.web_traffic.serving import Traffic
from examples.web_traffic.site import Site

import joinery as jn
from joinery.spark.session import session_for

_HERE = Path(__file__).parent
_FILES = "files: {path: data}"
_PATIENCE_S = 180.0


@contextmanager
def embedded(folder: Path) -> Iterator[tuple[Log, str]]:
    """Give a log of files, nothing to start, and how the project names it."""
    yield FileLog(folder / "data"), _FILES


@contextmanager
def real(folder: Path) -> Iterator[tuple[Log, str]]:
    """Give a log of Kafka, started for the length of a block, and how the project names it."""
    from joinery.dev.kafka import kafka

    say("starting Kafka")
    with kafka(folder / "kafka").started() as broker:
        yield KafkaLog(broker.address), f'kafka: {{bootstrap: "{broker.address}"}}'


def visit(log: Log, source: str, folder: Path, asked: argparse.Namespace) -> None:
    """Let the site be viewed while the project runs, and compare what came of it."""
    text = (_HERE / "joinery.yaml").read_text(encoding="utf-8")
    file = folder / "joinery.yaml"
    file.write_text(text.replace(_FILES, source), encoding="utf-8")
    project = jn.load(file)
    site, traffic = Site(log), Traffic(folder / "traffic.db")
    stop = threading.Event()
    work = threading.Thread(target=site.work, args=(stop,), kwargs={"per_second": asked.rate})
    with served(_HERE / "page.html", traffic.shown, port=asked.port) as address:
        work.start()
        running = jn.run(session_for(project.spec), project)
        try:
            until(running, "the first views", lambda: bool(traffic.views()))
            say(f"the page is at {address}")
            watch(site, traffic, asked.seconds)
            stop.set()
            work.join()
            until(running, "the last view", lambda: agree(site, traffic))
            compare(site, traffic, running)
            if sys.stdin.isatty():
                say(f"the page stays at {address}; press Enter to end")
                sys.stdin.readline()
        finally:
            stop.set()
            work.join()
            running.stop()


def watch(site: Site, traffic: Traffic, seconds: float) -> None:
    """Look each second, so that stragglers show; tell every five how far it is."""
    begun, told = time.monotonic(), 0
    while (spent := time.monotonic() - begun) < seconds:
        time.sleep(min(1.0, seconds - spent))
        traffic.shown()
        if spent // 5 > told:
            told = int(spent // 5)
            counted = sum(traffic.views().values())
            say(f"  {site.written} views, {counted} counted; {site.stragglers} came late")


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


def until(running: Any, what: str, true: Callable[[], bool]) -> None:
    """Wait for a condition while the run goes on."""
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
    parser = argparse.ArgumentParser(prog="examples.web_traffic", description=__doc__)
    parser.add_argument("--real", action="store_true", help="on Kafka")
    parser.add_argument("--seconds", type=float, default=40.0, help="how long it is watched")
    parser.add_argument("--rate", type=float, default=80.0, help="views a second")
    parser.add_argument("--port", type=int, default=0, help="of the page")
    parser.add_argument("--folder", type=Path, help="where all files are kept; by default nowhere")
    asked = parser.parse_args()
    with ExitStack() as stack:
        made = stack.enter_context(tempfile.TemporaryDirectory(prefix="web-traffic-"))
        folder = (asked.folder or Path(made)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        log, source = stack.enter_context((real if asked.real else embedded)(folder))
        visit(log, source, folder, asked)


if __name__ == "__main__":
    sys.exit(main())
