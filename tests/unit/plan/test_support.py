"""What a solution cannot run yet is refused at the key that asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.errors import ProjectErrors
from joinery.plan.build import build_plan
from joinery.plan.support import refusals
from joinery.project.load import load_spec

PROJECT = """\
sources: {{changes: {{files: {{path: data}}}}}}
relations:
  view:
    append: true
    fields: {{page: string, ms: int, at: timestamp}}
    time: at
    watermark: {watermark}
products:
  pages:
    aggregate: view
    by: [page]
    {window}
    values: {{n: "{value}"}}
    {emit}
    sink: {{files: {{path: out}}}}
"""


def told(
    folder: Path,
    *,
    watermark: str = "{delay: 1m}",
    window: str = "window: {tumbling: 1m}",
    value: str = "count(*)",
    emit: str = "emit: {when: changed}",
) -> list[str]:
    """Return what is refused, as `line message`."""
    file = folder / "joinery.yaml"
    text = PROJECT.format(watermark=watermark, window=window, value=value, emit=emit)
    file.write_text(text, encoding="utf-8")
    spec = load_spec(file)
    found = refusals(spec, build_plan(spec))
    return [f"{each.location.line} {each.message}" for each in found if each.location]


RUN = 'the solution spark-state cannot run "pages" yet: '


def test_windows_that_follow_from_a_time_run(tmp_path: Path) -> None:
    assert [] == told(tmp_path)
    assert [] == told(tmp_path, window="window: {hopping: 1h, every: 5m}")
    assert [] == told(tmp_path, window="window: {cumulative: 1h, every: 5m}")
    assert [] == told(tmp_path, emit="emit: {late: drop}")
    assert [] == told(tmp_path, emit="emit: {when: closed, late: drop, allowed: 5s}")


def test_sessions_run(tmp_path: Path) -> None:
    assert [] == told(tmp_path, window="window: {session: 30m, max: 12h}")
    assert [] == told(tmp_path, window="window: {session: 30m}", emit="emit: {when: closed}")
    cut = "window: {session: 30m, max: 12h}"
    assert [] == told(tmp_path, window=cut, emit="emit: {when: closed}")


def test_sliding_windows_run_where_a_partition_may_be_idle_too(tmp_path: Path) -> None:
    window, idle = "window: {sliding: 30m}", "{delay: 1m, idle: 30s}"

    assert [] == told(tmp_path, window=window)
    assert [] == told(tmp_path, window=window, watermark=idle)


@pytest.mark.parametrize("value", ["first(ms)", "collect(ms, 3)", "count(distinct ms)"])
def test_functions_of_an_order_or_of_a_set_run(tmp_path: Path, value: str) -> None:
    assert [] == told(tmp_path, value=value)


@pytest.mark.parametrize(
    ("key", "text", "refused"),
    [
        (
            "value",
            "count(distinct array(ms))",
            "13 " + RUN + "count of array<int> over groups",
        ),
    ],
)
def test_what_does_not_run_is_refused(tmp_path: Path, key: str, text: str, refused: str) -> None:
    assert [refused] == told(tmp_path, **{key: text})


def test_a_partition_may_be_idle_and_windows_may_be_kept_for_another_time(tmp_path: Path) -> None:
    assert [] == told(tmp_path, watermark="{delay: 1m, idle: 30s}", emit="emit: {late: drop}")
    assert [] == told(tmp_path, emit="emit: {retention: 1h}")


def test_windows_are_closed_where_a_partition_may_be_idle(tmp_path: Path) -> None:
    assert [] == told(tmp_path, watermark="{delay: 1m, idle: 30s}", emit="emit: {when: closed}")


TIMELINE = """\
relations:
  user: {key: [id], fields: {id: long, at: timestamp}, time: at}
  follow: {key: [a, b], fields: {a: long, b: long}}
  post: {key: [id], fields: {id: long, a: long, at: timestamp}, time: at}
products:
  pages:
    root: user
    embed:
      near: {many: post, on: {a: id}, within: [0s, 1m]}
      feed: {many: post, through: {follow: {a: id}}, on: {a: follow.b}}
    emit: {late: drop}
"""


def test_late_rows_of_an_interval_count_where_its_relation_is_a_timeline_too(
    tmp_path: Path,
) -> None:
    (tmp_path / "joinery.yaml").write_text(TIMELINE)
    spec = load_spec(tmp_path / "joinery.yaml")

    found = [each.message for each in refusals(spec, build_plan(spec))]

    assert [
        f"{RUN}leaving out late rows of products,"
        " or where a relation is embedded in other ways too (as_of, through)"
    ] == found


def test_nobody_is_idle_at_once(tmp_path: Path) -> None:
    with pytest.raises(ProjectErrors) as refused:
        told(tmp_path, watermark="{delay: 1m, idle: 0s}")

    (problem,) = refused.value.problems
    wanted = '"idle" of "watermark" of relation "view" needs a duration above 0s'
    assert ("SPEC_VALUE", wanted) == (problem.code, problem.message)


def test_times_ahead_of_the_log_are_not_passed_over_in_silence(tmp_path: Path) -> None:
    with pytest.raises(ProjectErrors) as refused:
        told(tmp_path, watermark="{delay: 1m, ahead: 1h}")

    assert ["PLAN_LOG_TIME"] == [each.code for each in refused.value.problems]
