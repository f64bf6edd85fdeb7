"""Who viewed my profile, in three ways: `python -m examples.social_network`.

Invariant: whatever ends it, the servers that it started end too.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.chart import CHARTS, lines
from examples.log import FileLog, KafkaLog, Log
from examples.social_network.answers import Answers, answers
from examples.social_network.network import Network, Sizes
from examples.social_network.service import ProfileService
from examples.social_network.stampede import GUARDS, recover
from examples.social_network.views import VARIANTS, Variant, declare

import joinery as jn
from joinery.testing.load import quantile

_PATIENCE_S = 120.0
_SHOWN = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the network runs on.

    Attributes:
        log: Where views and edits are written.
        source: Where the app reads them.
        store: Where profiles are queried.
    """

    log: Log
    source: str
    store: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Figures:
    """What one variant took.

    Attributes:
        seconds: For the whole backlog, Spark's start left out.
        cpu_seconds: Of this process and Spark's meanwhile.
        requests: To the store.
        waits_ms: From when a view was written until it was in the sink, in rising order.
    """

    seconds: float
    cpu_seconds: float
    requests: int
    waits_ms: tuple[float, ...]


@contextmanager
def embedded(folder: Path, service: ProfileService) -> Iterator[Parts]:
    """Files, and a profile service over HTTP."""
    with service.served() as url:
        yield Parts(FileLog(folder / "data"), "data", {"http": {"url": url}})


@contextmanager
def real(folder: Path, service: ProfileService) -> Iterator[Parts]:
    """Kafka, and profiles in Redis."""
    from redis import Redis

    from joinery.dev.kafka import kafka
    from joinery.dev.redis import redis

    with ExitStack() as stack:
        say("starting Redis and Kafka")
        address = stack.enter_context(redis(folder / "redis").started()).address
        bootstrap = stack.enter_context(kafka(folder / "kafka").started()).address
        with Redis.from_url(address) as server:
            for row in service.rows.values():
                server.set(f"profiles:{row['id']}", json.dumps(row))
        yield Parts(KafkaLog(bootstrap), f"kafka://{bootstrap}", {"redis": {"url": address}})


class Sink:
    """The enriched views of one variant, as its sink has them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[Path, list[dict[str, Any]]] = {}

    def views(self) -> list[dict[str, Any]]:
        """Return all views so far; files are complete once they are there."""
        for file in self._folder.glob("*.jsonl"):
            if file not in self._seen:
                text = file.read_text(encoding="utf-8")
                self._seen[file] = [json.loads(line)["value"] for line in text.splitlines()]
        return [view for views in self._seen.values() for view in views]


class Evening:
    """One evening of the network: its views, enriched in three ways.

    Args:
        parts: What it runs on.
        folder: Where checkpoints, results and charts are.
        asked: The command line.
        network: The people.
    """

    def __init__(
        self, parts: Parts, folder: Path, asked: argparse.Namespace, network: Network
    ) -> None:
        self._parts = parts
        self._folder = folder
        self._asked = asked
        self._network = network
        self._written = asked.views

    def run(self) -> None:
        """Enrich the same views in each way, and compare."""
        self._parts.log.write("page_views", self._network.views(self._asked.views))
        if self._asked.warm_up:
            self._declare("state", "warm_up").run(once=True).await_termination()
        found: dict[Variant, dict[int, Answers]] = {}
        figures: dict[Variant, Figures] = {}
        for read, name in VARIANTS.items():
            say(f"{name} (read={read})")
            sink = Sink(self._folder / "out" / f"who_viewed_me_{read}")
            figures[read] = self._variant(read, sink)
            first = [view for view in sink.views() if view["view_id"] <= self._asked.views]
            found[read] = answers(first, range(self._asked.profiles))
        differing = [read for read in VARIANTS if found[read] != found["event"]]
        assert not differing, f"these variants gave other answers: {differing}"
        self._tell(found["state"], figures)

    def _variant(self, read: Variant, sink: Sink) -> Figures:
        app = self._declare(read)
        app.session()
        cpu, begun = _cpu_seconds(), time.monotonic()
        running = app.run()
        try:
            _until(running, lambda: len(sink.views()) >= self._written)
            seconds, spent = time.monotonic() - begun, _cpu_seconds() - cpu
            waits_ms = [self._one_view(running, sink) for _ in range(self._asked.singles)]
        finally:
            running.stop()
        lookups = running.progress.lookups.values()
        return Figures(
            seconds, spent, sum(each.requests for each in lookups), tuple(sorted(waits_ms))
        )

    def _declare(self, read: Variant, name: str = "") -> jn.App:
        return declare(
            source=self._parts.source,
            folder=self._folder,
            read=read,
            store=self._parts.store,
            name=name,
        )

    def _one_view(self, running: Any, sink: Sink) -> float:
        self._written += 1
        begun = time.monotonic()
        self._parts.log.write("page_views", self._network.views(1, first=self._written))
        _until(running, lambda: len(sink.views()) >= self._written)
        return (time.monotonic() - begun) * 1000

    def _tell(self, found: dict[int, Answers], figures: Mapping[Variant, Figures]) -> None:
        for profile in _SHOWN:
            mine = found[profile]
            say(f"profile {profile}, {self._network.rows[profile]['name']}")
            say(
                "  who viewed me: " + ", ".join(f"{name} ({title})" for name, title in mine.viewers)
            )
            say("  their job titles: " + ", ".join(f"{title} {n}" for title, n in mine.titles))
            say("  others also viewed: " + ", ".join(f"{who} ({n})" for who, n in mine.also_viewed))
        say("the three variants gave the same answers")
        say("| variant | views/s | one view, p50 | p99 | requests to the store | processor s |")
        say("| --- | ---: | ---: | ---: | ---: | ---: |")
        for read, each in figures.items():
            p50, p99 = (quantile(each.waits_ms, share) for share in (0.5, 0.99))
            say(
                f"| {VARIANTS[read]} | {self._asked.views / each.seconds:,.0f} | {p50:,.0f} ms"
                f" | {p99:,.0f} ms | {each.requests} | {each.cpu_seconds:.1f} |"
            )


def stampede(service: ProfileService, backlog: list[int], folder: Path) -> None:
    """Recover from a cold cache with guards off and on, and plot what the service saw."""
    rates: dict[str, tuple[float, ...]] = {}
    for guarded in (False, True):
        name = "guards on" if guarded else "guards off"
        done = recover(backlog, service, guarded=guarded)
        rates[name] = done.rates
        say(
            f"recovery, {name}: {done.events} views in {done.seconds:.2f} s,"
            f" {done.requests} requests, at most {max(done.rates):.0f} a second;"
            f" another user waited p99 {done.other_p99_ms:.0f} ms"
        )
    longest = max(map(len, rates.values()))
    chart = lines(
        folder / "stampede.svg",
        f"Requests a second to the profile service; {GUARDS.per_second:g} are declared",
        labels=[f"{each / 4:g} s" for each in range(longest)],
        series={name: [*each, *[0.0] * (longest - len(each))] for name, each in rates.items()},
    )
    say(f"  plotted: {chart}")


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


def _until(running: Any, true: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not true():
        if running.await_termination(0.01):
            raise SystemExit("the run ended too early")
        if time.monotonic() > end:
            raise SystemExit(f"waited {_PATIENCE_S:g} s for enriched views")


def _cpu_seconds() -> float:
    """Return the processor seconds of this process and of all that it started."""
    import psutil

    own = psutil.Process(os.getpid())
    times = [each.cpu_times() for each in (own, *own.children(recursive=True))]
    return float(sum(each.user + each.system for each in times))


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(prog="examples.social_network", description=__doc__)
    parser.add_argument("--real", action="store_true", help="on Kafka and Redis")
    parser.add_argument("--profiles", type=int, default=2_000)
    parser.add_argument("--views", type=int, default=20_000)
    parser.add_argument("--singles", type=int, default=20, help="views timed one by one")
    parser.add_argument(
        "--no-warm-up",
        dest="warm_up",
        action="store_false",
        help="let the first variant pay for Spark's first batch",
    )
    parser.add_argument("--backlog", type=int, default=5_000, help="views of the recovery")
    parser.add_argument(
        "--folder", type=Path, help="where all files are kept; by default only charts are"
    )
    asked = parser.parse_args()
    network = Network(Sizes(profiles=asked.profiles))
    with ExitStack() as stack:
        made = stack.enter_context(tempfile.TemporaryDirectory(prefix="social-network-"))
        folder = (asked.folder or Path(made)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        first = network.profiles()
        edits = network.edit(asked.profiles // 10)
        service = ProfileService(network.profiles())
        parts = stack.enter_context((real if asked.real else embedded)(folder, service))
        parts.log.write("profiles", [*first, *edits])
        Evening(parts, folder, asked, network).run()
        backlog = [each["viewer_id"] for each in network.views(asked.backlog)]
        stampede(service, backlog, asked.folder or CHARTS / "social_network")


if __name__ == "__main__":
    main()
