"""A run answers operators' questions over HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from joinery.model.batch import BatchProgress
from joinery.model.lookup import LookupProgress
from joinery.model.progress import Progress, Silence, Waiting
from joinery.model.watermark import EventTimes
from joinery.observe.frontier import WaitError
from joinery.observe.http import HttpError, RunEndpoints
from joinery.observe.wait import WaitTimeoutError


def batch() -> BatchProgress:
    return BatchProgress(
        query="profile",
        batch_id=3,
        relations={"user": {"read": 5, "stale": 1, "timed": 4, "age_ms": 6000}},
        documents={"profile": {"upserts": 4, "tombstones": 1, "bytes": 900}},
        counters={"profile": {"refused": 2}},
        dead=2,
        seconds=1.5,
        ended_at=1_700_000_000.0,
        durations_ms={"stage": 800},
        lag={"user": {"0": 7}},
        state_bytes=4096,
    )


class Served:
    """Endpoints on a free port, and the run they tell of."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.waited: list[tuple[str, Sequence[str], str]] = []
        self.endpoints = RunEndpoints("127.0.0.1:0", lambda: self.progress, self.wait)
        self.address = self.endpoints.open()

    def wait(self, product: str, positions: Sequence[str], timeout: str) -> None:
        self.waited.append((product, positions, timeout))
        if product != "profile":
            raise WaitError(f'there is no product or stream "{product}" to run', hint="Known: …")
        if timeout == "1s":
            raise WaitTimeoutError('"profile" has not reached orders/0/7 within 1s')

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urlopen(f"http://{self.address}{path}", timeout=60) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()


@pytest.fixture
def served() -> Iterator[Served]:
    served = Served()
    yield served
    served.endpoints.close()


def test_metrics_tell_counts_lag_state_and_time(served: Served) -> None:
    served.progress = Progress().plus(batch()).plus(batch())

    code, text = served.get("/metrics")

    assert code == 200
    lines = text.splitlines()
    assert 'joinery_changes_total{outcome="read",relation="user"} 10.0' in lines
    assert 'joinery_documents_total{kind="tombstones",product="profile"} 2.0' in lines
    assert 'joinery_events_total{event="refused",product="profile"} 4.0' in lines
    assert "joinery_dead_letters_total 4.0" in lines
    assert 'joinery_freshness_seconds_sum{relation="user"} 12.0' in lines
    assert 'joinery_freshness_seconds_count{relation="user"} 8.0' in lines
    assert not any('outcome="age_ms"' in line for line in lines)
    assert {"joinery_up 1.0", "joinery_ready 0.0"} <= set(lines)
    assert 'joinery_stale_ratio{relation="user"} 0.2' in lines
    assert 'joinery_lag_records{partition="0",topic="user"} 7.0' in lines
    assert 'joinery_state_bytes{query="profile"} 4096.0' in lines
    assert 'joinery_batch_step_seconds{query="profile",step="stage"} 0.8' in lines


def test_bytes_that_were_added_to_files_are_a_metric(served: Served) -> None:
    served.progress = replace(Progress(), ignored_bytes={"user": 40}).plus(batch())

    _, text = served.get("/metrics")

    assert 'joinery_ignored_bytes{relation="user"} 40.0' in text.splitlines()


def test_watermarks_are_metrics(served: Served) -> None:
    times = EventTimes({"0": 9_000_000, "1": 7_000_000}, {0: 98, 8: 2}, delay_ms=1000)
    served.progress = Progress().plus(replace(batch(), event_times={"view": times}))

    lines = served.get("/metrics")[1].splitlines()

    named = 'query="profile",relation="view"'
    assert f"joinery_watermark_timestamp_seconds{{{named}}} 6.0" in lines
    newest = 'partition="1",query="profile",relation="view"'
    assert f"joinery_event_time_newest_timestamp_seconds{{{newest}}} 7.0" in lines
    behind = 'quantile="0.99",query="profile",relation="view"'
    assert f"joinery_event_time_behind_seconds{{{behind}}} 9e-06" in lines


def test_a_sink_that_is_waited_for_is_a_metric(served: Served) -> None:
    waiting = Waiting(product="p", target="redis", reason="down", attempts=3, since=time.time() - 9)
    served.progress = Progress().waits("redis", waiting)

    line = next(
        line
        for line in served.get("/metrics")[1].splitlines()
        if line.startswith('joinery_sink_waiting_seconds{product="p",target="redis"}')
    )

    assert 9 <= float(line.split()[-1]) < 60


def test_a_run_is_ready_once_its_queries_have_started(served: Served) -> None:
    before, _ = served.get("/ready")
    served.endpoints.started.set()

    after, _ = served.get("/ready")

    assert (before, after) == (503, 200)


def test_a_run_whose_sink_is_away_for_long_is_not_ready(served: Served) -> None:
    served.endpoints.started.set()
    waiting = Waiting(
        product="p", target="redis", reason="refused", attempts=9, since=time.time() - 31
    )
    served.progress = Progress().waits("redis", waiting)

    code, text = served.get("/ready")

    assert code == 503
    assert json.loads(text) == {"status": "waiting", "reason": "redis: refused"}
    assert served.get("/health")[0] == 200


def test_a_silent_source_is_a_metric_and_leaves_a_run_ready(served: Served) -> None:
    served.endpoints.started.set()
    silence = Silence(source="shop", reason="no heartbeat", since=time.time() - 31)
    served.progress = Progress().waits(silence.target, silence)

    lines = served.get("/metrics")[1].splitlines()

    line = next(each for each in lines if each.startswith("joinery_source_silent_seconds{"))
    assert line.startswith('joinery_source_silent_seconds{source="shop"} 31.')
    assert not [each for each in lines if each.startswith("joinery_sink_waiting_seconds{")]
    assert 200 == served.get("/ready")[0]


def test_another_path_names_those_there_are(served: Served) -> None:
    code, text = served.get("/metric")

    assert code == 404
    assert "/metrics" in text


def test_an_address_that_is_taken_is_one_clear_error(served: Served) -> None:
    with pytest.raises(HttpError, match="cannot serve metrics") as caught:
        RunEndpoints(served.address, Progress, served.wait).open()

    assert "run.http" in caught.value.hint


def test_metrics_tell_where_answers_of_lookups_came_from_and_their_age(served: Served) -> None:
    done = LookupProgress(
        keys=9,
        hits=5,
        negative_hits=1,
        misses=3,
        requests=2,
        failures=1,
        ages=(6, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
        age_sum_s=4000.5,
    )
    served.progress = Progress().plus(replace(batch(), lookups={"orders/customers": done}))

    lines = served.get("/metrics")[1].splitlines()

    place = 'stream="orders",table="customers"'
    assert f'joinery_lookup_keys_total{{from="cache",{place}}} 5.0' in lines
    assert f'joinery_lookup_keys_total{{from="store",{place}}} 3.0' in lines
    assert f'joinery_lookup_requests_total{{outcome="failed",{place}}} 1.0' in lines
    assert f'joinery_lookup_age_seconds_bucket{{le="0.1",{place}}} 8.0' in lines
    assert f"joinery_lookup_age_seconds_count{{{place}}} 9.0" in lines
    assert f"joinery_lookup_age_seconds_sum{{{place}}} 4000.5" in lines


def test_who_wrote_may_wait_until_it_is_shown(served: Served) -> None:
    asked = "/wait?product=profile&position=orders/0/7&position=orders/1/2"

    assert (200, '{"status": "shown"}\n') == served.get(asked)
    assert 504 == served.get(f"{asked}&timeout=1s")[0]
    assert [("profile", ["orders/0/7", "orders/1/2"], each) for each in ("10s", "1s")] == (
        served.waited
    )


@pytest.mark.parametrize("query", ["", "?product=profile", "?product=other&position=orders/0/7"])
def test_what_cannot_be_waited_for_is_a_bad_request(served: Served, query: str) -> None:
    assert 400 == served.get(f"/wait{query}")[0]
