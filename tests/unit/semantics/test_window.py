"""Windows hold the times of one table, which the kernel's tests read, too."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from joinery.project.read_window import read_window
from joinery.project.reader import Reader
from joinery.project.tree import tree_of
from joinery.project.window import Cumulative, Hopping, Session, Sliding, Span, Tumbling, Window
from joinery.semantics.window import windows_of

TABLE = Path(__file__).parents[3] / "kernel" / "src" / "test" / "resources" / "window_cases.txt"
CASES = [
    tuple(part.strip() for part in line.split(" | "))
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
HOUR = 3_600_000_000


def window_of(text: str) -> tuple[Window | None, list[str]]:
    reader = Reader()
    window = read_window(reader, tree_of(YAML(typ="safe").load(text)), "it")
    return window, [f"{each.code} {each.message}" for each in reader.problems]


def micros(text: str) -> int:
    moment = datetime.fromisoformat(text.removesuffix("Z"))
    return (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)


@pytest.mark.parametrize(("text", "time", "expected"), CASES)
def test_a_time_is_in_the_windows_of_the_table(text: str, time: str, expected: str) -> None:
    window, problems = window_of(text)
    assert isinstance(window, Tumbling | Hopping | Cumulative), problems

    found = windows_of(window, micros(time))

    bounds = [tuple(micros(each) for each in pair.split("/")) for pair in expected.split(", ")]
    assert bounds == found


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Sao_Paulo", "America/Havana"])
def test_windows_side_by_side_leave_no_gap_where_clocks_change(zone: str) -> None:
    for size in (Span(2 * HOUR, "micros"), Span(1, "days"), Span(1, "weeks")):
        window = Tumbling(size, zone)
        time = end = windows_of(window, micros("2018-01-01T00:00:00Z"))[0][0]
        while time < micros("2019-01-02T00:00:00Z"):
            ((start, end_after),) = windows_of(window, time)
            assert (end, time) == (start, start)
            assert windows_of(window, end_after - 1) == [(start, end_after)]
            time = end = end_after


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{tumbling: 0s}", "needs a duration above zero"),
        ("{tumbling: 999999999999d}", "needs a duration up to 1,000 years"),
        ("{session: 999999999999d}", "needs a duration up to 1,000 years"),
        ("{hopping: 1h, every: 0s}", '"every" of it needs a duration above zero'),
        ("{tumbling: soon}", "needs a duration"),
        ("{tumbling: 1h, hopping: 1h}", "SPEC_SHAPE it is of one kind, not of tumbling, hopping"),
        ("{size: 1h}", 'SPEC_UNKNOWN_KEY it has no key "size"'),
        ("{every: 1h}", "SPEC_MISSING_KEY it needs one of"),
        ("{hopping: 1h}", 'SPEC_MISSING_KEY it needs "every"'),
        ("{hopping: 1h, every: 2h}", '"every" of it is above its size'),
        ("{hopping: 1 month, every: 30d}", '"every" of it is above its size'),
        ("{hopping: 365d, every: 1s}", "puts each row into 31,536,000 windows"),
        ("{cumulative: 1 day, every: 7h}", '"every" of it does not divide its size'),
        ("{cumulative: 1 month, every: 1 week}", '"every" of it does not divide its size'),
        ("{cumulative: 1 month, every: 2d}", '"every" of it does not divide its size'),
        ("{tumbling: 7h, zone: Europe/Berlin}", "no part of a day"),
        ("{tumbling: 24h, zone: Europe/Berlin}", "in hours"),
        ("{tumbling: 1h, zone: Europe/Berlim}", 'there is no time zone "Europe/Berlim"'),
        ("{tumbling: 1h, offset: 1h}", '"offset" of it is not below its step'),
        ("{session: 0s}", "above zero"),
        ("{session: 1 month}", "needs a duration"),
        ("{session: 1h, zone: UTC}", 'has no key "zone"'),
    ],
)
def test_a_window_that_cannot_be_is_refused(text: str, problem: str) -> None:
    _, problems = window_of(text)

    assert 1 == len(problems), problems
    assert problem in problems[0]


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("Europe/Berln", "Name Europe/Berlin."),
        ("???", "Name one of the IANA database, such as Europe/Berlin."),
    ],
)
def test_the_nearest_time_zone_is_hinted(zone: str, hint: str) -> None:
    reader = Reader()
    tree = YAML(typ="safe").load(f'{{tumbling: 1h, zone: "{zone}"}}')

    read_window(reader, tree_of(tree), "it")

    assert [hint] == [each.hint for each in reader.problems]


def test_lengths_have_words_and_units() -> None:
    assert Session(1_800_000_000, 12 * HOUR) == window_of("{session: 30 minutes, max: 12h}")[0]
    assert Sliding(300_000_000) == window_of("{sliding: 5m}")[0]
    assert Tumbling(Span(1, "weeks")) == window_of("{tumbling: 1w}")[0]
