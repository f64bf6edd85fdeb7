"""What examples with a live page have in common: their log, their page, and waiting for a run.

Invariant: whatever ends an example, the servers that it started end too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from examples.log import FileLog, KafkaLog, Log

import joinery as jn

_FILES = "files: {path: data}"
_PATIENCE_S = 180.0

Show = Callable[[Log, jn.Project, Path, argparse.Namespace], None]
"""Runs an example: on a log, for a project that reads it, in a folder, as it was asked."""


def run_example(
    here: Path,
    prog: str,
    doc: str | None,
    show: Show,
    *,
    rate: float,
    on_kafka: Sequence[tuple[str, str]] = (),
) -> None:
    """Run the example whose project stands in a folder, on files or on Kafka.

    Args:
        here: The folder with its `joinery.yaml`.
        prog: How it is called.
        doc: What its help says.
        show: Runs it.
        rate: How much happens a second, unless asked otherwise.
        on_kafka: Texts of the project file, each with what stands there on Kafka.
    """
    parser = argparse.ArgumentParser(prog=prog, description=doc)
    parser.add_argument("--real", action="store_true", help="on Kafka")
    parser.add_argument("--seconds", type=float, default=40.0, help="how long it is watched")
    parser.add_argument("--rate", type=float, default=rate, help="how much happens a second")
    parser.add_argument("--port", type=int, default=0, help="of the page")
    parser.add_argument("--folder", type=Path, help="where all files are kept; by default nowhere")
    asked = parser.parse_args()
    with ExitStack() as stack:
        made = stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{here.name}-"))
        folder = (asked.folder or Path(made)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        log, source = stack.enter_context((_real if asked.real else _embedded)(folder))
        text = (here / "joinery.yaml").read_text(encoding="utf-8").replace(_FILES, source)
        for embedded, real in on_kafka if asked.real else ():
            text = text.replace(embedded, real)
        file = folder / "joinery.yaml"
        file.write_text(text, encoding="utf-8")
        show(log, jn.load(file), folder, asked)


@contextmanager
def _embedded(folder: Path) -> Iterator[tuple[Log, str]]:
    """Give a log of files, nothing to start, and how the project names it."""
    yield FileLog(folder / "data"), _FILES


@contextmanager
def _real(folder: Path) -> Iterator[tuple[Log, str]]:
    """Give a log of Kafka, started for the length of a block, and how the project names it."""
    from joinery.dev.kafka import kafka

    say("starting Kafka")
    with kafka(folder / "kafka").started() as broker:
        yield KafkaLog(broker.address), f'kafka: {{bootstrap: "{broker.address}"}}'


def watch(seconds: float, look: Callable[[], str]) -> None:
    """Look each second; tell every five what there was to see."""
    begun, told = time.monotonic(), 0
    while (spent := time.monotonic() - begun) < seconds:
        time.sleep(min(1.0, seconds - spent))
        seen = look()
        if spent // 5 > told:
            told = int(spent // 5)
            say(f"  {seen}")


def until(running: Any, what: str, true: Callable[[], bool]) -> None:
    """Wait for a condition while the run goes on."""
    end = time.monotonic() + _PATIENCE_S
    while not true():
        if running.await_termination(0.2):
            raise SystemExit(f"the run ended before {what} came")
        if time.monotonic() > end:
            raise SystemExit(f"waited {_PATIENCE_S:g} s for {what}")


def linger(address: str) -> None:
    """Keep the page where somebody looks at it, until Enter is pressed."""
    if sys.stdin.isatty():
        say(f"the page stays at {address}; press Enter to end")
        sys.stdin.readline()


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)
