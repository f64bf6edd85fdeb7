"""A real-time run is suspended, another takes over, the first wakes: real Kafka, real runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.services.live_run import LiveRun, Topic, live_run
from tests.services.log import Log

from joinery.dev.kafka import kafka

pytestmark = [pytest.mark.chaos, pytest.mark.services, pytest.mark.spark, pytest.mark.slow]

PROJECT = """\
name: shop
sources: {{changes: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{format: json}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}}}
  order: {{key: [id], fields: {{id: long, customer_id: long, item: string}}}}
products:
  profile:
    root: customer
    embed: {{orders: {{many: order, on: {{customer_id: id}}, fields: [item], order: [item]}}}}
    sink: {{kafka: {{topic: profile}}}}
run:
  checkpoint_interval: 10s
  dead_letters: {{kafka: {{topic: dead}}}}
"""
CUSTOMERS = 20
LAPSE_S = 11


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with kafka(tmp_path / "kafka").started() as broker:
        log = Log(broker.address, {})
        for topic in ("customer", "order", "dead"):
            log.create(topic)
        yield log


def orders(log: Log, numbers: range, item: str) -> None:
    """Put orders, one each, so that a run is in the midst of some when it is suspended."""
    rows = ({"id": each, "customer_id": each % CUSTOMERS, "item": item} for each in numbers)
    log.put_all(("order", None, row) for row in rows)


def told(profiles: Topic) -> dict[int, list[str]]:
    """Return the items of the document with the highest version, by customer."""
    newest = profiles.newest().values()
    return {value["id"]: [each["item"] for each in value["orders"]] for value in newest}


def wanted(*parts: tuple[range, str]) -> dict[int, list[str]]:
    items: dict[int, list[str]] = {customer: [] for customer in range(CUSTOMERS)}
    for numbers, item in parts:
        for each in numbers:
            items[each % CUSTOMERS].append(item)
    return {customer: sorted(each) for customer, each in items.items()}


def suspend(run: LiveRun) -> None:
    os.killpg(run.process.pid, signal.SIGSTOP)


def wake(run: LiveRun) -> None:
    with suppress(ProcessLookupError):  # it has ended
        os.killpg(run.process.pid, signal.SIGCONT)


@pytest.mark.parametrize("moment", ["live", "starting"])
def test_a_run_that_slept_and_was_replaced_ends_and_commits_nothing(
    tmp_path: Path, log: Log, moment: str
) -> None:
    """It wakes once the other is live, or while that starts; a commit of its own is due then."""
    text = PROJECT.format(bootstrap=log.bootstrap)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    profiles = Topic(log.bootstrap, "profile")
    rows = ({"id": each, "name": f"c{each}"} for each in range(CUSTOMERS))
    log.put_all(("customer", None, row) for row in rows)
    before, during, after = range(400), range(400, 500), range(500, 600)

    with live_run(tmp_path, "--real-time") as first:
        first.until(first.is_live, "real time")
        orders(log, before, "before")
        first.until(lambda: any(told(profiles).values()), "an order")
        suspend(first)
        try:
            orders(log, during, "during")
            time.sleep(LAPSE_S)  # the lease lapses
            lease = tmp_path / ".joinery/checkpoint/_leases/profile.lease"
            lapsed = lease.read_text(encoding="utf-8")
            with live_run(tmp_path, "--real-time") as second:
                second.until(lambda: lease.read_text(encoding="utf-8") != lapsed, "the lease")
                if moment == "live":
                    second.until(second.is_live, "real time")
                wake(first)
                assert 1 == first.process.wait(120), first.said()
                second.until(second.is_live, "real time")
                orders(log, after, "after")
                expected = wanted((before, "before"), (during, "during"), (after, "after"))
                second.until(lambda: told(profiles) == expected, lambda: str(told(profiles)))
                assert 0 == second.stop(), second.said()
        finally:
            wake(first)

    assert "another run has taken over" in first.said()
    assert "Traceback" not in first.said()
